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
