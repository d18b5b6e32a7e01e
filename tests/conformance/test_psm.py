"""PSM: what a partition leader remembers of producers, through `ProducerStates` (docs/cases.md;
docs/protocol.md#produce)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kafkalab.log.producer_state.append import EPOCH_MAX, Origin
from kafkalab.log.producer_state.entry import CompletedTxn
from kafkalab.log.producer_state.state import ProducerStates
from kafkalab.protocol.crc32c import crc32c
from kafkalab.protocol.errors import Error
from kafkalab.protocol.records import SEQUENCE_MAX, Batch
from tests.conformance.producer_log import ABORT, COMMIT, PID, Fed, data, end, rules, state_of
from tests.log.lookups import duplicate_of, first_undecided_offset

OK, SEQUENCE = Error.NONE, Error.OUT_OF_ORDER_SEQUENCE_NUMBER
EPOCH, TXN, FENCED = Error.INVALID_PRODUCER_EPOCH, Error.INVALID_TXN_STATE, Error.TRANSACTION_COORDINATOR_FENCED
TWO = (data(0, 0), data(0, 1))
MARKER_ONLY = (end(COMMIT, 2, at=27),)
BUMPED = (data(0, 0), end(ABORT, 1))
ABORTED = (data(0, 0, txn=True), data(0, 1, txn=True), end(ABORT, 1))
SAME_EPOCH = (data(0, 0, txn=True), data(0, 1, txn=True), end(ABORT, 0))
TOP = (data(15, SEQUENCE_MAX),)


@pytest.mark.parametrize(
    ("before", "batch", "expected"),
    [
        pytest.param(TWO, data(0, 1), SEQUENCE, id="PSM-01"),
        pytest.param(TWO, data(0, 5), SEQUENCE, id="PSM-02"),
        pytest.param(TWO, data(0, 2), OK, id="the next sequence"),
        pytest.param(TWO, data(0, 1, 2), SEQUENCE, id="a partial overlap"),
        pytest.param(TWO, data(0, 0), SEQUENCE, id="an old sequence"),
        pytest.param(TWO, data(1, 0), OK, id="a new epoch begins at 0"),
        pytest.param(TWO, data(1, 2), SEQUENCE, id="a new epoch does not go on"),
        pytest.param((data(3, 0),), data(2, 0), EPOCH, id="an older epoch, even at 0"),
        pytest.param(MARKER_ONLY, data(0, 0), EPOCH, id="PSM-05"),
        pytest.param(MARKER_ONLY, data(2, 0), OK, id="PSM-07"),
        pytest.param(MARKER_ONLY, data(2, 1), SEQUENCE, id="after a marker alone only 0 is due"),
        pytest.param(MARKER_ONLY, data(3, 1), SEQUENCE, id="an epoch after the marker's begins at 0"),
        pytest.param(TOP, data(15, 0), OK, id="PSM-08"),
        pytest.param(TOP, data(15, 1), SEQUENCE, id="0 comes after the largest sequence"),
        pytest.param((data(15, SEQUENCE_MAX - 1),), data(15, 0), SEQUENCE, id="0 before the largest sequence"),
        pytest.param((data(1, SEQUENCE_MAX, 2),), data(1, 1), OK, id="a batch across the largest sequence"),
        pytest.param(BUMPED, data(1, 0), OK, id="PSM-13"),
        pytest.param(BUMPED, data(0, 1), EPOCH, id="the marker fences the old epoch"),
        pytest.param(ABORTED, data(1, 2, txn=True), SEQUENCE, id="PSM-14"),
        pytest.param(ABORTED, data(1, 0, txn=True), OK, id="0 after the marker raised the epoch"),
        pytest.param(SAME_EPOCH, data(0, 2, txn=True), OK, id="sequences go on after a marker of the same epoch"),
        pytest.param(SAME_EPOCH, data(0, 0, txn=True), SEQUENCE, id="and do not begin anew"),
        pytest.param((data(0, 0, txn=True),), data(0, 1), TXN, id="PSM-16"),
        pytest.param((data(0, 0, txn=True),), data(0, 5), SEQUENCE, id="the sequence is looked at first"),
        pytest.param((data(1, 0, txn=True),), data(0, 0), EPOCH, id="the epoch is looked at first"),
        pytest.param((), data(0, 5), OK, id="without state any sequence"),
        pytest.param((), data(7, SEQUENCE_MAX), OK, id="without state any epoch"),
    ],
)
def test_a_leader_takes_the_batch_whose_epoch_and_sequence_are_due(
    before: tuple[Batch, ...], batch: Batch, expected: Error
) -> None:
    fed = Fed().replicate(*before)
    assert fed.answer(batch) is expected


@pytest.mark.parametrize("origin", list(Origin))
def test_only_a_clients_sequences_are_checked_and_a_followers_open_transactions_only(origin: Origin) -> None:
    fed = Fed().replicate(data(3, 0, txn=True))
    answers = [fed.answer(b, origin=origin) for b in (data(3, 9, txn=True), data(2, 0, txn=True), data(3, 1))]
    expected = {
        Origin.CLIENT: [SEQUENCE, EPOCH, TXN],
        Origin.COORDINATOR: [OK, EPOCH, TXN],
        Origin.REPLICATION: [OK, OK, TXN],
    }
    assert answers == expected[origin]


def test_psm_04_a_marker_without_state_leaves_its_epoch_and_ends_nothing() -> None:
    fed = Fed().replicate(*MARKER_ONLY)
    assert state_of(fed.entry()) == (2, -1, -1, None)
    assert fed.completed == []


def test_psm_07_the_first_batch_after_a_marker_alone_is_remembered() -> None:
    fed = Fed().replicate(*MARKER_ONLY)
    assert fed.append(data(2, 0)) is OK
    assert state_of(fed.entry()) == (2, 0, 0, None)


def test_psm_08_sequences_wrap_to_zero() -> None:
    fed = Fed().replicate(*TOP)
    assert fed.append(data(15, 0)) is OK
    assert state_of(fed.entry()) == (15, SEQUENCE_MAX, 0, None)


def test_psm_10_one_batch_may_lie_on_both_sides_of_the_wrap() -> None:
    fed = Fed().replicate(data(15, 2147483637, 21, at=2000))
    entry = fed.entry()
    assert state_of(entry) == (15, 2147483637, 9, None)
    assert (entry.batches[0].first_offset, entry.last_data_offset) == (2000, 2020)
    assert duplicate_of(fed.states, data(15, 2147483637, 21)) is entry.batches[0]
    assert fed.answer(data(15, 10)) is OK


def test_psm_11_loading_a_log_takes_the_first_batch_as_it_is() -> None:
    fed = Fed()
    assert fed.append(data(5, 16, at=735), origin=Origin.REPLICATION) is OK
    assert state_of(fed.entry()) == (5, 16, 16, None)


def test_psm_12_a_marker_raises_the_epoch_and_empties_the_cache() -> None:
    fed = Fed().replicate(data(0, 0))
    assert fed.append(end(ABORT, 1), version=0) is OK
    assert state_of(fed.entry()) == (1, -1, -1, None)


def test_five_batches_are_remembered_and_a_new_epoch_forgets_them() -> None:
    fed = Fed().replicate(*(data(0, 2 * i, 2) for i in range(7)))
    entry = fed.entry()
    assert [(b.first_sequence, b.last_sequence, b.first_offset) for b in entry.batches] == [
        (s, s + 1, s) for s in (4, 6, 8, 10, 12)
    ]
    assert duplicate_of(fed.states, data(0, 4, 2)) is not None
    assert duplicate_of(fed.states, data(0, 2, 2)) is None
    assert duplicate_of(fed.states, data(0, 4, 4)) is None
    assert duplicate_of(fed.states, data(1, 4, 2)) is None
    fed.replicate(data(1, 0))
    assert state_of(entry) == (1, 0, 0, None)


def test_psm_19_an_unfinished_transaction_comes_back_from_a_snapshot() -> None:
    fed = Fed().replicate(data(0, 0, txn=True), data(0, 1, txn=True))
    fed.states.take_snapshot()
    again = fed.reload(0, 3)
    assert state_of(again.entry()) == (0, 1, 1, 0)
    assert (again.entry().batches[0].first_offset, first_undecided_offset(again.states)) == (1, 0)
    assert again.answer(data(0, 2, txn=True)) is OK
    assert duplicate_of(again.states, data(0, 1, txn=True)) is not None
    assert duplicate_of(again.states, data(0, 0, txn=True)) is None


def test_psm_20_a_finished_transaction_comes_back_as_finished() -> None:
    fed = Fed().replicate(*SAME_EPOCH)
    fed.states.take_snapshot()
    again = fed.reload(0, 3)
    assert state_of(again.entry()) == (0, 1, 1, None)
    assert (again.entry().last_data_offset, first_undecided_offset(again.states)) == (1, None)


def test_psm_22_after_a_fencing_abort_the_producer_is_known_though_it_has_no_data() -> None:
    fed = Fed(expiration_ms=1000).replicate(data(0, 0, txn=True, ms=0), end(ABORT, 1, ms=900))
    assert fed.states.remove_expired(1000) == ()
    assert (fed.entry().batches, fed.entry().last_data_offset) == ([], -1)
    assert fed.states.remove_expired(1900) == (PID,)


def test_psm_23_a_snapshot_beyond_the_log_is_dropped() -> None:
    fed = Fed().replicate(*TWO)
    fed.states.take_snapshot()
    again = fed.reload(0, 1, now=70_000)
    assert (again.states.entries, again.states.snapshots) == ({}, {})
    assert again.append(data(0, 2, at=2)) is OK
    assert (list(again.states.entries), again.entry().last_sequence, again.states.map_end_offset) == ([PID], 2, 3)


def test_what_expired_while_the_broker_was_down_does_not_come_back() -> None:
    fed = Fed(expiration_ms=1000).replicate(data(0, 0), data(0, 0, txn=True, pid=2))
    fed.states.take_snapshot()
    assert list(fed.reload(0, 2, now=999).states.entries) == [PID, 2]
    assert list(fed.reload(0, 2, now=1000).states.entries) == [2]


TWO_TXNS = (data(0, 0, txn=True, at=99), data(0, 0, txn=True, pid=2, at=105), end(COMMIT, 0, at=109))


def test_psm_25_a_decided_transaction_is_unstable_until_it_is_replicated() -> None:
    states = Fed().replicate(*TWO_TXNS).states
    assert (first_undecided_offset(states), states.first_unstable_offset) == (105, 99)


def test_psm_26_the_high_watermark_passes_the_marker() -> None:
    states = Fed().replicate(*TWO_TXNS).states
    unstable = []
    for high_watermark in (100, 109, 110):
        states.high_watermark_moved(high_watermark)
        unstable.append(states.first_unstable_offset)
    assert unstable == [99, 99, 105]


def test_psm_29_an_idle_producer_is_forgotten_and_goes_on() -> None:
    fed = Fed(expiration_ms=1000).replicate(data(5, 0))
    assert fed.states.remove_expired(999) == ()
    assert fed.answer(data(5, 2)) is SEQUENCE
    assert fed.states.remove_expired(1001) == (PID,)
    assert fed.append(data(5, 1)) is OK
    assert fed.entry().last_sequence == 1


def test_psm_30_an_open_transaction_never_expires() -> None:
    fed = Fed(expiration_ms=1000).replicate(data(0, 0, txn=True, at=99))
    assert [fed.states.remove_expired(now) for now in (1001, 2002)] == [(), ()]
    assert (first_undecided_offset(fed.states), list(fed.states.entries)) == (99, [PID])


def test_a_verification_expires_by_the_time_it_began() -> None:
    states = ProducerStates(rules(), expiration_ms=1000)
    first = states.start_verification(PID, 0, 0, 2, now_ms=500)
    states.start_verification(PID, 1, 0, 2, now_ms=1400)
    states.remove_expired(1499)
    assert states.start_verification(PID, 0, 0, 2, now_ms=1499) == first
    states.remove_expired(1500)
    assert states.start_verification(PID, 0, 0, 2, now_ms=1500) != first


OPEN, NOTHING_OPEN = (data(5, 0, txn=True, at=99),), (data(5, 0, txn=True, at=99), end(COMMIT, 5))
LAST_EPOCH = (data(EPOCH_MAX, 0, txn=True),)


@pytest.mark.parametrize(
    ("before", "epoch", "answers"),
    [
        pytest.param(OPEN, 3, (EPOCH, EPOCH, EPOCH), id="PSM-32"),
        pytest.param(OPEN, 4, (EPOCH, EPOCH, EPOCH), id="one epoch older"),
        pytest.param(OPEN, 5, (OK, OK, EPOCH), id="PSM-33"),
        pytest.param(OPEN, 6, (OK, OK, OK), id="a newer epoch"),
        pytest.param(NOTHING_OPEN, 4, (EPOCH, EPOCH, EPOCH), id="an older epoch, nothing open"),
        pytest.param(NOTHING_OPEN, 5, (OK, OK, OK), id="the same epoch, nothing open"),
        pytest.param(LAST_EPOCH, EPOCH_MAX, (OK, OK, OK), id="the last epoch of all"),
        pytest.param((), 0, (OK, OK, OK), id="a producer that nobody knows"),
    ],
)
def test_which_epoch_a_marker_may_have_depends_on_its_version(
    before: tuple[Batch, ...], epoch: int, answers: tuple[Error, ...]
) -> None:
    fed = Fed().replicate(*before)
    assert tuple(fed.answer(end(COMMIT, epoch), version) for version in (0, 1, 2)) == answers


@pytest.mark.parametrize("version", [0, 2])
def test_psm_34_a_marker_of_an_older_coordinator_is_refused(version: int) -> None:
    fed = Fed().replicate(data(0, 0, txn=True))
    bump = 1 if version == 2 else 0
    for n, coordinator_epoch in enumerate((1, 1, 2), 1):
        assert fed.append(end(COMMIT, n * bump, coordinator_epoch=coordinator_epoch), version) is OK
    assert fed.answer(end(COMMIT, 4 * bump, coordinator_epoch=1), version) is FENCED
    assert fed.answer(end(COMMIT, -1, coordinator_epoch=1), version) is EPOCH, "the producer epoch is looked at first"
    assert fed.answer(end(COMMIT, 4 * bump, coordinator_epoch=1), version, origin=Origin.REPLICATION) is OK


def test_psm_35_a_coordinator_stays_fenced_after_a_reload() -> None:
    fed = Fed().replicate(data(0, 0, txn=True), end(COMMIT, 0, coordinator_epoch=1))
    fed.states.take_snapshot()
    again = fed.reload(0, 2)
    assert again.answer(end(COMMIT, 0, coordinator_epoch=0)) is FENCED
    assert again.answer(end(COMMIT, 0, coordinator_epoch=1)) is OK


def test_psm_36_a_marker_of_version_2_may_come_twice() -> None:
    fed = Fed().replicate(data(0, 0, txn=True, at=99))
    assert [fed.append(end(COMMIT, 1), version=2) for _ in range(2)] == [OK, OK]
    assert fed.completed == [CompletedTxn(PID, 99, 100, False)]
    assert (fed.entry().producer_epoch, fed.states.map_end_offset) == (1, 102)


@pytest.mark.parametrize(
    ("version", "lowest", "before", "sequences", "answers"),
    [
        pytest.param(2, 0, (), (5, 0), (SEQUENCE, OK), id="PSM-37"),
        pytest.param(2, 5, (), (5, 6, 0), (SEQUENCE, SEQUENCE, OK), id="verified at 5, and yet it is not the first"),
        pytest.param(0, 5, (), (5, 4, 6), (OK, OK, SEQUENCE), id="before version 2 the verified one, or a lower"),
        pytest.param(0, 0, (), (5, 0), (SEQUENCE, OK), id="not before the one verified first"),
        pytest.param(2, 1, (data(0, 0),), (1, 2), (OK, SEQUENCE), id="with batches remembered the next is due"),
        pytest.param(2, 5, (end(COMMIT, 0),), (5, 0), (SEQUENCE, OK), id="a marker is not a batch"),
    ],
)
def test_a_verified_producer_begins_with_the_lowest_verified_sequence(
    version: int, lowest: int, before: tuple[Batch, ...], sequences: tuple[int, ...], answers: tuple[Error, ...]
) -> None:
    fed = Fed(ProducerStates(rules(verification=True))).replicate(*before)
    guard = fed.states.start_verification(PID, lowest, 0, version)
    assert isinstance(guard, int)
    assert tuple(fed.answer(data(0, s, txn=True), guard=guard) for s in sequences) == answers


def test_psm_40_requests_of_one_producer_share_a_guard() -> None:
    states = ProducerStates(rules())
    first = states.start_verification(PID, 1, 0, 2)
    known = states.verifications[PID]
    seen = []
    for sequence, epoch in ((0, 0), (2, 1), (0, 0), (3, 1), (1, 1)):
        assert states.start_verification(PID, sequence, epoch, 2) == first
        seen.append((known.lowest_sequence, known.producer_epoch))
    assert seen == [(0, 0), (2, 1), (2, 1), (2, 1), (1, 1)]
    assert states.start_verification(2, 0, 0, 2) != first


def test_psm_43_and_psm_44_the_last_stable_offset_of_a_completion_looks_at_the_other_open_transactions() -> None:
    fed = Fed()
    starts = ((1, 10), (2, 35), (3, 67))
    fed.replicate(*(data(0, 0, 5, txn=True, pid=pid, at=at) for pid, at in starts))
    stable = []
    for pid, last in ((1, 100), (3, 101), (2, 102)):
        fed.replicate(end(COMMIT, 0, pid=pid, at=last))
        stable.append(fed.states.last_stable_offset(fed.completed[-1]))
    assert stable == [35, 35, 103]
    before = CompletedTxn(7, 200, 300, False)
    assert fed.states.last_stable_offset(before) == 301


def test_psm_43_the_completing_transaction_itself_does_not_count() -> None:
    fed = Fed().replicate(data(0, 0, txn=True, at=10), data(0, 0, txn=True, pid=2, at=35))
    assert fed.states.last_stable_offset(CompletedTxn(1, 10, 40, False)) == 35


def test_psm_45_empty_transactions_complete_nothing() -> None:
    fed = Fed().replicate(data(0, 0, 5, txn=True, at=16))
    starts = [first_undecided_offset(fed.states)]
    for batches in ((end(COMMIT, 0), end(COMMIT, 0), end(ABORT, 0)), (end(ABORT, 0), end(ABORT, 0))):
        fed.replicate(*batches, data(0, 5 * len(starts), 4 if len(starts) == 1 else 2, txn=True))
        starts.append(first_undecided_offset(fed.states))
    assert starts == [16, 24, 30]
    assert fed.completed == [CompletedTxn(PID, 16, 21, False), CompletedTxn(PID, 24, 28, True)]
    fed.states.high_watermark_moved(32)
    assert (fed.states.first_unstable_offset, fed.states.map_end_offset) == (30, 32)


def test_a_control_batch_that_was_cleaned_empty_leaves_an_entry_without_epoch() -> None:
    fed = Fed().replicate(
        Batch(records=(), base_offset=5, last_offset_delta=0, producer_id=PID, producer_epoch=3, control=COMMIT)
    )
    assert state_of(fed.entry()) == (-1, -1, -1, None)
    assert (fed.completed, fed.states.map_end_offset) == ([], 6)


def test_a_control_batch_that_was_cleaned_empty_is_no_marker_to_be_refused() -> None:
    empty = Batch(records=(), last_offset_delta=0, producer_id=PID, producer_epoch=3, control=COMMIT)
    assert Fed().replicate(data(5, 0, txn=True)).answer(empty, version=2) is OK


def test_a_decided_transaction_below_the_log_start_is_no_longer_unstable() -> None:
    states = Fed().replicate(*TWO_TXNS).states
    unstable = []
    for log_start in (109, 110):
        states.log_start_moved(log_start)
        unstable.append(states.first_unstable_offset)
    assert unstable == [99, 105]


def damaged_crc(data: bytes) -> bytes:
    return data[:-1] + bytes([data[-1] ^ 1])


def sign(body: bytes) -> bytes:
    return b"\0\1" + crc32c(body).to_bytes(4, "big") + body


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(damaged_crc, id="PSM-48 bad checksum"),
        pytest.param(lambda data: data[: len(data) // 2], id="PSM-48 truncated"),
        pytest.param(lambda data: b"", id="PSM-48 empty"),
        pytest.param(lambda data: data[:-1], id="the last byte is missing"),
        pytest.param(lambda data: data + b"\0", id="one byte too many"),
        pytest.param(lambda data: b"\0\2" + data[2:], id="an unknown version"),
        pytest.param(lambda data: data[:8], id="only the head"),
        pytest.param(lambda data: sign(data[6:9] + b"\3" + data[10:]), id="more entries than bytes"),
    ],
)
def test_psm_48_a_corrupt_snapshot_is_deleted_and_the_older_one_loaded(damage: Callable[[bytes], bytes]) -> None:
    fed = Fed().replicate(data(0, 0))
    fed.states.take_snapshot()
    fed.replicate(data(0, 1))
    fed.states.take_snapshot()
    fed.states.snapshots[2] = damage(fed.states.snapshots[2])
    again = fed.reload(0, 2)
    assert (list(again.states.snapshots), again.states.map_end_offset, again.entry().last_sequence) == ([1], 1, 0)


def test_with_every_snapshot_corrupt_the_state_is_empty() -> None:
    fed = Fed().replicate(data(0, 0))
    fed.states.take_snapshot()
    fed.states.snapshots[1] = b"no snapshot"
    again = fed.reload(0, 1)
    assert (again.states.snapshots, again.states.entries, again.states.map_end_offset) == ({}, {}, 0)


def test_a_snapshot_is_taken_only_when_something_was_added() -> None:
    fed = Fed()
    assert fed.states.take_snapshot() is False
    fed.replicate(*TWO)
    assert [fed.states.take_snapshot() for _ in range(2)] == [True, False]
    assert list(fed.states.snapshots) == [2]


@pytest.mark.parametrize(
    ("log_start", "log_end", "kept"), [(0, 3, [1, 2, 3]), (0, 2, [1, 2]), (1, 3, [2, 3]), (2, 2, []), (0, 0, [])]
)
def test_snapshots_beyond_the_log_and_at_or_before_its_start_are_deleted(
    log_start: int, log_end: int, kept: list[int]
) -> None:
    fed = Fed()
    for sequence in range(3):
        fed.replicate(data(0, sequence))
        fed.states.take_snapshot()
    assert list(fed.reload(log_start, log_end).states.snapshots) == kept


def test_a_snapshot_has_the_bytes_of_kafkas_schema() -> None:
    fed = Fed().replicate(data(5, 3, 2, txn=True, pid=1234, at=10, ms=1_700_000_000_000))
    fed.states.take_snapshot()
    written = fed.states.snapshots[12].hex()
    assert written[:4] == "0001"
    assert written[12:] == (
        "00000001" "00000000000004d2" "0005" "00000004" "000000000000000b" "00000001"
        "0000018bcfe56800" "ffffffff" "000000000000000a"
    )  # fmt: skip


def test_a_producer_of_markers_alone_comes_back_from_a_snapshot_without_data() -> None:
    fed = Fed().replicate(end(COMMIT, 2, coordinator_epoch=4, ms=50))
    fed.states.take_snapshot()
    entry = fed.reload(0, 1).entry()
    assert (state_of(entry), entry.coordinator_epoch, entry.last_timestamp_ms) == ((2, -1, -1, None), 4, 50)
