"""A client's Produce at one leader: every check, in Kafka's order, and the answers
(docs/protocol.md#produce-checks)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kafkalab.protocol.cluster_metadata import ClusterMetadata
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.add_partitions_to_txn import AddPartitionsToTxn, AddPartitionsToTxnResponse
from kafkalab.protocol.messages.produce import PartitionProduced, Produce
from kafkalab.protocol.partitions import transaction_partition
from kafkalab.protocol.records import Batch, OtherRecords
from kafkalab.protocol.rules import EFFECTIVE_MIN_ISR, VERIFICATION, Rule
from tests.conformance.one_broker import Asked, OneBroker
from tests.conformance.producer_log import ABORT, PID, data, end, plain

OK = Error.NONE
T, OTHER, UNKNOWN = "t-0", "u-0", "nowhere-0"


def broker(*off: Rule, isr: tuple[str, ...] = ("b1",), profile: str = "4.x/TV2", **config: Any) -> OneBroker:
    """b1 leads t-0 and x-0; a verification is never needed."""
    world = OneBroker(profile, tuple(r.name for r in (VERIFICATION, *off)), leaders={"x-0": "b1"}, **config)
    in_sync(world, isr)
    return world


def in_sync(world: OneBroker, isr: tuple[str, ...]) -> None:
    infos = {p: replace(i, isr=isr) if p == T else i for p, i in world.metadata.partitions.items()}
    world.metadata = ClusterMetadata(world.metadata.version + 1, world.metadata.alive, infos)
    world.state.metadata = world.metadata


def produce(world: OneBroker, *, tid: str | None = None, acks: int = -1, version: int = 11, **batches: Batch) -> Asked:
    """`t_0=...` means the partition t-0."""
    named = {p.replace("_", "-"): b for p, b in batches.items()}
    return world.ask(Produce(transactional_id=tid, acks=acks, timeout_ms=1000, batches=named), version)


def errors(asked: Asked) -> dict[str, Error]:
    return {p: answer.error for p, answer in asked.response.partitions.items()}


def test_a_batch_is_answered_with_its_offset_and_the_log_start() -> None:
    world = broker()
    produce(world, t_0=plain(3))
    world.state.log(T).raise_log_start(2)
    answer = produce(world, t_0=data(0, 0, 2)).response.partitions[T]
    assert answer == PartitionProduced(error=OK, base_offset=3, log_append_time_ms=-1, log_start_offset=2)


def test_a_duplicate_is_answered_with_the_first_offset_and_time_and_the_present_log_start() -> None:
    world = broker()
    produce(world, t_0=data(0, 0, 2, ms=77))
    produce(world, t_0=data(0, 2))
    world.state.log(T).raise_log_start(1)
    again = produce(world, t_0=data(0, 0, 2, ms=99)).response.partitions[T]
    assert again == PartitionProduced(error=OK, base_offset=0, log_append_time_ms=77, log_start_offset=1)
    assert world.state.log(T).log_end_offset == 3


def test_a_duplicate_is_recognised_though_its_records_are_deleted() -> None:
    world = broker()
    produce(world, t_0=data(0, 0, 2))
    log = world.state.log(T)
    log.roll(0)
    log.drop_segments(2)
    assert produce(world, t_0=data(0, 0, 2)).response.partitions[T].base_offset == 0


def test_a_duplicate_waits_until_the_first_one_is_replicated() -> None:
    world = broker(isr=("b1", "b2"))
    first, again = (produce(world, t_0=data(0, 0)) for _ in range(2))
    assert (first.response, again.response) == (None, None)
    assert produce(world, t_0=data(0, 0), acks=1).response.partitions[T].base_offset == 0
    in_sync(world, ("b1",))
    world.broker.replication.advance(T, -1)
    assert errors(first) == errors(again) == {T: OK}


def answer(asked: Asked, partition: str = T) -> tuple[Error, int, int]:
    found = asked.response.partitions[partition]
    return found.error, found.base_offset, found.log_start_offset


@pytest.mark.parametrize(
    ("batch", "expected"),
    [
        (data(0, 5), Error.OUT_OF_ORDER_SEQUENCE_NUMBER),
        (data(0, -1), Error.INVALID_RECORD),
        (end(ABORT, 0), Error.INVALID_RECORD),
        (data(0, 0, txn=True), Error.INVALID_PRODUCER_EPOCH),
    ],
)
def test_an_error_of_the_log_layer_comes_with_the_log_start_offset(batch: Batch, expected: Error) -> None:
    world = broker()
    produce(world, t_0=data(1, 0, 2))
    produce(world, t_0=data(1, 2, 2))
    world.state.log(T).raise_log_start(3)
    batch = replace(batch, producer_epoch=1) if expected is not Error.INVALID_PRODUCER_EPOCH else batch
    assert answer(produce(world, tid="a", t_0=batch)) == (expected, -1, 3)
    in_sync(world, ())
    assert answer(produce(world, t_0=data(1, 4))) == (Error.NOT_ENOUGH_REPLICAS, -1, 3)


@pytest.mark.parametrize(
    ("partition", "acks", "expected"),
    [
        (T, 2, Error.INVALID_REQUIRED_ACKS),
        ("u-0", -1, Error.NOT_LEADER_OR_FOLLOWER),
        ("nowhere-0", -1, Error.UNKNOWN_TOPIC_OR_PARTITION),
        ("__transaction_state-0", -1, Error.INVALID_TOPIC_EXCEPTION),
    ],
)
def test_an_error_before_the_log_layer_has_no_log_start_offset(partition: str, acks: int, expected: Error) -> None:
    request = Produce(transactional_id=None, acks=acks, timeout_ms=1000, batches={partition: plain(1)})
    assert answer(broker().ask(request), partition) == (expected, -1, -1)


def test_an_error_after_the_append_comes_with_the_offset_and_the_log_start_of_then() -> None:
    world = broker(isr=("b1", "b2"))
    first, again = (produce(world, t_0=data(0, 0)) for _ in range(2))
    world.run_for(1000)
    assert answer(first) == answer(again) == (Error.REQUEST_TIMED_OUT, 0, 0)
    late = produce(world, t_0=data(0, 1))
    world.state.log(T).raise_log_start(1)
    world.image({T: "b2"}, epoch=1)
    assert answer(late) == (Error.NOT_LEADER_OR_FOLLOWER, 1, 0)


BAD = (
    pytest.param(end(ABORT, 0), id="a marker"),
    pytest.param(replace(end(ABORT, 0), base_sequence=0), id="a marker with a sequence"),
    pytest.param(data(0, -1), id="a producer id without a sequence"),
    pytest.param(replace(data(0, 0, 3), last_offset_delta=3), id="fewer records than offsets"),
    pytest.param(replace(data(0, 0, 3), last_offset_delta=1), id="more records than offsets"),
    pytest.param(Batch(records=()), id="no record"),
    pytest.param(OtherRecords(records=data(0, 0).records, magic=1), id="magic 1"),
    pytest.param(OtherRecords(records=data(0, 0).records, batch_count=2), id="two batches"),
    pytest.param(OtherRecords(records=(), batch_count=0), id="no batch"),
)


@pytest.mark.parametrize("batch", BAD)
def test_a_batch_that_no_client_may_write_is_invalid(batch: Batch) -> None:
    world = broker()
    response = errors(produce(world, tid="a", t_0=batch, x_0=plain(1)))
    assert response == {T: Error.INVALID_RECORD, "x-0": OK}
    assert world.state.log(T).log_end_offset == 0


def test_a_batch_whose_checksum_is_wrong_is_corrupt() -> None:
    world = broker()
    damaged = OtherRecords(records=(), corrupt=True)
    assert errors(produce(world, tid="a", t_0=damaged, x_0=plain(1))) == {T: Error.CORRUPT_MESSAGE, "x-0": OK}


@pytest.mark.parametrize("batch", [bad for bad in BAD if "than offsets" not in str(bad.id)])
@pytest.mark.parametrize("profile", ["0.11", "1.0"])
def test_before_kip_467_it_is_corrupt_and_comes_without_the_log_start_offset(profile: str, batch: Batch) -> None:
    world = broker(profile=profile)
    assert answer(produce(world, tid="a", version=5, t_0=batch)) == (Error.CORRUPT_MESSAGE, -1, -1)


@pytest.mark.parametrize(
    ("partition", "batch", "expected"),
    [
        ("nowhere-0", plain(1), Error.UNKNOWN_TOPIC_OR_PARTITION),
        ("nowhere-0", OtherRecords(records=()), Error.UNKNOWN_TOPIC_OR_PARTITION),
        ("u-0", plain(1), Error.NOT_LEADER_OR_FOLLOWER),
        ("u-0", Batch(records=()), Error.NOT_LEADER_OR_FOLLOWER),
        ("__transaction_state-0", plain(1), Error.INVALID_TOPIC_EXCEPTION),
    ],
)
def test_a_partition_that_is_not_here_is_said_before_its_batch_is_looked_at(
    partition: str, batch: Batch, expected: Error
) -> None:
    request = Produce(transactional_id=None, acks=-1, timeout_ms=1000, batches={partition: batch})
    assert errors(broker().ask(request)) == {partition: expected}


@pytest.mark.parametrize(
    ("acks", "isr", "expected"),
    [
        (-1, ("b1",), Error.NOT_ENOUGH_REPLICAS),
        (1, ("b1",), OK),
        (-1, ("b1", "b2"), None),
        (2, ("b1", "b2"), Error.INVALID_REQUIRED_ACKS),
        (-2, ("b1", "b2"), Error.INVALID_REQUIRED_ACKS),
    ],
)
def test_acks_all_needs_enough_replicas_in_sync(acks: int, isr: tuple[str, ...], expected: Error | None) -> None:
    asked = produce(broker(isr=isr, min_insync_replicas=2), acks=acks, t_0=data(0, 0))
    assert (errors(asked)[T] if asked.response else None) is expected


def test_the_in_sync_set_is_looked_at_before_batch_and_sequence() -> None:
    world = broker(min_insync_replicas=2, isr=("b1", "b2"))
    produce(world, t_0=data(0, 0), acks=1)
    in_sync(world, ("b1",))
    for batch in (data(0, 0), data(0, 9), end(ABORT, 0)):
        assert errors(produce(world, tid="a", t_0=batch)) == {T: Error.NOT_ENOUGH_REPLICAS}


def test_a_set_that_shrank_after_the_append_stops_the_high_watermark() -> None:
    world = broker(min_insync_replicas=2, isr=("b1", "b2"))
    asked = produce(world, t_0=data(0, 0))
    in_sync(world, ("b1",))
    world.broker.replication.advance(T, -1)
    world.run_for(999)
    assert asked.response is None
    assert world.state.log(T).high_watermark == 0
    world.run_for(1)
    assert answer(asked) == (Error.REQUEST_TIMED_OUT, 0, 0)
    assert world.state.log(T).log_end_offset == 1


def test_before_3_7_a_set_that_shrank_after_the_append_is_told() -> None:
    world = broker(EFFECTIVE_MIN_ISR, min_insync_replicas=2, isr=("b1", "b2"))
    asked = produce(world, t_0=data(0, 0))
    in_sync(world, ("b1",))
    world.broker.replication.advance(T, -1)
    assert answer(asked) == (Error.NOT_ENOUGH_REPLICAS_AFTER_APPEND, 0, 0)
    assert world.state.log(T).log_end_offset == 1


def test_nothing_is_answered_to_acks_0() -> None:
    world = broker()
    assert produce(world, acks=0, t_0=data(0, 0)).response is None
    assert produce(world, acks=0, t_0=data(0, 5)).response is None
    assert world.state.log(T).log_end_offset == 1


def test_transactional_records_need_a_transactional_id_for_the_whole_request() -> None:
    world = broker()
    response = errors(produce(world, t_0=data(0, 0, txn=True), x_0=plain(1), nowhere_0=plain(1)))
    assert set(response.values()) == {Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED}
    assert world.state.log("x-0").log_end_offset == 0


def test_plain_records_under_a_transactional_id_are_legal() -> None:
    assert errors(produce(broker(), tid="a", t_0=plain(1), x_0=data(0, 0))) == {T: OK, "x-0": OK}


@pytest.mark.parametrize(("pid", "epoch"), [(2, 0), (PID, 1)])
def test_transactional_batches_of_two_producers_refuse_the_whole_request(pid: int, epoch: int) -> None:
    world = broker()
    two: dict[str, Any] = {"t_0": data(0, 0, txn=True), "x_0": data(epoch, 0, txn=True, pid=pid)}
    assert set(errors(produce(world, tid="a", **two, u_0=plain(1))).values()) == {Error.INVALID_PRODUCER_ID_MAPPING}
    assert world.state.log(T).log_end_offset == 0
    assert set(errors(produce(world, tid="a", t_0=data(0, 0), x_0=data(epoch, 0, pid=pid))).values()) == {OK}


def elsewhere() -> OneBroker:
    """The transaction coordinator of "a" is b2."""
    return OneBroker(leaders={transaction_partition("a"): "b2"})


def verify(world: OneBroker, error: Error = OK) -> None:
    """The coordinator's answer to what the leader asked."""
    for sent in world.take(AddPartitionsToTxn):
        sent.answer(AddPartitionsToTxnResponse(errors=dict.fromkeys(sent.body.partitions, error)))


