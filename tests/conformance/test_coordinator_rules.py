"""The coordinator's rules, one at a time switched off; LEG-02 and what the profiles 0.11 and 1.0 answer."""

from __future__ import annotations

from typing import Any

import pytest

from kafkalab.protocol.errors import Error
from kafkalab.protocol.partitions import transaction_partition
from kafkalab.protocol.rules import (
    ABORT_ON_INIT,
    BUMP_ON_INIT,
    COORDINATOR_EPOCH_CHECK,
    EPOCH_PER_TRANSACTION,
    EXACT_END_EPOCH,
    FENCED_CODE,
    KEEP_EPOCH_EXPECTED,
    PENDING_FIRST,
    TIMEOUT_ABORT,
    TIMEOUT_BUMPS,
    TIMEOUT_MAXIMUM,
    Rule,
)
from kafkalab.protocol.transaction_metadata import TxnState
from tests.conformance.coordinator_world import EPOCH, HOLD, ID, PID, CoordinatorWorld, make_txn

E = Error
NONE = Error.NONE
LAST = 32766
WAIT = (E.CONCURRENT_TRANSACTIONS, -1, -1)


def summarize(response: Any) -> tuple[Any, ...]:
    return response.error, response.producer_id, response.producer_epoch


def without(*off: Rule, state: str = "Ongoing", pending: str = "", cluster: int = 2, **fields: Any) -> CoordinatorWorld:
    world = CoordinatorWorld(cluster, tuple(rule.name for rule in off))
    world.holds(make_txn(state, **fields), pending)
    return world


def as_of(profile: str, state: str = "Ongoing", pending: str = "", **fields: Any) -> CoordinatorWorld:
    world = CoordinatorWorld(None, profile=profile)
    world.holds(make_txn(state, **fields), pending)
    return world


# LEG


@pytest.mark.parametrize("profile", ["0.11", "1.0"])
@pytest.mark.parametrize("committed", [True, False])
def test_leg_02_an_old_coordinator_knows_one_code_and_logs_a_larger_epochs_decision_that_it_refuses(
    profile: str, committed: bool
) -> None:
    world = as_of(profile, producer_epoch=5)
    assert world.add(version=0, epoch=4) is E.INVALID_PRODUCER_EPOCH
    assert world.add(version=0, epoch=6) is E.INVALID_PRODUCER_EPOCH
    assert world.add_offsets(0, 4) is E.INVALID_PRODUCER_EPOCH
    assert summarize(world.end(True, 0, 4)) == (E.INVALID_PRODUCER_EPOCH, -1, -1)
    assert summarize(world.end(committed, 0, 6)) == (E.INVALID_PRODUCER_EPOCH, -1, -1)
    (entry,) = world.list_written()
    decision = TxnState.PREPARE_COMMIT if committed else TxnState.PREPARE_ABORT
    assert (entry.state, entry.producer_epoch, world.pending(ID)) == (decision, 5, None)
    world.run_for(120_000)
    assert world.answer_markers() == []
    assert [world.add(version=0, epoch=5), world.add_offsets(0, 5), world.init(0).error] == [WAIT[0]] * 3
    assert [world.end(c, 0, 5).error for c in (committed, not committed)] == [WAIT[0], E.INVALID_TXN_STATE]
    world.image({transaction_partition(ID): "b1"}, 2)
    world.run_for(5)
    assert [(m.producer_epoch, m.committed) for m in world.answer_markers()] == [(5, committed)]
    assert world.end(committed, 0, 5).error is NONE


@pytest.mark.parametrize("profile", ["0.11", "1.0"])
def test_an_old_coordinator_compares_producer_id_and_epoch_before_it_looks_at_what_is_pending(profile: str) -> None:
    world = as_of(profile, pending="Ongoing")
    assert world.add(version=0, producer_id=8) is E.INVALID_PRODUCER_ID_MAPPING
    assert world.add(version=0, epoch=4) is E.INVALID_PRODUCER_EPOCH
    assert world.add(version=0) is E.CONCURRENT_TRANSACTIONS
    assert world.end(True, 0, 4).error is E.INVALID_PRODUCER_EPOCH
    assert world.end(True, 0).error is E.CONCURRENT_TRANSACTIONS


