"""AP: a leader verifies partitions at the coordinator, or adds them, before it appends (docs/cases.md)."""

from __future__ import annotations

from typing import Any

import pytest

from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.add_partitions_to_txn import AddPartitionsToTxn, AddPartitionsToTxnResponse
from kafkalab.protocol.messages.produce import Produce
from kafkalab.protocol.messages.txn_offset_commit import TxnOffsetCommit
from kafkalab.protocol.messages.write_txn_markers import TxnMarkers, WriteTxnMarkers
from kafkalab.protocol.partitions import offsets_partition, transaction_partition
from kafkalab.protocol.records import Batch, Record
from kafkalab.protocol.rules import VERIFICATION
from tests.conformance.one_broker import LOST, Asked, OneBroker, Sent

PID = 7
GROUP = "g"
OFFSETS = offsets_partition(GROUP)
OTHER_ID = next(x for x in "bcdefgh" if transaction_partition(x) != transaction_partition("a"))


def world(off: tuple[str, ...] = (), coordinator: str = "b2", **config: Any) -> OneBroker:
    """b1 leads t-0 and t-1 and the group's partition; the coordinator is b2."""
    leaders = {transaction_partition(x): coordinator for x in ("a", OTHER_ID)}
    return OneBroker(off=off, leaders={**leaders, "t-1": "b1", OFFSETS: "b1"}, **config)


def produce(
    here: OneBroker,
    version: int = 12,
    epoch: int = 0,
    sequence: int = 0,
    partitions: tuple[str, ...] = ("t-0",),
    transactional_id: str = "a",
    producer_id: int = PID,
) -> Asked:
    batch = Batch(
        records=(Record(None, "x"),),
        producer_id=producer_id,
        producer_epoch=epoch,
        base_sequence=sequence,
        transactional=True,
    )
    batches = dict.fromkeys(partitions, batch)
    return here.ask(Produce(transactional_id=transactional_id, acks=-1, timeout_ms=30_000, batches=batches), version)


def commit(here: OneBroker, version: int = 5, epoch: int = 0) -> Asked:
    request = TxnOffsetCommit(
        transactional_id="a", group_id=GROUP, producer_id=PID, producer_epoch=epoch, offsets={"t-0": 5}
    )
    return here.ask(request, version)


def questions(here: OneBroker) -> list[Sent]:
    return here.take(AddPartitionsToTxn)


def answer(sent: Sent, error: Error = Error.NONE, **others: Error) -> None:
    """The coordinator's answer; `t1=` is the error of t-1."""
    named = {f"{name[:-1]}-{name[-1]}": e for name, e in others.items()}
    sent.answer(AddPartitionsToTxnResponse(errors={p: named.get(p, error) for p in sent.body.partitions}))


def find_error(asked: Asked, partition: str = "t-0") -> Error | None:
    """Return what the client was answered so far."""
    if asked.response is None:
        return None
    if isinstance(asked.frame.body, TxnOffsetCommit):
        error: Error = next(iter(asked.response.errors.values()))
    else:
        error = asked.response.partitions[partition].error
    return error


def end(here: OneBroker, epoch: int, version: int = 2) -> None:
    """A COMMIT marker for the producer on t-0."""
    markers = TxnMarkers(
        producer_id=PID,
        producer_epoch=epoch,
        coordinator_epoch=0,
        committed=True,
        partitions=("t-0",),
        transaction_version=version,
    )
    assert here.ask(WriteTxnMarkers(markers=(markers,))).response.markers == {PID: {"t-0": Error.NONE}}


# the question


@pytest.mark.parametrize(("version", "verify_only"), [(3, True), (10, True), (11, True), (12, False), (13, False)])
def test_a_leader_verifies_up_to_version_11_and_adds_from_12_on(version: int, verify_only: bool) -> None:
    here = world()
    asked = produce(here, version)
    (sent,) = questions(here)
    assert (sent.to, sent.body.partitions, sent.body.verify_only) == ("b2", ("t-0",), verify_only)
    assert (sent.body.producer_id, sent.body.producer_epoch) == (PID, 0)
    answer(sent)
    assert (find_error(asked), here.state.log("t-0").log_end_offset) == (Error.NONE, 1)


@pytest.mark.parametrize(("version", "verify_only"), [(0, True), (3, True), (4, True), (5, False), (6, False)])
def test_a_group_coordinator_verifies_up_to_version_4_and_adds_from_5_on(version: int, verify_only: bool) -> None:
    here = world()
    asked = commit(here, version)
    (sent,) = questions(here)
    assert (sent.body.partitions, sent.body.verify_only) == ((OFFSETS,), verify_only)
    answer(sent)
    assert find_error(asked) is Error.NONE


