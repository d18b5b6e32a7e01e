"""A poll that only moves over markers or aborted records returns at once, and empty (KAFKA-12980, Kafka 3.2)."""

from __future__ import annotations

from kafkalab.sim.app import App
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.scenario import Program, Scenario

STEPS = [
    ["init_transactions"], ["begin_transaction"], ["send", "out", "first", None, 0], ["commit_transaction"],
    ["begin_transaction"], ["sleep", 500], ["send", "out", "second", None, 0], ["flush"], ["abort_transaction"],
]  # fmt: skip


async def polls(app: App) -> list[tuple[int, int, int]]:
    """The records of each poll, the position after it, and how long it took."""
    consumer = app.consumer(isolation_level="read_committed", auto_offset_reset="earliest")
    consumer.assign(["out-0"])
    await app.sleep(300)
    found = []
    for _ in range(3):
        began = app.now
        records = await consumer.poll(5_000)
        found.append((len(records), await consumer.position("out-0"), app.now - began))
    return found


def test_a_poll_that_only_moves_returns_at_once_and_the_next_one_waits() -> None:
    writer = Program("w", "operations", {"transactional_id": "w-0", "steps": STEPS})
    cluster = Cluster(Scenario(topics={"out": 1}, programs=(writer, Program("r", polls))))
    cluster.run()
    first, moved, waited = cluster.results["r"]
    assert first[:2] == (1, 2)
    assert moved[:2] == (0, 4)
    assert moved[2] < 1_000, "it has moved over the aborted record and its marker"
    assert waited[:2] == (0, 4)
    assert waited[2] >= 5_000, "nothing came, and nothing moved"
