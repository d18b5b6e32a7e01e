"""Followers that come back are in sync again, also for partitions in which nothing was ever written."""

from __future__ import annotations

import pytest

from kafkalab.client.results import GroupMetadata
from kafkalab.faults.node import Crash, Restart
from kafkalab.programs.steps import add, commit, init, produce, sleep
from kafkalab.protocol.partitions import offsets_partition, transaction_partition
from kafkalab.sim.app import App
from kafkalab.sim.cluster import Cluster, ran
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


async def commits_offsets(app: App) -> str:
    """Commit a record and an offset in one transaction."""
    producer = app.producer(transactional_id="t")
    await producer.init_transactions()
    producer.begin_transaction()
    await producer.send("out", "x")
    await producer.send_offsets_to_transaction({"in-0": 1}, GroupMetadata("g"))
    await producer.commit_transaction()
    return "done"


@pytest.mark.parametrize("profile", ["4.x/TV1", "4.x/TV2"])
def test_a_run_ends_though_its_markers_can_never_be_replicated(profile: str) -> None:
    """With min.insync.replicas=3 and a broker gone the leader refuses one marker for ever. The group coordinator
    appends the other below min.insync.replicas, waits offsets.commit.timeout.ms, and is asked again: each time its log
    has one marker more (`KafkaApis.handleWriteTxnMarkersRequest`). The program has its answer long since."""
    whole = Scenario(
        profile=profile, topics={"in": 1, "out": 1}, config={"min_insync_replicas": 3},
        programs=(Program("p", commits_offsets),),
    )  # fmt: skip
    asked = next(e for e in ran(whole).trace.of("send") if e.name == "EndTxn")
    cluster = ran(whole.with_faults(Crash("b3", at_step=asked.step)))
    assert cluster.results == {"p": "done"}
    answers = [e.data for e in cluster.trace.of("receive") if e.name == "WriteTxnMarkersResponse"]
    assert {answer.error for answer in answers} == {"NOT_ENOUGH_REPLICAS"}
    assert sum(batch.control is not None for batch in cluster.log_of(offsets_partition("g")).batches) > 10
