"""Followers that come back are in sync again, also for partitions in which nothing was ever written."""

from __future__ import annotations

from kafkalab.programs.steps import add, commit, init, produce, sleep
from kafkalab.protocol.partitions import transaction_partition
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.faults import Crash, Restart
from kafkalab.sim.scenario import Program, Scenario


def test_a_coordinator_whose_log_is_empty_takes_its_followers_back_when_it_needs_them() -> None:
    steps = [sleep(40_000), init("late"), add("late", "out-0"), produce("late", "out-0", 0, "x"), commit("late")]
    scenario = Scenario(topics={"out": 1}, programs=(Program("hand", "raw_requests", {"steps": steps}),))
    partition = transaction_partition("late")
    leader = Cluster(Scenario(topics={"out": 1})).controller.metadata.leader(partition)
    others = [b for b in ("b1", "b2", "b3") if b != leader]
    faults = [f for b in others for f in (Crash(b, at_ms=100), Restart(b, at_ms=20_000))]
    cluster = Cluster(scenario.with_faults(*faults))
    cluster.run()
    assert [answer for _, answer in cluster.results["hand"]] == ["NONE"] * 4
    assert set(cluster.controller.metadata.partitions[partition].isr) == {"b1", "b2", "b3"}
    assert cluster.outcome().committed == {"out-0": ("x",)}


def test_after_a_rolling_restart_any_replica_of_an_empty_partition_may_lead() -> None:
    """Kafka lets a follower back in with its first fetch, so that each broker that comes back is in sync everywhere."""
    faults = [
        f
        for n, b in enumerate(("b1", "b2", "b3"))
        for f in (Crash(b, at_ms=1_000 + 30_000 * n), Restart(b, at_ms=15_000 + 30_000 * n))
    ]
    scenario = Scenario(topics={"out": 3}, programs=(Program("hand", "raw_requests", {"steps": [sleep(100_000)]}),))
    cluster = Cluster(scenario.with_faults(*faults))
    cluster.run()
    partitions = cluster.controller.metadata.partitions
    assert {p: i.isr for p, i in partitions.items() if i.isr != i.replicas} == {}
    assert all(i.leader for i in partitions.values())


def test_a_write_right_after_a_follower_of_an_empty_log_is_back_is_not_refused() -> None:
    """Two replicas left, one comes back, the other dies: the coordinator has a second copy, and appends at once."""
    partition = transaction_partition("late")
    replicas = Cluster(Scenario(topics={"out": 1})).controller.metadata.partitions[partition].replicas
    leader, first, second = replicas
    ask = {"ask": "InitProducerId", "to": "coordinator of late", "with": {"transactional_id": "late"}, "version": 5}
    steps = [sleep(60_000), ask]
    scenario = Scenario(topics={"out": 1}, programs=(Program("hand", "raw_requests", {"steps": steps}),))
    faults = (Crash(first, at_ms=1_000), Restart(first, at_ms=15_000), Crash(second, at_ms=30_000))
    cluster = Cluster(scenario.with_faults(*faults))
    cluster.run()
    assert cluster.results["hand"] == [["InitProducerId", "NONE"]]
    assert cluster.controller.metadata.partitions[partition].isr == (leader, first)
