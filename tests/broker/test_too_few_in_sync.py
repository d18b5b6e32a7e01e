"""A decision that one replica alone has is no decision (KAFKA-15583)."""

from __future__ import annotations

from kafkalab.faults.node import Crash, Pause, Restart, Resume
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.broker_registration import BrokerRegistration
from kafkalab.protocol.messages.end_txn import EndTxn
from kafkalab.protocol.messages.update_metadata import UpdateMetadata, UpdateMetadataResponse
from kafkalab.protocol.partitions import transaction_partition
from kafkalab.protocol.rules import EFFECTIVE_MIN_ISR
from kafkalab.protocol.transaction_metadata import TxnState
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.scenario import Program, Scenario
from tests.broker.replica_world import BROKERS, ReplicaWorld, Sent, info
from tests.conformance.group_driver import Groups


def decided_alone(*rules_off: str) -> tuple[Groups, str, str]:
    """Both followers of the transaction log stand still while the coordinator prepares a commit, and leave the set."""
    groups = Groups(*rules_off)
    producer_id, epoch = groups.begin("t")
    assert groups.txn_error() is groups.error()
    partition, name = transaction_partition("t"), groups.coordinator("t")
    for other in ("b1", "b2", "b3"):
        if other != name:
            groups.cluster.plan(Pause(other, at_ms=groups.cluster.now))
    groups.sleep(10)
    body = EndTxn(transactional_id="t", producer_id=producer_id, producer_epoch=epoch, committed=True)
    groups.ask(body, to=name)
    groups.sleep(20_000)
    assert groups.cluster.controller.metadata.partitions[partition].isr == (name,)
    return groups, partition, name


def test_a_commit_that_only_the_coordinator_has_waits_until_another_replica_is_in_sync() -> None:
    groups, partition, name = decided_alone()
    owned = groups.cluster.brokers[name].state.transactions[partition]
    assert (owned.txns["t"].state, owned.pending["t"]) == (TxnState.ONGOING, TxnState.PREPARE_COMMIT)
    for other in ("b1", "b2", "b3"):
        if other != name:
            groups.cluster.plan(Resume(other, at_ms=groups.cluster.now))
    groups.sleep(30_000)
    assert owned.txns["t"].state is TxnState.COMPLETE_COMMIT


def test_before_3_7_one_replica_decided_alone() -> None:
    groups, partition, name = decided_alone(EFFECTIVE_MIN_ISR.name)
    assert groups.cluster.brokers[name].state.transactions[partition].txns["t"].state is not TxnState.ONGOING


def test_a_replica_of_an_empty_log_is_let_back_in_when_too_few_are_in_sync() -> None:
    """A follower reports an empty partition in its first fetch (`Partition.maybeExpandIsr`); found by chance."""
    scenario = Scenario(
        brokers=2,
        topics={"out": 1},
        config={"min_insync_replicas": 2},
        fresh=True,
        programs=(Program("app", "transactions", {"transactional_id": "t", "count": 2}),),
        faults=(Crash("b2", at_ms=5), Restart("b2", at_ms=327)),
    )
    cluster = Cluster(scenario)
    cluster.run(20_000)
    assert cluster.results == {"app": 2}
    assert cluster.controller.metadata.partitions["out-0"].isr == ("b1", "b2")


def _back(late: bool) -> ReplicaWorld:
    """b3 comes back; b1, which leads the empty t-0, tells the controller, before or after b3 has come back again."""
    w = ReplicaWorld(real=("b1",), controller=True)
    assert w.controller is not None
    w.controller.metadata = w.image.with_partitions({"t-0": info("b1")}, BROKERS)
    w.brokers["b1"].state.metadata = w.controller.metadata
    w.controller.fence_broker("b3", 1)
    w.answer(w.take(UpdateMetadata, to="b2"), UpdateMetadataResponse())
    w.deliver(told := w.take(UpdateMetadata, to="b1"))
    w.answer(told)
    assert w.controller.metadata.partitions["t-0"].isr == ("b1", "b2")
    registration = BrokerRegistration(broker="b3")
    w.deliver(Sent("b3", "controller", registration, lambda response, cause: None, False, 1))
    w.deliver(told := w.take(UpdateMetadata, to="b1"))
    if late:
        w.write("b1", "x", acks=1)
        w.controller.awaited["b3"] = True
        w.deliver(Sent("b3", "controller", registration, lambda response, cause: None, False, 1))
    w.answer(told)
    return w


def test_the_leader_of_an_empty_log_takes_a_live_replica_back_and_waits_for_it() -> None:
    w = _back(late=False)
    assert w.controller is not None
    assert w.controller.metadata.partitions["t-0"].isr == BROKERS
    assert w.brokers["b1"].state.metadata.partitions["t-0"].isr == BROKERS
    w.fetch("b2", 0, -1, session=0)
    ends = w.write("b1", "x")
    w.fetch("b2", 1, 0, session=1)
    assert ends == [], "b3 is in sync: without it nothing is committed"
    w.fetch("b3", 1, 0, session=0)
    assert ends == [Error.NONE]


def test_a_late_answer_of_the_leader_takes_no_replica_back_that_has_been_away_since() -> None:
    w = _back(late=True)
    assert w.controller is not None
    assert w.controller.metadata.partitions["t-0"].isr == ("b1", "b2")