@pytest.mark.parametrize("profile", ["0.11", "1.0"])
@pytest.mark.parametrize("state", ["Empty", "CompleteAbort"])
def test_an_old_coordinator_raises_the_epoch_at_every_call(profile: str, state: str) -> None:
    world = as_of(profile, state)
    assert [summarize(world.init(0)) for _ in range(2)] == [(NONE, PID, EPOCH + 1), (NONE, PID, EPOCH + 2)]
    assert summarize(world.init_expecting(55, 1, 0)) == (NONE, PID, EPOCH + 3)


@pytest.mark.parametrize("profile", ["0.11", "1.0"])
def test_an_old_coordinator_fences_an_open_transaction_too(profile: str) -> None:
    world = as_of(profile)
    assert summarize(world.init(0)) == WAIT
    assert [m.producer_epoch for m in world.answer_markers()] == [EPOCH + 1]
    assert summarize(world.init(0)) == (NONE, PID, EPOCH + 2)


@pytest.mark.parametrize(("profile", "after"), [("0.11", EPOCH), ("1.0", EPOCH + 1)])
def test_kafka_6119_before_1_0_a_timeout_leaves_the_epoch_as_it_is(profile: str, after: int) -> None:
    world = as_of(profile, timeout_ms=5_000)
    world.run_for(60_000)
    assert [m.producer_epoch for m in world.answer_markers()] == [after]
    assert (world.now_known.state, world.now_known.producer_epoch) == (TxnState.COMPLETE_ABORT, after)
    again = world.add(version=0)
    assert again is (NONE if after == EPOCH else E.INVALID_PRODUCER_EPOCH)


# one rule at a time


@pytest.mark.parametrize("epoch", [0, EPOCH - 2, EPOCH - 1, EPOCH, EPOCH + 1])
@pytest.mark.parametrize(("version", "committed"), [(4, True), (4, False), (5, True), (5, False)])
def test_without_the_coordinators_epoch_check_anybody_ends_the_transaction(
    version: int, committed: bool, epoch: int
) -> None:
    world = without(COORDINATOR_EPOCH_CHECK)
    assert world.end(committed, version, epoch).error is NONE
    assert world.list_written()[0].state is (TxnState.PREPARE_COMMIT if committed else TxnState.PREPARE_ABORT)
    for ask in ("add", "verify", "add_offsets"):
        assert getattr(without(COORDINATOR_EPOCH_CHECK), ask)(epoch=epoch) in (NONE, E.TRANSACTION_ABORTABLE)


@pytest.mark.parametrize("epoch", [0, EPOCH - 1, EPOCH, EPOCH + 1])
def test_without_the_epoch_check_a_second_end_is_answered_by_the_state_alone(epoch: int) -> None:
    for state, error in (("PrepareCommit", E.CONCURRENT_TRANSACTIONS), ("PrepareAbort", E.INVALID_TXN_STATE)):
        assert without(COORDINATOR_EPOCH_CHECK, state=state).end(True, 5, epoch).error is error
        assert without(COORDINATOR_EPOCH_CHECK, state=state).end(True, 4, epoch).error is error
    assert without(COORDINATOR_EPOCH_CHECK, state="CompleteCommit").end(True, 4, epoch).error is NONE