def test_partitions_of_one_request_are_asked_for_together_and_answered_each_by_itself() -> None:
    here = world()
    asked = produce(here, partitions=("t-0", "t-1"))
    (sent,) = questions(here)
    assert sent.body.partitions == ("t-0", "t-1")
    answer(sent, t1=Error.INVALID_PRODUCER_ID_MAPPING)
    assert (find_error(asked, "t-0"), find_error(asked, "t-1")) == (Error.NONE, Error.INVALID_PRODUCER_ID_MAPPING)


def test_nothing_is_asked_within_an_open_transaction() -> None:
    here = world()
    produce(here)
    answer(questions(here)[0])
    assert (find_error(produce(here, sequence=1)), questions(here)) == (Error.NONE, [])


def test_an_old_epoch_is_refused_before_anything_is_asked() -> None:
    here = world()
    produce(here, epoch=1)
    answer(questions(here)[0])
    assert (find_error(produce(here, epoch=0)), questions(here)) == (Error.INVALID_PRODUCER_EPOCH, [])


@pytest.mark.parametrize(("version", "asks"), [(10, 0), (11, 0), (12, 1)])
def test_without_the_rule_only_partitions_to_add_are_asked_for(version: int, asks: int) -> None:
    here = world(off=(VERIFICATION.name,))
    asked = produce(here, version)
    assert len(questions(here)) == asks
    assert find_error(asked) is (None if asks else Error.NONE)


# the queue


@pytest.mark.parametrize(
    ("second", "first_is_told"),
    [
        pytest.param(0, Error.NOT_ENOUGH_REPLICAS, id="AP-01-same-epoch"),
        pytest.param(1, Error.INVALID_PRODUCER_EPOCH, id="AP-02-higher-epoch"),
    ],
)
def test_a_queued_question_gives_way_to_a_newer_one_for_the_same_id(second: int, first_is_told: Error) -> None:
    here = world()
    flying = produce(here, partitions=("t-0",))
    older = produce(here, partitions=("t-1",))
    newer = produce(here, partitions=("t-1",), epoch=second)
    assert (find_error(flying), find_error(older, "t-1"), find_error(newer, "t-1")) == (None, first_is_told, None)
    (sent,) = questions(here)
    answer(sent)
    (again,) = questions(here)
    assert (again.body.partitions, again.body.producer_epoch) == (("t-1",), second)
    answer(again)
    assert (find_error(flying), find_error(newer, "t-1")) == (Error.NONE, Error.NONE)


def test_a_question_with_an_older_epoch_than_the_queued_one_is_refused() -> None:
    here = world()
    produce(here, partitions=("t-0",), epoch=1)
    queued = produce(here, partitions=("t-1",), epoch=1)
    late = produce(here, partitions=("t-1",), epoch=0)
    assert (find_error(queued, "t-1"), find_error(late, "t-1")) == (None, Error.INVALID_PRODUCER_EPOCH)
    answer(questions(here)[0])
    answer(questions(here)[0])
    assert find_error(queued, "t-1") is Error.NONE


def test_a_group_coordinators_queued_question_ends_as_one_after_a_disconnect() -> None:
    here = world()
    produce(here)
    older = commit(here)
    commit(here)
    assert find_error(older) is Error.COORDINATOR_LOAD_IN_PROGRESS


@pytest.mark.parametrize(
    ("versions", "error"),
    [((11, 10), Error.TRANSACTION_ABORTABLE), ((10, 11), Error.INVALID_TXN_STATE)],
    ids=["new-client-first", "old-client-first"],
)
def test_what_is_queued_together_is_told_the_error_that_the_first_client_knows(
    versions: tuple[int, int], error: Error
) -> None:
    """`TransactionDataAndCallbacks` has one mode for the whole request."""
    here = world()
    produce(here)
    asked = [
        produce(here, versions[0], partitions=("t-1",)),
        produce(here, versions[1], transactional_id=OTHER_ID, producer_id=8),
    ]
    answer(questions(here)[0])
    for sent in questions(here):
        answer(sent, Error.TRANSACTION_ABORTABLE)
    assert [find_error(asked[0], "t-1"), find_error(asked[1])] == [error, error]


