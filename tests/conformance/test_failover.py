"""What a coordinator's crash leaves behind, and what its successor answers (docs/protocol.md#after-a-crash, row by
row)."""

from __future__ import annotations

from typing import Any

import pytest

from kafkalab.protocol.errors import Error
from kafkalab.protocol.transaction_metadata import TxnState
from tests.conformance.coordinator_world import EPOCH, HOLD, ID, PARTITION, PID, CoordinatorWorld, make_txn

NONE, WAIT = Error.NONE, Error.CONCURRENT_TRANSACTIONS
VERSIONS = pytest.mark.parametrize(("version", "cluster"), [(4, 0), (4, 2), (5, 2)])


def summarize(response: Any) -> tuple[Any, ...]:
    return response.error, response.producer_id, response.producer_epoch


def lost_while(state: str, cluster: int, version: int, ask: str, *, replicated: bool) -> CoordinatorWorld:
    """A coordinator at epoch 1 was asked and is lost before it could answer; the successor leads at epoch 2."""
    world = CoordinatorWorld(cluster)
    world.holds(make_txn(state))
    world.fail(HOLD)
    question = {"add": lambda: world.add(), "init": lambda: world.init_expecting(PID, EPOCH)}
    question |= {"end": lambda: world.end(True, version)}
    assert question[ask]() is None
    if replicated:
        world.held.pop()(NONE)
    world.image({PARTITION: "b1"}, 2)
    world.run_for(5)
    return world


@VERSIONS
def test_a_partition_whose_record_was_not_replicated_is_not_in_the_transaction(version: int, cluster: int) -> None:
    world = lost_while("Empty", cluster, version, "add", replicated=False)
    assert world.now_known.state is TxnState.EMPTY
    assert world.add() is NONE


@VERSIONS
def test_a_decision_that_was_not_replicated_may_be_made_again(version: int, cluster: int) -> None:
    world = lost_while("Ongoing", cluster, version, "end", replicated=False)
    assert world.now_known.state is TxnState.ONGOING
    assert world.end(False, version).error is NONE
    assert {m.committed for m in world.answer_markers()} == {False}


@VERSIONS
def test_a_replicated_decision_is_carried_out_by_the_successor_and_answered_after_it(
    version: int, cluster: int
) -> None:
    world = lost_while("Ongoing", cluster, version, "end", replicated=True)
    assert world.pending(ID) is TxnState.COMPLETE_COMMIT
    assert world.end(True, version).error is WAIT
    assert world.end(False, version).error is WAIT
    epoch = EPOCH + 1 if version == 5 else EPOCH
    sent = [(m.producer_epoch, m.coordinator_epoch, m.committed, m.partitions) for m in world.answer_markers()]
    assert sent == [(epoch, 2, True, ("u-0",))]
    assert summarize(world.end(True, version)) == ((NONE, PID, epoch) if version == 5 else (NONE, -1, -1))
    assert world.end(False, version).error is Error.INVALID_TXN_STATE


@VERSIONS
def test_after_the_completion_nothing_is_left_to_do(version: int, cluster: int) -> None:
    world = lost_while("Ongoing", cluster, version, "end", replicated=True)
    world.answer_markers()
    world.image({PARTITION: "b1"}, 3)
    world.run_for(5)
    assert (world.now_known.state, world.pending(ID), world.answer_markers()) == (TxnState.COMPLETE_COMMIT, None, [])


def test_an_epoch_that_was_given_but_not_told_is_skipped_or_fences_who_expects_the_one_before() -> None:
    skipped = lost_while("Empty", 2, 5, "init", replicated=True)
    assert summarize(skipped.init()) == (NONE, PID, EPOCH + 2)
    fenced = lost_while("Empty", 2, 5, "init", replicated=True)
    assert fenced.init_expecting(PID, EPOCH).error is Error.PRODUCER_FENCED
    lost = lost_while("Empty", 2, 5, "init", replicated=False)
    assert summarize(lost.init_expecting(PID, EPOCH)) == (NONE, PID, EPOCH + 1)


def test_a_rotation_between_decision_and_completion_goes_on() -> None:
    world = CoordinatorWorld()
    world.holds(make_txn("Ongoing", producer_epoch=32766))
    assert summarize(world.end(True, 5, 32766)) == (NONE, 1000, 0)
    world.image({PARTITION: "b1"}, 2)
    world.run_for(5)
    assert world.end(True, 5, 32766).error is WAIT
    world.answer_markers()
    assert summarize(world.end(True, 5, 32766)) == (NONE, 1000, 0)
    assert summarize(world.init()) == (NONE, 1000, 1)


def test_an_open_transaction_is_as_old_as_its_record_and_may_time_out_at_once() -> None:
    world = CoordinatorWorld()
    world.run_for(9_000)
    world.load(make_txn("Ongoing", start_ms=0, timeout_ms=5_000), epoch=2)
    world.run_for(1_000)
    assert world.now_known.state is TxnState.PREPARE_ABORT