def test_without_exact_epochs_a_larger_ones_decision_is_logged_under_version_1_and_refused() -> None:
    world = without(EXACT_END_EPOCH)
    assert summarize(world.end(True, 4, EPOCH + 7)) == (E.PRODUCER_FENCED, -1, -1)
    assert [(t.state, t.producer_epoch) for t in world.list_written()] == [(TxnState.PREPARE_COMMIT, EPOCH)]
    assert (world.pending(ID), world.answer_markers()) == (None, [])
    assert without(EXACT_END_EPOCH, state="CompleteCommit").end(True, 4, EPOCH + 7).error is NONE
    assert without(EXACT_END_EPOCH, COORDINATOR_EPOCH_CHECK).end(True, 4, EPOCH + 7).error is NONE
    assert without(EXACT_END_EPOCH).end(True, 4, EPOCH - 1).error is E.PRODUCER_FENCED
    assert without(EXACT_END_EPOCH).end(True, 5, EPOCH + 7).error is E.PRODUCER_FENCED
    assert without(EXACT_END_EPOCH).add(epoch=EPOCH + 7) is E.PRODUCER_FENCED


def test_without_a_code_of_its_own_a_fence_is_told_as_an_invalid_epoch() -> None:
    world = without(FENCED_CODE, state="Empty")
    old = E.INVALID_PRODUCER_EPOCH
    assert [world.add(version=v, epoch=1) for v in (1, 2, 3, 5)] == [old] * 4
    assert [world.end(True, v, 1).error for v in (1, 2, 5)] == [old] * 3
    assert [world.add_offsets(v, 1) for v in (1, 4)] == [old] * 2
    assert [world.init_expecting(8, 1, v).error for v in (3, 4, 5)] == [old] * 3
    assert without(FENCED_CODE, state="CompleteCommit").end(True, 5, 1).error is old


@pytest.mark.parametrize("cluster", [0, 2])
def test_without_the_bump_a_new_instance_has_the_epoch_of_the_old_one(cluster: int) -> None:
    world = without(BUMP_ON_INIT, state="Empty", cluster=cluster)
    assert [summarize(world.init()) for _ in range(2)] == [(NONE, PID, EPOCH)] * 2
    assert summarize(world.init_expecting(PID, EPOCH)) == (NONE, PID, EPOCH)
    assert world.add(epoch=EPOCH) is NONE
    assert summarize(world.init()) == WAIT
    assert [m.producer_epoch for m in world.answer_markers()] == [EPOCH]
    assert summarize(world.init()) == (NONE, PID, EPOCH)
    assert summarize(CoordinatorWorld(cluster, (BUMP_ON_INIT.name,)).init()) == (NONE, 1000, 0)


@pytest.mark.parametrize("version", [4, 5])
def test_without_the_abort_a_new_instance_goes_on_in_the_open_transaction(version: int) -> None:
    world = without(ABORT_ON_INIT)
    assert summarize(world.init()) == (NONE, PID, EPOCH + 1)
    (joined,) = world.list_written()
    assert (joined.state, joined.partitions, joined.start_ms) == (TxnState.ONGOING, ("u-0",), 0)
    assert world.add() is E.PRODUCER_FENCED
    assert world.add(epoch=EPOCH + 1) is NONE
    assert world.end(True, version, EPOCH + 1).error is NONE
    assert world.now_known.partitions == ("u-0", "v-0")
    assert summarize(without(ABORT_ON_INIT, state="Empty").init()) == (NONE, PID, EPOCH + 1)


def test_without_the_abort_the_last_epoch_still_fences() -> None:
    world = without(ABORT_ON_INIT, producer_epoch=LAST)
    assert summarize(world.init()) == WAIT
    world.answer_markers()
    assert summarize(world.init()) == (NONE, 1000, 1)


def test_without_both_two_instances_share_the_transaction() -> None:
    world = without(ABORT_ON_INIT, BUMP_ON_INIT)
    assert summarize(world.init()) == (NONE, PID, EPOCH)
    assert world.add() is NONE


@pytest.mark.parametrize("expected", [(PID, EPOCH), (PID, 3), (55, 3)])
def test_without_expectations_every_call_raises_the_epoch(expected: tuple[int, int]) -> None:
    world = without(KEEP_EPOCH_EXPECTED, state="Empty")
    assert [summarize(world.init_expecting(*expected)) for _ in range(2)] == [(NONE, PID, EPOCH + n) for n in (1, 2)]


