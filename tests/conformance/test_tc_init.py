"""TC: InitProducerId's arithmetic of epochs, fences, time-outs (docs/cases.md; docs/protocol.md#init-producer-id)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kafkalab.broker.effects import Effects
from kafkalab.broker.services import Context
from kafkalab.broker.transaction_coordinator.decision import abort_fenced, fence
from kafkalab.protocol.errors import Error
from kafkalab.protocol.transaction_metadata import Txn, TxnState
from tests.conformance.coordinator_world import EPOCH, HOLD, ID, PID, CoordinatorWorld, make_txn

E = Error
NONE = Error.NONE
LAST = 32766
AT_REST = ("Empty", "CompleteCommit", "CompleteAbort")
WAIT = (E.CONCURRENT_TRANSACTIONS, -1, -1)


def summarize(response: Any) -> tuple[Any, ...]:
    return response.error, response.producer_id, response.producer_epoch


def holding(state: str, pending: str = "", cluster: int = 2, **fields: Any) -> CoordinatorWorld:
    world = CoordinatorWorld(cluster)
    world.holds(make_txn(state, **fields), pending)
    return world


def identity(world: CoordinatorWorld) -> tuple[int, int, int]:
    txn = world.now_known
    return txn.producer_id, txn.producer_epoch, txn.last_producer_epoch


# the arithmetic (docs/protocol.md#epoch-arithmetic)

NOBODY: dict[str, int] = {}


def expecting(epoch: int, producer_id: int = PID) -> dict[str, Any]:
    return {"producer_id": producer_id, "producer_epoch": epoch}


@pytest.mark.parametrize(
    ("held", "request_fields", "answer", "after"),
    [
        pytest.param((10, 3), NOBODY, (NONE, PID, 11), (PID, 11, -1), id="no-expectation"),
        pytest.param((-1, -1), NOBODY, (NONE, PID, 0), (PID, 0, -1), id="never-initialised"),
        pytest.param((-1, -1), expecting(4, 55), (NONE, PID, 0), (PID, 0, -1), id="never-initialised-expecting"),
        pytest.param((LAST, 3), NOBODY, (NONE, 1000, 0), (1000, 0, -1), id="TC-07"),
        pytest.param((32767, 3), NOBODY, (NONE, 1000, 0), (1000, 0, -1), id="after-a-fence-at-the-end"),
        pytest.param((10, 3), expecting(10), (NONE, PID, 11), (PID, 11, 10), id="the-current-epoch"),
        pytest.param((LAST - 1, 3), expecting(LAST - 1), (NONE, PID, LAST), (PID, LAST, LAST - 1), id="to-the-last"),
        pytest.param((LAST, 3), expecting(LAST), (NONE, 1000, 0), (1000, 0, LAST), id="the-last-epoch"),
        pytest.param((10, 9), expecting(9), (NONE, PID, 10), (PID, 10, 9), id="a-retry"),
        pytest.param((10, 9), expecting(8), (E.PRODUCER_FENCED, -1, -1), None, id="an-older-one"),
        pytest.param((10, 9), expecting(11), (E.PRODUCER_FENCED, -1, -1), None, id="a-newer-one"),
        pytest.param((11, -1), expecting(10), (E.PRODUCER_FENCED, -1, -1), None, id="TC-45"),
        pytest.param((LAST, 9), expecting(9), (E.UNKNOWN_SERVER_ERROR, -1, -1), None, id="a-retry-at-the-end"),
        pytest.param((LAST, 9), expecting(8), (E.UNKNOWN_SERVER_ERROR, -1, -1), None, id="another-at-the-end"),
        pytest.param((32767, LAST), expecting(LAST), (E.UNKNOWN_SERVER_ERROR, -1, -1), None, id="at-32767"),
        pytest.param((10, 9), expecting(10, 8), (E.PRODUCER_FENCED, -1, -1), None, id="TC-46"),
        pytest.param((10, 9), expecting(LAST, 8), (E.PRODUCER_FENCED, -1, -1), None, id="TC-46-at-the-last-epoch"),
    ],
)
@pytest.mark.parametrize("state", AT_REST)
@pytest.mark.parametrize("cluster", [0, 1, 2])
def test_an_epoch_for_the_next_instance(
    cluster: int, state: str, held: tuple[int, int], request_fields: dict[str, Any], answer: Any, after: Any
) -> None:
    world = holding(state, cluster=cluster, producer_epoch=held[0], last_producer_epoch=held[1])
    world.run_for(40)
    response = world.init(transaction_timeout_ms=777, **request_fields)
    assert summarize(response) == answer
    if after is None:
        assert (world.list_written(), identity(world)) == ([], (PID, *held))
        return
    (entry,) = world.list_written()
    held_now = world.now_known
    of_kip_890: dict[str, Any] = {"prev_producer_id": -1, "next_producer_id": -1, "client_transaction_version": 0}
    assert (identity(world), entry) == (after, held_now if cluster else replace(held_now, **of_kip_890))
    assert (entry.state, entry.partitions, entry.start_ms) == (TxnState.EMPTY, (), -1)
    assert (entry.timeout_ms, entry.update_ms, held_now.prev_producer_id) == (777, world.now, PID)


def test_an_epoch_is_told_once_it_is_durable() -> None:
    world = holding("Empty")
    world.fail(HOLD)
    assert world.init() is None
    assert (identity(world), world.pending(ID)) == ((PID, EPOCH, -1), TxnState.EMPTY)
    assert summarize(world.init()) == WAIT
    world.held.pop()(NONE)
    assert summarize(world.asked[0].response) == (NONE, PID, EPOCH + 1)


@pytest.mark.parametrize("failure", ["NOT_ENOUGH_REPLICAS", "NOT_LEADER_OR_FOLLOWER"])
def test_an_epoch_that_could_not_be_written_is_nobodys(failure: str) -> None:
    world = holding("Empty")
    world.fail(Error[failure])
    assert world.init().error in (E.COORDINATOR_NOT_AVAILABLE, E.NOT_COORDINATOR)
    assert (identity(world), world.pending(ID)) == ((PID, EPOCH, -1), None)
    assert summarize(world.init()) == (NONE, PID, EPOCH + 1)


@pytest.mark.parametrize("epoch", [EPOCH, LAST])
def test_tc_45_a_fresh_instance_forgets_what_a_zombie_expects(epoch: int) -> None:
    world = holding("Empty", producer_epoch=epoch)
    held = summarize(world.init_expecting(PID, epoch))
    assert summarize(world.init()) == (NONE, held[1], held[2] + 1)
    assert summarize(world.init_expecting(PID, epoch)) == (E.PRODUCER_FENCED, -1, -1)
    assert summarize(world.init_expecting(*held[1:])) == (E.PRODUCER_FENCED, -1, -1)


def test_tc_47_the_same_question_again_gets_the_same_epoch() -> None:
    world = holding("Empty")
    assert [summarize(world.init_expecting(PID, 10)) for _ in range(3)] == [(NONE, PID, 11)] * 3
    assert identity(world) == (PID, 11, 10)
    assert len(world.list_written()) == 3


def test_tc_49_the_same_question_again_after_a_rotation_gets_the_same_producer_id() -> None:
    world = holding("Empty", producer_epoch=LAST)
    assert [summarize(world.init_expecting(PID, LAST)) for _ in range(2)] == [(NONE, 1000, 0)] * 2
    assert identity(world) == (1000, 0, LAST)
    assert summarize(world.init_expecting(PID, LAST - 1)) == (E.PRODUCER_FENCED, -1, -1)


def test_a_rotation_that_nobody_expected_is_not_retried() -> None:
    world = holding("Empty", producer_epoch=LAST)
    assert summarize(world.init()) == (NONE, 1000, 0)
    assert summarize(world.init_expecting(PID, LAST)) == (E.PRODUCER_FENCED, -1, -1)


@pytest.mark.parametrize(
    ("expected", "answer"),
    [
        ((PID, 32766), (NONE, 8, 0)),
        ((PID, 32767), (E.PRODUCER_FENCED, -1, -1)),
        ((PID, 0), (E.PRODUCER_FENCED, -1, -1)),
        ((PID, 32765), (E.PRODUCER_FENCED, -1, -1)),
        ((55, 32766), (E.PRODUCER_FENCED, -1, -1)),
        ((8, 0), (NONE, 8, 1)),
        ((8, 32766), (NONE, 8, 0)),
    ],
)
def test_after_a_rotation_the_producer_id_before_counts_at_its_last_epoch_only(
    expected: tuple[int, int], answer: tuple[Any, ...]
) -> None:
    world = holding("CompleteCommit", producer_id=8, producer_epoch=0, last_producer_epoch=LAST, prev_producer_id=PID)
    assert summarize(world.init_expecting(*expected)) == answer


def test_a_failover_forgets_which_epoch_was_the_last() -> None:
    world = holding("Empty")
    assert summarize(world.init_expecting(PID, 10)) == (NONE, PID, 11)
    world.load(make_txn("Empty", producer_epoch=11, last_producer_epoch=10), epoch=9)
    assert summarize(world.init_expecting(PID, 10)) == (E.PRODUCER_FENCED, -1, -1)
    assert summarize(world.init_expecting(PID, 11)) == (NONE, PID, 12)


def test_without_a_block_of_producer_ids_the_last_epoch_waits() -> None:
    world = holding("Empty", producer_epoch=LAST)
    world.state.producer_ids = []
    assert summarize(world.init()) == (E.COORDINATOR_LOAD_IN_PROGRESS, -1, -1)
    assert (world.list_written(), world.pending(ID)) == ([], None)


# a transaction stands in the way


@pytest.mark.parametrize("cluster", [0, 2])
@pytest.mark.parametrize("fields", [NOBODY, expecting(EPOCH), expecting(3)])
@pytest.mark.parametrize("state", ["PrepareCommit", "PrepareAbort"])
def test_tc_36_a_new_instance_waits_for_a_decided_transaction(state: str, fields: dict[str, Any], cluster: int) -> None:
    world = holding(state, cluster=cluster)
    assert summarize(world.init(**fields)) == WAIT
    assert world.list_written() == []
    assert summarize(world.init(**expecting(EPOCH, 8))) == (E.PRODUCER_FENCED, -1, -1)


@pytest.mark.parametrize("cluster", [0, 1])
def test_tc_37_a_new_instance_aborts_the_open_transaction_under_the_next_epoch(cluster: int) -> None:
    world = holding("Ongoing", cluster=cluster, last_producer_epoch=9)
    assert summarize(world.init()) == WAIT
    (entry,) = world.list_written()
    assert (entry.state, entry.producer_epoch, entry.last_producer_epoch) == (TxnState.PREPARE_ABORT, EPOCH + 1, -1)
    assert (entry.client_transaction_version, entry.partitions) == (0, ("u-0",))
    assert summarize(world.init()) == WAIT
    assert [(m.producer_epoch, m.committed) for m in world.answer_markers()] == [(EPOCH + 1, False)]
    assert summarize(world.init()) == (NONE, PID, EPOCH + 2)


def test_under_version_2_the_abort_itself_takes_the_next_epoch() -> None:
    world = holding("Ongoing", last_producer_epoch=9)
    world.fail(HOLD)
    assert world.init() is None
    assert (identity(world), world.pending(ID)) == ((PID, EPOCH, 9), TxnState.PREPARE_ABORT)
    world.held.pop()(NONE)
    assert summarize(world.asked[0].response) == WAIT
    (entry,) = world.list_written()
    assert (identity(world), entry.client_transaction_version) == ((PID, EPOCH + 1, EPOCH), 2)
    world.answer_markers()
    assert summarize(world.init()) == (NONE, PID, EPOCH + 2)


@pytest.mark.parametrize("cluster", [0, 2])
@pytest.mark.parametrize("epoch", [EPOCH, 3, EPOCH + 5])
def test_over_an_open_transaction_only_the_producer_id_of_an_expectation_counts(epoch: int, cluster: int) -> None:
    assert summarize(holding("Ongoing", cluster=cluster).init_expecting(PID, epoch)) == WAIT
    assert summarize(holding("Ongoing", cluster=cluster).init_expecting(8, epoch)) == (E.PRODUCER_FENCED, -1, -1)


def abort(world: CoordinatorWorld, fenced: Txn) -> list[Txn | Error]:
    """Return what `abort_fenced` returns, if it has by now."""
    ended: list[Txn | Error] = []

    def run() -> Effects[None]:
        ended.append((yield from abort_fenced(world.state, fenced)))

    world.broker.run(run(), Context(None, -1))
    return ended


@pytest.mark.parametrize("cluster", [0, 2])
@pytest.mark.parametrize(("ahead", "error"), [(2, "PRODUCER_FENCED"), (1, "NONE"), (0, "NONE")])
def test_tc_38_a_fence_that_was_overtaken_by_another_is_fenced_itself(cluster: int, ahead: int, error: str) -> None:
    world = holding("Ongoing", cluster=cluster)
    fenced = fence(world.owned, world.now_known)
    world.holds(make_txn("Ongoing", producer_epoch=EPOCH + ahead))
    (ended,) = abort(world, fenced)
    if error == "NONE":
        assert ended == world.now_known
        assert world.now_known.state.label == "PrepareAbort"
    else:
        assert ended is Error[error]


@pytest.mark.parametrize(
    ("instead", "error"),
    [
        (make_txn("Ongoing", producer_id=8), E.INVALID_PRODUCER_ID_MAPPING),
        (make_txn("PrepareCommit"), E.INVALID_TXN_STATE),
        (make_txn("CompleteCommit", producer_epoch=EPOCH + 2), E.PRODUCER_FENCED),
    ],
)
def test_a_fence_finds_another_transaction_than_it_fenced(instead: Any, error: Error) -> None:
    world = holding("Ongoing", cluster=0)
    fenced = fence(world.owned, world.now_known)
    world.holds(instead)
    assert (abort(world, fenced), world.list_written()) == ([error], [])


def test_tc_39_under_version_0_a_fence_that_cannot_be_written_raises_the_epoch_once() -> None:
    world = holding("Ongoing", cluster=0, last_producer_epoch=9)
    flags = []
    for failure in (E.NOT_ENOUGH_REPLICAS, E.NOT_LEADER_OR_FOLLOWER, NONE):
        world.fail(failure)
        response = world.init()
        error = {E.NOT_ENOUGH_REPLICAS: E.COORDINATOR_NOT_AVAILABLE, E.NOT_LEADER_OR_FOLLOWER: E.NOT_COORDINATOR}
        assert summarize(response) == (error.get(failure, E.CONCURRENT_TRANSACTIONS), -1, -1)
        assert identity(world) == (PID, EPOCH + 1, -1)
        flags.append(ID in world.owned.failed_fences)
    assert flags == [True, True, False]
    assert [t.producer_epoch for t in world.list_written()] == [EPOCH + 1]
    assert world.end(True, 4).error is E.PRODUCER_FENCED
    world.answer_markers()
    assert summarize(world.init()) == (NONE, PID, EPOCH + 2)


def test_under_version_0_the_epoch_is_raised_in_memory_before_the_abort_is_durable() -> None:
    world = holding("Ongoing", cluster=0)
    world.fail(HOLD)
    assert world.init() is None
    assert (identity(world), world.now_known.state) == ((PID, EPOCH + 1, -1), TxnState.ONGOING)
    assert world.pending(ID) is TxnState.PREPARE_ABORT
    assert world.end(True, 4).error is E.PRODUCER_FENCED
    world.held.pop()(E.REQUEST_TIMED_OUT)
    assert (identity(world), world.pending(ID)) == ((PID, EPOCH + 1, -1), None)
    assert world.add() is E.PRODUCER_FENCED
    assert world.end(False, 4).error is E.PRODUCER_FENCED


def test_a_failed_fence_is_remembered_by_the_scan_too_and_forgotten_by_a_new_coordinator() -> None:
    world = holding("Ongoing", cluster=0, timeout_ms=5_000)
    world.fail(E.NOT_ENOUGH_REPLICAS, E.NOT_ENOUGH_REPLICAS)
    world.init()
    world.run_for(10_000)
    assert (identity(world), ID in world.owned.failed_fences) == ((PID, EPOCH + 1, -1), True)
    world.load(make_txn("Ongoing"), epoch=4)
    assert not world.owned.failed_fences


def test_a_failed_fence_at_the_last_epoch_stays_at_32767() -> None:
    world = holding("Ongoing", cluster=0, producer_epoch=LAST)
    world.fail(E.NOT_ENOUGH_REPLICAS)
    assert summarize(world.init()) == (E.COORDINATOR_NOT_AVAILABLE, -1, -1)
    assert summarize(world.init()) == WAIT
    assert [m.producer_epoch for m in world.answer_markers()] == [32767]
    assert summarize(world.init()) == (NONE, 1000, 0)
    assert identity(world) == (1000, 0, -1)


def test_tc_40_under_version_2_a_fence_that_cannot_be_written_leaves_the_epoch_as_it_was() -> None:
    world = holding("Ongoing", producer_epoch=1)
    world.fail(E.NOT_ENOUGH_REPLICAS)
    assert summarize(world.init()) == (E.COORDINATOR_NOT_AVAILABLE, -1, -1)
    assert (identity(world), world.pending(ID), world.owned.failed_fences) == ((PID, 1, -1), None, {})
    assert summarize(world.init()) == WAIT
    assert (identity(world), world.owned.failed_fences) == ((PID, 2, 1), {})
    world.answer_markers()
    assert summarize(world.init()) == (NONE, PID, 3)


def test_tc_43_under_version_2_a_fence_at_the_last_epoch_rotates_the_producer_id() -> None:
    world = holding("Ongoing", producer_epoch=LAST)
    assert summarize(world.init()) == WAIT
    (entry,) = world.list_written()
    assert (entry.state, entry.producer_id, entry.producer_epoch, entry.next_producer_id) == (
        TxnState.PREPARE_ABORT,
        PID,
        32767,
        1000,
    )
    assert [(m.producer_id, m.producer_epoch) for m in world.answer_markers()] == [(PID, 32767)]
    assert (world.now_known.state, identity(world)) == (TxnState.COMPLETE_ABORT, (1000, 0, LAST))
    assert summarize(world.end(False, 5, LAST)) == (NONE, 1000, 0)
    assert summarize(world.end(True, 5, LAST)) == (E.INVALID_TXN_STATE, -1, -1)
    assert summarize(world.init()) == (NONE, 1000, 1)


def test_under_version_2_a_fence_without_a_producer_id_at_hand_changes_nothing() -> None:
    world = holding("Ongoing", producer_epoch=LAST)
    world.state.producer_ids = []
    assert summarize(world.init()) == (E.COORDINATOR_LOAD_IN_PROGRESS, -1, -1)
    assert (world.now_known, world.pending(ID)) == (make_txn("Ongoing", producer_epoch=LAST), None)


@pytest.mark.parametrize(("cluster", "after"), [(0, (PID, 32767)), (2, (1000, 0))])
def test_an_epoch_of_32767_is_fenced_without_another_bump(cluster: int, after: tuple[int, int]) -> None:
    world = holding("Ongoing", cluster=cluster, producer_epoch=32767)
    assert summarize(world.init()) == WAIT
    assert [m.producer_epoch for m in world.answer_markers()] == [32767]
    assert identity(world)[:2] == after


@pytest.mark.parametrize("pending", ["PrepareCommit", "PrepareAbort", "Ongoing", "PrepareEpochFence"])
@pytest.mark.parametrize("fields", [NOBODY, expecting(10), expecting(10, 8)])
def test_tc_51_a_pending_transition_is_waited_for_before_anything_is_compared(
    fields: dict[str, Any], pending: str
) -> None:
    world = holding("Ongoing", pending)
    assert summarize(world.init(**fields)) == WAIT
    assert (world.list_written(), identity(world)) == ([], (PID, EPOCH, -1))


@pytest.mark.parametrize("pending", ["Dead", "Empty"])
def test_an_id_that_is_on_its_way_is_waited_for(pending: str) -> None:
    assert summarize(holding("Empty", pending).init()) == WAIT


# time is up (docs/protocol.md#timeout)


@pytest.mark.parametrize(
    ("cluster", "last", "version"), [(0, -1, 0), (1, -1, 0), (2, EPOCH, 2)], ids=["TC-52", "TC-52-TV1", "TC-52-TV2"]
)
def test_a_transaction_that_is_open_too_long_is_aborted_under_the_next_epoch(
    cluster: int, last: int, version: int
) -> None:
    world = holding("Ongoing", cluster=cluster, last_producer_epoch=9, timeout_ms=5_000)
    world.run_for(10_000)
    (entry,) = world.list_written()
    assert (entry.state, entry.producer_epoch, entry.last_producer_epoch) == (
        TxnState.PREPARE_ABORT,
        EPOCH + 1,
        last,
    )
    assert entry.client_transaction_version == version
    assert [(m.producer_epoch, m.transaction_version) for m in world.answer_markers()] == [(EPOCH + 1, version)]
    assert identity(world) == (PID, EPOCH + 1, last)


@pytest.mark.parametrize("pending", ["PrepareCommit", "PrepareAbort", "Ongoing"])
def test_tc_53_a_transaction_on_its_way_elsewhere_is_not_timed_out(pending: str) -> None:
    world = holding("Ongoing", pending, timeout_ms=5_000)
    world.run_for(30_000)
    assert world.list_written() == []


@pytest.mark.parametrize(("timeout_ms", "aborted"), [(9_999, True), (10_000, False), (10_001, False)])
@pytest.mark.parametrize("cluster", [0, 2])
def test_the_timeout_must_have_passed(cluster: int, timeout_ms: int, aborted: bool) -> None:
    world = holding("Ongoing", cluster=cluster, timeout_ms=timeout_ms)
    world.run_for(10_000 - world.now)
    assert (world.now_known.state is TxnState.PREPARE_ABORT) is aborted
    world.run_for(10_000)
    assert world.now_known.state is TxnState.PREPARE_ABORT


@pytest.mark.parametrize("state", [*AT_REST, "PrepareCommit", "PrepareAbort"])
@pytest.mark.parametrize("cluster", [0, 2])
def test_only_an_open_transaction_times_out(state: str, cluster: int) -> None:
    world = holding(state, cluster=cluster, timeout_ms=1)
    world.run_for(100_000)
    assert world.list_written() == []


def test_what_a_producer_hears_after_a_timeout_under_version_1() -> None:
    world = holding("Ongoing", cluster=0, timeout_ms=5_000)
    world.run_for(10_000)
    for _ in ("while the markers are under way", "after them"):
        assert [world.add(), world.add_offsets()] == [E.PRODUCER_FENCED] * 2 or world.pending(ID)
        assert [world.end(c, 4).error for c in (True, False)] == [E.PRODUCER_FENCED] * 2
        world.answer_markers()
    assert [world.add(), world.add_offsets()] == [E.PRODUCER_FENCED] * 2


def test_under_version_2_the_producer_recovers_by_aborting_what_was_aborted() -> None:
    world = holding("Ongoing", timeout_ms=5_000)
    world.run_for(10_000)
    assert summarize(world.end(False, 5)) == WAIT
    world.answer_markers()
    assert summarize(world.end(True, 5)) == (E.INVALID_TXN_STATE, -1, -1)
    assert summarize(world.end(False, 5)) == (NONE, PID, EPOCH + 1)
    assert world.add(version=5, epoch=EPOCH + 1) is NONE


def test_under_version_2_a_timeout_at_the_last_epoch_rotates_the_producer_id() -> None:
    world = holding("Ongoing", producer_epoch=LAST, timeout_ms=5_000)
    world.run_for(10_000)
    world.answer_markers()
    assert identity(world) == (1000, 0, LAST)
    assert summarize(world.end(False, 5, LAST)) == (NONE, 1000, 0)


def test_a_timeout_that_could_not_be_written_is_tried_again_by_the_next_scan() -> None:
    world = holding("Ongoing", timeout_ms=5_000)
    world.fail(E.NOT_ENOUGH_REPLICAS)
    world.run_for(10_000)
    assert (world.now_known, world.pending(ID)) == (make_txn("Ongoing", timeout_ms=5_000), None)
    world.run_for(10_000)
    assert world.now_known.state is TxnState.PREPARE_ABORT
    assert world.now_known.producer_epoch == EPOCH + 1
