"""A cluster at level 0 of `transaction.version`: requests of version 2 cannot be written down there.

The records of `__transaction_state` have no field for the client's version then (`TransactionLog.valueToBytes`).
"""

from __future__ import annotations

from typing import Any

import pytest

from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.add_partitions_to_txn import AddPartitionsToTxn
from kafkalab.protocol.messages.produce import Produce
from kafkalab.protocol.messages.txn_offset_commit import TxnOffsetCommit
from kafkalab.protocol.partitions import offsets_partition
from kafkalab.protocol.records import Batch, Record
from kafkalab.protocol.transaction_metadata import TxnState
from tests.conformance.coordinator_world import EPOCH, ID, PID, CoordinatorWorld, make_txn

E = Error
REFUSED = E.UNSUPPORTED_VERSION


def holding(state: str, cluster: int = 0) -> CoordinatorWorld:
    world = CoordinatorWorld(cluster)
    world.holds(make_txn(state))
    return world


def deliver(world: CoordinatorWorld) -> None:
    """Deliver and answer at once what b1 asks of itself, in `sent`."""
    for sent in world.take(AddPartitionsToTxn):
        assert sent.to == "b1"
        sent.answer(world.ask(sent.body, 5).response)


def produce(world: CoordinatorWorld, version: int) -> Any:
    batch = Batch(
        records=(Record("", "x"),), producer_id=PID, producer_epoch=EPOCH, base_sequence=0, transactional=True
    )
    asked = world.ask(Produce(transactional_id=ID, acks=-1, timeout_ms=100, batches={"t-0": batch}), version)
    deliver(world)
    return asked.response.partitions["t-0"].error


def commit_offsets(world: CoordinatorWorld, version: int) -> Any:
    request = TxnOffsetCommit(
        transactional_id=ID, group_id="g", producer_id=PID, producer_epoch=EPOCH, offsets={"t-0": 3}
    )
    asked = world.ask(request, version)
    deliver(world)
    return asked.response.errors["t-0"]


@pytest.mark.parametrize(
    ("state", "committed", "pending"),
    [
        ("Ongoing", True, "PrepareCommit"),
        ("Ongoing", False, "PrepareAbort"),
        ("Empty", False, "PrepareAbort"),
        ("CompleteCommit", False, "PrepareAbort"),
    ],
)
def test_an_end_of_version_5_is_refused_and_leaves_its_decision_pending(
    state: str, committed: bool, pending: str
) -> None:
    world = holding(state)
    response = world.end(committed, 5)
    assert (response.error, response.producer_id, response.producer_epoch) == (REFUSED, -1, -1)
    assert (world.list_written(), world.pending(ID), world.now_known.state.label) == ([], TxnState.of(pending), state)
    answers = [world.end(committed, 4).error, world.end(committed, 5).error, world.add(version=3), world.init(5).error]
    assert answers == [E.CONCURRENT_TRANSACTIONS] * 4
    world.load(make_txn(state), epoch=2)
    assert world.pending(ID) is None
    assert world.init(5).error in (E.NONE, E.CONCURRENT_TRANSACTIONS)


def test_a_request_that_adds_partitions_for_brokers_is_refused_as_a_whole() -> None:
    world = holding("Ongoing")
    one, two = (
        AddPartitionsToTxn(transactional_id=t, producer_id=PID, producer_epoch=EPOCH, partitions=("v-0",))
        for t in ("nobody", ID)
    )
    response = world.ask(AddPartitionsToTxn(**{**_fields(one), "further": (two,)}), 5).response
    assert (response.error, response.errors, response.further) == (REFUSED, {}, ())
    assert world.pending(ID) is TxnState.ONGOING


def _fields(request: AddPartitionsToTxn) -> dict[str, Any]:
    return {n: getattr(request, n) for n in ("transactional_id", "producer_id", "producer_epoch", "partitions")}


@pytest.mark.parametrize(("cluster", "first"), [(0, REFUSED), (1, E.NONE), (2, E.NONE)])
def test_produce_version_12_is_refused_once_and_then_waits_for_what_is_pending(cluster: int, first: Error) -> None:
    world = holding("Empty", cluster)
    assert produce(world, 12) is first
    pending = TxnState.ONGOING if cluster == 0 else None
    assert (world.pending(ID), world.state.log("t-0").log_end_offset) == (pending, 0 if cluster == 0 else 1)


@pytest.mark.parametrize(("cluster", "first"), [(0, REFUSED), (1, E.NONE), (2, E.NONE)])
def test_txn_offset_commit_version_5_is_refused_too(cluster: int, first: Error) -> None:
    world = holding("Empty", cluster)
    world.image({offsets_partition("g"): "b1"}, 1)
    world.run_for(10)
    assert commit_offsets(world, 5) is first
    assert commit_offsets(world, 5) is (E.CONCURRENT_TRANSACTIONS if cluster == 0 else E.NONE)


def test_clients_of_versions_0_and_1_notice_nothing() -> None:
    world = holding("Empty")
    assert [world.init(5).error, world.add("t-0", version=3, epoch=EPOCH + 1)] == [E.NONE] * 2
    assert world.end(True, 4, EPOCH + 1).error is E.NONE
    assert world.now_known.state is TxnState.PREPARE_COMMIT