def test_without_an_epoch_for_each_transaction_version_5_ends_as_version_4() -> None:
    world = without(EPOCH_PER_TRANSACTION)
    assert summarize(world.end(True, 5)) == (NONE, -1, -1)
    assert [(m.producer_epoch, m.transaction_version) for m in world.answer_markers()] == [(EPOCH, 0)]
    assert summarize(world.end(True, 5)) == (NONE, -1, -1)
    assert world.end(False, 5).error is E.INVALID_TXN_STATE
    assert world.end(True, 5, EPOCH - 1).error is E.PRODUCER_FENCED
    assert world.add(version=5) is NONE
    assert world.list_written()[-1].client_transaction_version == 0


def test_without_an_epoch_for_each_transaction_a_fence_works_as_under_version_1() -> None:
    world = without(EPOCH_PER_TRANSACTION)
    world.fail(E.NOT_ENOUGH_REPLICAS)
    assert world.init().error is E.COORDINATOR_NOT_AVAILABLE
    assert (world.now_known.producer_epoch, list(world.owned.failed_fences)) == (EPOCH + 1, [ID])


def test_kafka_18464_without_pending_first_a_producer_fences_itself() -> None:
    fenced = without(PENDING_FIRST, pending="PrepareAbort")
    assert fenced.end(True, 5, EPOCH + 1).error is E.PRODUCER_FENCED
    assert fenced.end(True, 5, producer_id=8).error is E.INVALID_PRODUCER_ID_MAPPING
    assert fenced.end(True, 5).error is E.CONCURRENT_TRANSACTIONS
    assert fenced.add(epoch=EPOCH + 1) is E.PRODUCER_FENCED
    assert fenced.add() is E.CONCURRENT_TRANSACTIONS
    committing = without(PENDING_FIRST)
    assert summarize(committing.end(True, 5)) == (NONE, PID, EPOCH + 1)
    assert committing.end(False, 5, EPOCH + 1).error is E.PRODUCER_FENCED
    assert committing.end(True, 5).error is E.CONCURRENT_TRANSACTIONS
    rotating = without(PENDING_FIRST, state="PrepareCommit", pending="CompleteCommit", producer_epoch=32767)
    assert rotating.add(version=5, producer_id=1000, epoch=0) is E.INVALID_PRODUCER_ID_MAPPING


@pytest.mark.parametrize("cluster", [0, 2])
def test_without_the_abort_by_timeout_a_transaction_stays_open(cluster: int) -> None:
    world = without(TIMEOUT_ABORT, cluster=cluster, timeout_ms=1)
    world.run_for(100_000)
    assert world.list_written() == []


@pytest.mark.parametrize("cluster", [0, 2])
def test_without_the_bump_of_a_timeout_a_late_producer_goes_on(cluster: int) -> None:
    world = without(TIMEOUT_BUMPS, cluster=cluster, timeout_ms=5_000)
    world.run_for(10_000)
    assert [m.producer_epoch for m in world.answer_markers()] == [EPOCH]
    assert world.add() is NONE


@pytest.mark.parametrize(
    ("timeout_ms", "error"), [(900_001, NONE), (2**31 - 1, NONE), (0, E.INVALID_TRANSACTION_TIMEOUT)]
)
def test_without_a_maximum_any_timeout_is_good(timeout_ms: int, error: Error) -> None:
    world = CoordinatorWorld(off=(TIMEOUT_MAXIMUM.name,))
    assert world.init(transaction_timeout_ms=timeout_ms).error is error


def test_a_larger_epoch_ends_nothing_while_something_is_pending() -> None:
    world = without(EXACT_END_EPOCH)
    world.fail(HOLD)
    assert world.add() is None
    assert world.end(True, 4, EPOCH + 1).error is E.CONCURRENT_TRANSACTIONS
