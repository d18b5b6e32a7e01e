"""A leader that leads no more: metadata is asked for before the next Fetch, whatever other leaders answer."""

from __future__ import annotations

import pytest

from kafkalab.faults.partition import ElectLeader
from kafkalab.sim.app import App
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.scenario import Program, Scenario


async def writing(app: App, busy: bool) -> None:
    """Send to out-0 after its election, and with `busy` all the time to out-1."""
    producer = app.producer()
    for number in range(40):
        if busy:
            await (await producer.send("out", f"other {number}", partition=1))
        if number == 20:
            await (await producer.send("out", "late", partition=0))
        await app.sleep(100)


async def reading(app: App, timeout_ms: int) -> list[str]:
    """Poll for six seconds; the values of out-0."""
    consumer = app.consumer(auto_offset_reset="earliest")
    consumer.assign(["out-0", "out-1"])
    found: list[str] = []
    while app.now < 6_000:
        found += [r.value for r in await consumer.poll(timeout_ms) if r.partition == "out-0"]
    return found


@pytest.mark.parametrize(("timeout_ms", "busy"), [(300, False), (500, False), (2_000, True), (2_000, False)])
def test_a_consumer_finds_the_new_leader_of_one_partition(timeout_ms: int, busy: bool) -> None:
    programs = (Program("w", writing, {"busy": busy}), Program("r", reading, {"timeout_ms": timeout_ms}))
    scenario = Scenario(topics={"out": 2}, programs=programs)
    leaders = Cluster(Scenario(topics={"out": 2})).controller.metadata.partitions
    other = next(r for r in leaders["out-0"].replicas if r not in (leaders["out-0"].leader, leaders["out-1"].leader))
    cluster = Cluster(scenario.with_faults(ElectLeader("out-0", other, at_ms=1_000)))
    cluster.run()
    assert cluster.results["r"] == ["late"]
    asked = [e for e in cluster.trace.of("send", "Metadata") if e.node == "r"]
    assert len(asked) == 2, "once at first, once after the election"