def test_a_marker_between_verification_and_append_refuses_the_late_batch() -> None:
    world = elsewhere()
    late = produce(world, tid="a", version=11, t_0=data(0, 0, txn=True))
    assert late.response is None
    world.state.log(T).append(end(ABORT, 0), 0)
    verify(world)
    assert errors(late) == {T: Error.INVALID_TXN_STATE}


def test_a_fenced_epoch_between_verification_and_append_is_told_as_such() -> None:
    world = elsewhere()
    late = produce(world, tid="a", version=11, t_0=data(0, 0, txn=True))
    world.state.log(T).append(end(ABORT, 1), 0)
    verify(world)
    assert answer(late) == (Error.INVALID_PRODUCER_EPOCH, -1, 0)


@pytest.mark.parametrize("version", [3, 11, 12])
def test_the_transactional_bit_means_nothing_without_a_producer_id(version: int) -> None:
    world = elsewhere()
    nobody = replace(plain(1), transactional=True)
    assert answer(produce(world, tid="a", version=version, t_0=nobody)) == (OK, 0, 0 if version >= 5 else -1)
    assert world.take(AddPartitionsToTxn) == []
    world.state.log(T).advance(1)
    assert world.state.log(T).last_stable_offset == 1
    batches: dict[str, Any] = {"t_0": nobody, "x_0": data(0, 0, txn=True)}
    answers = errors(produce(world, tid="a", version=version, **batches))
    assert answers == {T: OK, "x-0": Error.UNKNOWN_TOPIC_OR_PARTITION}
    refused = produce(world, version=version, t_0=nobody)
    assert answer(refused) == (Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, -1, -1)


