"""Records of the internal topics as bytes: what is written is read back, and Kafka's own bytes are these."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kafkalab.log.group_offsets import OffsetCommit, group_key, offset_key
from kafkalab.protocol.consumer_group_records import (
    CurrentAssignment,
    GroupEpoch,
    GroupRecord,
    MemberState,
    MemberSubscription,
    TargetAssignment,
    TargetEpoch,
    parse_record_key,
    record_key,
)
from kafkalab.protocol.group_record import GroupEntry, MemberEntry
from kafkalab.protocol.records import Record
from kafkalab.protocol.transaction_metadata import Txn, TxnState
from kafkalab.wire.data.coordinator_records import (
    UnknownRecordError,
    group_record,
    read_group_record,
    read_transaction_record,
    transaction_record,
)

numbers, texts, epochs = st.integers(-1, 2**62), st.text(max_size=20), st.integers(-1, 2**15 - 1)
partitions = st.builds("{}-{}".format, st.sampled_from(("orders", "a-b", "t.u")), st.integers(0, 99))
several = st.lists(partitions, unique=True, max_size=5).map(lambda found: tuple(sorted(found)))
logged = st.sampled_from([s for s in TxnState if s not in (TxnState.DEAD, TxnState.PREPARE_EPOCH_FENCE)])


@st.composite
def transactions(draw: st.DrawFn) -> Txn:
    state = draw(logged)
    return Txn(
        transactional_id=draw(texts),
        producer_id=draw(numbers),
        producer_epoch=draw(epochs),
        state=state,
        timeout_ms=draw(st.integers(0, 2**31 - 1)),
        partitions=() if state is TxnState.EMPTY else draw(several),
        start_ms=draw(numbers),
        update_ms=draw(numbers),
        prev_producer_id=draw(numbers),
        next_producer_id=draw(numbers),
        client_transaction_version=draw(st.integers(0, 2)),
    )


commits = st.builds(
    OffsetCommit,
    group=texts, partition=partitions, offset=numbers, leader_epoch=st.integers(-1, 2**31 - 1), metadata=texts,
    commit_timestamp_ms=numbers, expire_timestamp_ms=st.just(-1),
)  # fmt: skip
expiring = st.builds(
    OffsetCommit,
    group=texts, partition=partitions, offset=numbers, metadata=texts, commit_timestamp_ms=numbers,
    expire_timestamp_ms=st.integers(0, 2**62),
)  # fmt: skip
members = st.builds(
    MemberEntry,
    member_id=texts, group_instance_id=st.none() | texts, client_id=texts,
    session_timeout_ms=st.integers(0, 2**31 - 1), rebalance_timeout_ms=st.integers(0, 2**31 - 1),
    subscription=st.lists(texts, max_size=3).map(tuple), assignment=several,
)  # fmt: skip
groups = st.builds(
    GroupEntry,
    group=texts, protocol_type=texts, generation=st.integers(0, 2**31 - 1), protocol=texts, leader=texts,
    current_state_timestamp_ms=numbers, members=st.lists(members, max_size=3).map(tuple),
)  # fmt: skip
counts = st.integers(0, 2**31 - 1)
with_epochs = several.flatmap(lambda names: st.fixed_dictionaries(dict.fromkeys(names, counts)))
consumers = st.one_of(
    st.builds(GroupEpoch, group=texts, epoch=counts, metadata_hash=numbers),
    st.builds(TargetEpoch, group=texts, assignment_epoch=counts, assignment_timestamp_ms=numbers),
    st.builds(TargetAssignment, group=texts, member_id=texts, partitions=several),
    st.builds(
        MemberSubscription,
        group=texts, member_id=texts, instance_id=st.none() | texts, rack_id=st.none() | texts, client_id=texts,
        subscribed_topic_names=st.lists(texts, max_size=3).map(tuple), subscribed_topic_regex=texts,
        rebalance_timeout_ms=counts, server_assignor=st.none() | texts,
    ),
    st.builds(
        CurrentAssignment,
        group=texts, member_id=texts, member_epoch=st.integers(-2, 99), previous_member_epoch=st.integers(-1, 99),
        state=st.sampled_from(MemberState), assigned=with_epochs, pending_revocation=with_epochs,
    ),
)  # fmt: skip
ANY_PACE = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
"""A machine that does much else at the time draws slowly, and that is no fault."""


@ANY_PACE
@given(transactions())
def test_a_transaction_is_read_back(txn: Txn) -> None:
    record = Record(txn.transactional_id, txn)
    assert read_transaction_record(*transaction_record(record), ()) == record
    gone = Record(txn.transactional_id, None)
    assert read_transaction_record(*transaction_record(gone), ()) == gone


@ANY_PACE
@given(commits | expiring)
def test_an_offset_is_read_back(commit: OffsetCommit) -> None:
    for value in (commit, None):
        record = Record(offset_key(commit.group, commit.partition), value)
        assert read_group_record(*group_record(record), ()) == record


@ANY_PACE
@given(groups)
def test_a_group_is_read_back(entry: GroupEntry) -> None:
    for value in (entry, None):
        record = Record(group_key(entry.group), value)
        found = read_group_record(*group_record(record), ())
        assert (found.key, _plain(found.value)) == (record.key, _plain(value))


def _plain(entry: GroupEntry | None) -> object:
    """The entry, in which members have their topics and partitions whatever bytes these came in."""
    if entry is None:
        return None
    rows = [(m.member_id, m.group_instance_id, tuple(m.subscription), sorted(m.assignment)) for m in entry.members]
    return entry.group, entry.protocol_type, entry.generation, entry.protocol, entry.leader, rows


def test_the_bytes_are_those_of_kafka() -> None:
    """As `DumpLogSegments --transaction-log-decoder` and `--offsets-decoder` of Kafka 4.3.1 read them."""
    txn = Txn(
        transactional_id="t1", producer_id=1000, producer_epoch=0, state=TxnState.ONGOING, partitions=("orders-0",),
        start_ms=7, update_ms=8, prev_producer_id=1000, client_transaction_version=2,
    )  # fmt: skip
    key, value = transaction_record(Record("t1", txn))
    assert key.hex() == "000000027431"
    assert value is not None
    assert value.hex() == (
        "0001" "00000000000003e8" "0000" "0000ea60" "01" "02" "076f7264657273" "02" "00000000" "00"
        "0000000000000008" "0000000000000007" "02" "0008" "00000000000003e8" "0202" "0002"
    )  # fmt: skip
    commit = OffsetCommit(group="g", partition="t-1", offset=5, leader_epoch=0, commit_timestamp_ms=9)
    key, value = group_record(Record("g/t-1", commit))
    assert (key.hex(), value and value.hex()) == (
        "0001" "000167" "000174" "00000001", "0004" "0000000000000005" "00000000" "01" "0000000000000009" "00"
    )  # fmt: skip


@pytest.mark.parametrize("key", [b"\0\4\0\1g", b"\0\20\0\1g"])
def test_a_record_of_another_type_is_said_to_be_unknown(key: bytes) -> None:
    with pytest.raises(UnknownRecordError):
        read_group_record(key, b"\0\0", ())


@ANY_PACE
@given(consumers)
def test_a_record_of_a_consumer_group_is_read_back(value: GroupRecord) -> None:
    key = record_key(value.kind, value.group, getattr(value, "member_id", ""))
    assert read_group_record(*group_record(Record(key, value)), ()) == Record(key, value)
    assert read_group_record(*group_record(Record(key, None)), ()) == Record(key, None)


@ANY_PACE
@given(texts, texts, partitions)
def test_keys_of_consumer_groups_are_those_of_nothing_else(group: str, member: str, partition: str) -> None:
    assert parse_record_key(record_key("current", group, member)) == ("current", group, member)
    assert parse_record_key(offset_key(group, partition)) is None
    assert parse_record_key(group_key(group)) is None
