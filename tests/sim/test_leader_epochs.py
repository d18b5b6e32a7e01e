"""Truncation by leader epoch (KIP-101, KIP-279), and what happened before, when followers went by high watermarks."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kafkalab.faults.fault import Fault
from kafkalab.faults.link import Cut, Heal
from kafkalab.faults.node import Crash, Restart
from kafkalab.faults.partition import ElectLeader
from kafkalab.log.partition_log import PartitionLog
from kafkalab.protocol.records import Batch, Record
from kafkalab.protocol.rules import LEADER_EPOCH
from kafkalab.sim.app import App
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.scenario import Program, Scenario


async def two_and_one_more(app: App, more: bool) -> list[int]:
    """Two values at once, and one more after twenty seconds; the offsets that were acknowledged."""
    producer = app.producer(linger_ms=0, enable_idempotence=False)
    offsets = []
    for value in ("a", "b"):
        offsets.append((await (await producer.send("out", value, partition=0))).offset)
    await app.sleep(20_000)
    if more:
        offsets.append((await (await producer.send("out", "c", partition=0))).offset)
    return offsets


def bounce(more: bool, off: tuple[str, ...]) -> tuple[Cluster, str, str]:
    """Two replicas. The follower has both values, but knows of one only that it is replicated. It leads for a moment,
    follows again, and then its leader crashes; it comes back after half a minute.
    """
    program = Program("app", two_and_one_more, {"more": more})
    scenario = Scenario(topics={"out": 1}, brokers=2, programs=(program,), rules_off=off)
    old = Cluster(replace(scenario, programs=())).controller.metadata.leader("out-0")
    other = "b1" if old == "b2" else "b2"
    faults: list[Fault]
    faults = [Cut(old, other, at_ms=100), ElectLeader("out-0", other, at_ms=200), ElectLeader("out-0", old, at_ms=300)]
    faults += [Crash(old, at_ms=400), Restart(old, at_ms=35_000), Heal(old, other, at_ms=35_000)]
    cluster = Cluster(scenario.with_faults(*faults))
    cluster.run()
    cluster.run_for(60_000)
    assert cluster.unused_faults == ()
    return cluster, old, other


def values(cluster: Cluster, broker: str) -> list[str]:
    return [r.value for b in cluster.brokers[broker].state.logs["out-0"].batches for r in b.records]


def test_with_leader_epochs_what_was_acknowledged_survives_the_bounce() -> None:
    cluster, old, other = bounce(True, ())
    assert cluster.results["app"] == [0, 1, 2]
    assert values(cluster, old) == values(cluster, other) == ["a", "b", "c"]


def test_before_kip_101_an_acknowledged_record_was_lost() -> None:
    cluster, old, other = bounce(False, (LEADER_EPOCH.name,))
    assert cluster.results["app"] == [0, 1]
    assert values(cluster, old) == values(cluster, other) == ["a"]
    cuts = [(e.node, e.data["offset"]) for e in cluster.trace.of("truncate", "out-0")]
    assert cuts == [(other, 1), (old, 1)]


def test_before_kip_101_replicas_could_differ_for_ever() -> None:
    cluster, old, other = bounce(True, (LEADER_EPOCH.name,))
    assert cluster.results["app"] == [0, 1, 1]
    assert (values(cluster, other), values(cluster, old)) == (["a", "c"], ["a", "b"])


@pytest.mark.parametrize(
    ("epochs", "asked", "found"),
    [
        ([0, 0, 0], 0, (0, 3)),
        ([0, 0, 2], 0, (0, 2)),
        ([0, 0, 2], 1, (0, 2)),
        ([0, 0, 2], 2, (2, 3)),
        ([0, 0, 2], 3, (2, 3)),
        ([1, 2, 2], 0, (0, 0)),
        ([], 4, (4, 0)),
    ],
)
def test_the_newest_epoch_up_to_the_asked_one_and_its_end(
    epochs: list[int], asked: int, found: tuple[int, int]
) -> None:
    log = PartitionLog("p-0")
    for epoch in epochs:
        log.append(Batch(records=(Record("k", "v"),)), epoch)
    assert log.epoch_and_end(asked) == found