def list_asked(world: OneBroker) -> list[tuple[str, ...]]:
    """The partitions that the leader asks about, request by request; none is answered."""
    return [sent.body.partitions for sent in world.sent if isinstance(sent.body, AddPartitionsToTxn)]


def in_transaction(version: int) -> OneBroker:
    """PID has an open transaction on t-0, of which x-0 is no part yet."""
    world = OneBroker(leaders={transaction_partition("a"): "b2", "x-0": "b1"})
    produce(world, tid="a", version=version, t_0=data(0, 0, txn=True))
    verify(world)
    return world


@pytest.mark.parametrize("version", [3, 11, 12])
def test_nothing_of_a_request_is_appended_before_the_coordinator_has_answered(version: int) -> None:
    world = in_transaction(version)
    late = produce(world, tid="a", version=version, t_0=data(0, 1, txn=True), x_0=data(0, 0, txn=True))
    assert list_asked(world) == [("x-0",)]
    assert world.state.log(T).log_end_offset == 1
    verify(world)
    assert errors(late) == {T: OK, "x-0": OK}
    assert world.state.log(T).log_end_offset == 2


def test_plain_records_too_wait_for_the_answer() -> None:
    world = in_transaction(12)
    late = produce(world, tid="a", version=12, t_0=plain(1), x_0=data(0, 0, txn=True))
    assert world.state.log(T).log_end_offset == 1
    verify(world, Error.INVALID_PRODUCER_ID_MAPPING)
    assert errors(late) == {T: OK, "x-0": Error.INVALID_PRODUCER_ID_MAPPING}