@pytest.mark.parametrize("first_ends", [Error.NONE, Error.PRODUCER_FENCED, LOST])
def test_one_question_flies_to_a_coordinator_and_the_next_ones_wait_for_its_end(first_ends: Any) -> None:
    here = world()
    first = produce(here)
    others = [produce(here, partitions=("t-1",)), produce(here, transactional_id=OTHER_ID, producer_id=8)]
    (sent,) = questions(here)
    if first_ends is LOST:
        sent.answer(LOST)
    else:
        answer(sent, first_ends)
    waiting = questions(here)
    assert [s.body.transactional_id for s in waiting] == ["a", OTHER_ID]
    assert (find_error(first) is None, find_error(others[0], "t-1"), find_error(others[1])) == (False, None, None)
    last = produce(here, partitions=("t-1",), sequence=1)
    answer(waiting[0])
    assert questions(here) == []
    answer(waiting[1])
    (sent,) = questions(here)
    assert sent.body.producer_id == PID
    answer(sent)
    assert [find_error(others[0], "t-1"), find_error(others[1]), find_error(last, "t-1")] == [Error.NONE] * 3


def test_coordinators_on_different_brokers_are_asked_at_the_same_time() -> None:
    here = world()
    here.image({transaction_partition(OTHER_ID): "b3"}, 1)
    produce(here)
    produce(here, transactional_id=OTHER_ID, producer_id=8)
    assert [s.to for s in questions(here)] == ["b2", "b3"]


@pytest.mark.parametrize("why", ["no leader", "its leader is not alive"])
@pytest.mark.parametrize(("version", "produced"), [(11, "NOT_ENOUGH_REPLICAS"), (12, "NOT_ENOUGH_REPLICAS")])
def test_ap_04_a_coordinator_that_is_not_known_is_not_available(why: str, version: int, produced: str) -> None:
    here = world(coordinator="" if why == "no leader" else "b2")
    here.image({}, alive=("b1", "b3"))
    asked = produce(here, version, partitions=("t-0", "t-1"))
    assert [find_error(asked, p) for p in ("t-0", "t-1")] == [Error[produced]] * 2
    assert (find_error(commit(here)), questions(here)) == (Error.COORDINATOR_NOT_AVAILABLE, [])


# the answer


def answer_question(here: OneBroker, asked: Asked, how: Any) -> Error | None:
    (sent,) = questions(here)
    if isinstance(how, Error):
        answer(sent, how)
    else:
        sent.answer(how)
    return find_error(asked)


WHOLE = {
    "LOST": LOST,
    "VERSION": AddPartitionsToTxnResponse(errors={}, error=Error.UNSUPPORTED_VERSION),
    "AUTH": AddPartitionsToTxnResponse(errors={}, error=Error.CLUSTER_AUTHORIZATION_FAILED),
    "OTHER": AddPartitionsToTxnResponse(errors={}, error=Error.INVALID_REQUEST),
}
SAME = ("INVALID_PRODUCER_ID_MAPPING", "INVALID_TXN_STATE", "OPERATION_NOT_ATTEMPTED", "UNKNOWN_TOPIC_OR_PARTITION")
AT_COORDINATOR = ("COORDINATOR_LOAD_IN_PROGRESS", "COORDINATOR_NOT_AVAILABLE", "NOT_COORDINATOR", "NETWORK_EXCEPTION")


@pytest.mark.parametrize("version", [10, 11, 12])
@pytest.mark.parametrize(
    ("how", "expected"),
    [
        pytest.param("LOST", "NOT_ENOUGH_REPLICAS", id="AP-05-disconnect"),
        pytest.param("VERSION", "NONE", id="AP-05-version"),
        pytest.param("AUTH", "INVALID_TXN_STATE", id="AP-05-authorization"),
        pytest.param("PRODUCER_FENCED", "INVALID_PRODUCER_EPOCH", id="AP-06"),
        *(pytest.param(name, "NOT_ENOUGH_REPLICAS", id=name) for name in AT_COORDINATOR),
        *(pytest.param(name, name, id=name) for name in SAME),
    ],
)
def test_what_a_producer_is_told(how: str, expected: str, version: int) -> None:
    here = world()
    asked = produce(here, version)
    if how == "VERSION" and version == 12:
        expected = "UNSUPPORTED_VERSION"  # whoever adds a partition must be able to
    assert answer_question(here, asked, WHOLE[how] if how in WHOLE else Error[how]) is Error[expected]
    assert here.state.log("t-0").log_end_offset == (1 if expected == "NONE" else 0)