@pytest.mark.parametrize(("epoch", "expected"), [(0, Error.INVALID_TXN_STATE), (1, Error.INVALID_PRODUCER_EPOCH)])
def test_a_marker_that_comes_while_another_partition_is_verified_refuses_what_needed_no_guard(
    epoch: int, expected: Error
) -> None:
    world = in_transaction(12)
    late = produce(world, tid="a", version=12, t_0=data(0, 1, txn=True), x_0=data(0, 0, txn=True))
    world.state.log(T).append(end(ABORT, epoch), 0)
    verify(world)
    assert errors(late) == {T: expected, "x-0": OK}


def test_the_retry_after_20_ms_begins_again_with_all_partitions() -> None:
    world = in_transaction(12)
    late = produce(world, tid="a", version=12, t_0=data(0, 1, txn=True), x_0=data(0, 0, txn=True))
    world.state.log(T).append(end(ABORT, 0), 0)
    verify(world, Error.CONCURRENT_TRANSACTIONS)
    world.run_for(19)
    assert list_asked(world) == []
    world.run_for(1)
    assert list_asked(world) == [(T, "x-0")]
    verify(world)
    assert errors(late) == {T: OK, "x-0": OK}


def test_a_retry_looks_at_the_epoch_again_before_it_asks() -> None:
    world = in_transaction(12)
    late = produce(world, tid="a", version=12, t_0=data(0, 1, txn=True), x_0=data(0, 0, txn=True))
    verify(world, Error.CONCURRENT_TRANSACTIONS)
    world.state.log(T).append(end(ABORT, 1), 0)
    world.run_for(20)
    assert list_asked(world) == [("x-0",)]
    verify(world)
    assert answer(late) == (Error.INVALID_PRODUCER_EPOCH, -1, -1)
    assert answer(late, "x-0") == (OK, 0, 0)