@pytest.mark.parametrize("version", [3, 4, 5])
@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ("LOST", "COORDINATOR_LOAD_IN_PROGRESS"),
        ("VERSION", "NONE"),
        ("AUTH", "INVALID_TXN_STATE"),
        ("PRODUCER_FENCED", "INVALID_PRODUCER_EPOCH"),
        ("NETWORK_EXCEPTION", "COORDINATOR_LOAD_IN_PROGRESS"),
        ("CONCURRENT_TRANSACTIONS", "CONCURRENT_TRANSACTIONS"),
        *((name, name) for name in AT_COORDINATOR[:3]),
        *((name, name) for name in SAME[:2]),
        ("UNKNOWN_TOPIC_OR_PARTITION", "COORDINATOR_NOT_AVAILABLE"),
        ("NOT_ENOUGH_REPLICAS", "COORDINATOR_NOT_AVAILABLE"),
        ("REQUEST_TIMED_OUT", "COORDINATOR_NOT_AVAILABLE"),
        ("NOT_LEADER_OR_FOLLOWER", "NOT_COORDINATOR"),
        ("KAFKA_STORAGE_ERROR", "NOT_COORDINATOR"),
        ("MESSAGE_TOO_LARGE", "UNKNOWN_SERVER_ERROR"),
        ("RECORD_LIST_TOO_LARGE", "UNKNOWN_SERVER_ERROR"),
    ],
)
def test_what_a_committer_of_offsets_is_told(how: str, expected: str, version: int) -> None:
    here = world()
    asked = commit(here, version)
    if how == "VERSION" and version == 5:
        expected = "UNSUPPORTED_VERSION"
    assert answer_question(here, asked, WHOLE[how] if how in WHOLE else Error[how]) is Error[expected]


@pytest.mark.parametrize(
    ("ask", "version", "expected"),
    [
        (produce, 3, "INVALID_TXN_STATE"),
        (produce, 10, "INVALID_TXN_STATE"),
        (produce, 11, "TRANSACTION_ABORTABLE"),
        (produce, 12, "TRANSACTION_ABORTABLE"),
        (commit, 0, "INVALID_TXN_STATE"),
        (commit, 3, "INVALID_TXN_STATE"),
        (commit, 4, "TRANSACTION_ABORTABLE"),
        (commit, 5, "TRANSACTION_ABORTABLE"),
    ],
)
def test_a_partition_that_is_not_in_the_transaction_has_a_code_by_version(
    ask: Any, version: int, expected: str
) -> None:
    here = world()
    assert answer_question(here, ask(here, version), Error.TRANSACTION_ABORTABLE) is Error[expected]


# waiting for a transaction that is being completed


@pytest.mark.parametrize("version", [3, 10, 11])
def test_ap_08_up_to_version_11_a_completing_transaction_is_too_few_replicas(version: int) -> None:
    here = world()
    asked = produce(here, version)
    assert answer_question(here, asked, Error.CONCURRENT_TRANSACTIONS) is Error.NOT_ENOUGH_REPLICAS
    here.run_for(1_000)
    assert questions(here) == []


@pytest.mark.parametrize(("settings", "attempts"), [({}, 6), ({"request_timeout_ms": 50}, 4)])
def test_ap_08_from_version_12_on_the_leader_asks_again_for_a_while(settings: dict[str, Any], attempts: int) -> None:
    here = world(**settings)
    asked = produce(here, 12)
    asked_at = []
    for _ in range(10):
        for sent in questions(here):
            asked_at.append(here.now)
            assert find_error(asked) is None
            answer(sent, Error.CONCURRENT_TRANSACTIONS)
        here.run_for(20)
    assert asked_at == [20 * i for i in range(attempts)]
    assert find_error(asked) is Error.CONCURRENT_TRANSACTIONS


def test_a_transaction_that_is_completed_in_time_lets_the_next_one_in() -> None:
    here = world()
    asked = produce(here, 12)
    answer(questions(here)[0], Error.CONCURRENT_TRANSACTIONS)
    here.run_for(20)
    answer(questions(here)[0])
    assert find_error(asked) is Error.NONE


def test_a_marker_between_two_attempts_does_not_cost_the_next_transaction_its_guard() -> None:
    here = world()
    produce(here, 11)
    answer(questions(here)[0])
    asked = produce(here, 12, epoch=1)
    answer(questions(here)[0], Error.CONCURRENT_TRANSACTIONS)
    end(here, epoch=0, version=0)
    here.run_for(20)
    answer(questions(here)[0])
    assert find_error(asked) is Error.NONE


def test_a_marker_of_a_newer_epoch_between_two_attempts_fences_the_waiting_batch() -> None:
    here = world()
    asked = produce(here, 12)
    answer(questions(here)[0], Error.CONCURRENT_TRANSACTIONS)
    end(here, epoch=1)
    here.run_for(20)
    assert (questions(here), find_error(asked)) == ([], Error.INVALID_PRODUCER_EPOCH)


def test_a_marker_between_answer_and_question_takes_the_guard_away() -> None:
    here = world()
    asked = produce(here, 11)
    (sent,) = questions(here)
    end(here, epoch=0, version=0)
    answer(sent)
    assert find_error(asked) is Error.INVALID_TXN_STATE