@pytest.mark.parametrize(
    ("version", "expected", "retries"),
    [(3, Error.NOT_ENOUGH_REPLICAS, 0), (11, Error.NOT_ENOUGH_REPLICAS, 0), (12, Error.CONCURRENT_TRANSACTIONS, 5)],
)
def test_retries_end_after_100_ms_with_the_last_answer(version: int, expected: Error, retries: int) -> None:
    world = in_transaction(version)
    late = produce(world, tid="a", version=version, t_0=data(0, 1, txn=True), x_0=data(0, 0, txn=True))
    for _ in range(retries):
        verify(world, Error.CONCURRENT_TRANSACTIONS)
        world.run_for(20)
    assert late.response is None
    verify(world, Error.CONCURRENT_TRANSACTIONS)
    assert errors(late) == {T: OK, "x-0": expected}


def test_the_leader_of_the_partition_is_looked_at_before_acks_where_it_is_verified() -> None:
    world = elsewhere()
    request = produce(world, tid="a", acks=2, version=12, u_0=data(0, 0, txn=True))
    assert answer(request, "u-0") == (Error.NOT_LEADER_OR_FOLLOWER, -1, -1)
    assert answer(produce(world, acks=2, u_0=data(0, 0)), "u-0")[0] is Error.INVALID_REQUIRED_ACKS


def test_an_old_epoch_is_refused_before_the_coordinator_is_asked() -> None:
    world = elsewhere()
    world.state.log(T).append(end(ABORT, 1), 0)
    assert answer(produce(world, tid="a", t_0=data(0, 0, txn=True))) == (Error.INVALID_PRODUCER_EPOCH, -1, -1)
    assert world.take(AddPartitionsToTxn) == []


def test_what_is_malformed_is_not_verified() -> None:
    world = elsewhere()
    bad = OtherRecords(records=data(0, 0).records, transactional=True, producer_id=PID, producer_epoch=0, magic=1)
    assert errors(produce(world, tid="a", t_0=bad)) == {T: Error.INVALID_RECORD}
    assert world.take(AddPartitionsToTxn) == []


# producer ids expire by a timer of the broker


def test_a_producer_id_expires_by_a_periodic_check() -> None:
    world = broker(producer_id_expiration_ms=1_500_000, producer_id_expiration_check_interval_ms=600_000)
    produce(world, t_0=data(0, 0))
    world.run_for(1_799_999)
    assert list(world.state.log(T).producers.entries) == [PID]
    world.run_for(2)
    assert list(world.state.log(T).producers.entries) == []
    assert ("producer ids expired", {"partition": T, "producer_ids": (PID,)}) in world.notes
    assert errors(produce(world, t_0=data(0, 7))) == {T: OK}


def test_by_default_a_producer_id_lasts_a_day_and_is_looked_at_every_ten_minutes() -> None:
    world = broker()
    produce(world, t_0=data(0, 0))
    world.run_for(86_399_999)
    assert list(world.state.log(T).producers.entries) == [PID]
    world.run_for(600_001)
    assert list(world.state.log(T).producers.entries) == []


def test_a_duplicate_moves_the_high_watermark_that_stood_as_an_append_does() -> None:
    world = broker(min_insync_replicas=2, isr=("b1", "b2"))
    in_sync(world, ("b1",))
    produce(world, t_0=data(0, 0), acks=1)
    assert world.state.log(T).high_watermark == 0
    world.state.config = replace(world.state.config, min_insync_replicas=1)
    assert errors(produce(world, t_0=data(0, 0))) == {T: OK}
    assert world.state.log(T).high_watermark == 1
