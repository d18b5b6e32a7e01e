"""A bookkeeper who measures how far behind a group is, as Kafka's own tools do: a program of lab 4."""

from __future__ import annotations

from kafkalab.protocol.arguments import Milliseconds, Partition
from kafkalab.sim.app import App
from kafkalab.sim.scenario import program

GROUP = "books"


@program
async def lags(app: App, partition: Partition, committed: int, at_ms: Milliseconds) -> dict[str, int]:
    """Let the group have committed `committed`; measure, read all that read_committed may read, commit, measure again.

    "records-lag" is the consumer's metric (last stable offset minus position), "LAG" the column of
    kafka-consumer-groups.sh (high watermark minus committed offset), whatever the isolation level.
    """
    await app.sleep(at_ms)
    consumer = app.consumer(group_id=GROUP, isolation_level="read_committed", enable_auto_commit=False)
    consumer.assign([partition])
    await consumer.commit_sync({partition: committed})
    end = await consumer.end_offset(partition)
    found = {"records-lag": end - await consumer.position(partition), "LAG": await column(app, partition)}
    found["records"] = 0
    while await consumer.position(partition) < end:
        found["records"] += len(await consumer.poll(200))
    found["position"] = await consumer.position(partition)
    await consumer.commit_sync()
    return {**found, "LAG later": await column(app, partition)}


async def column(app: App, partition: str) -> int:
    """Return what kafka-consumer-groups.sh shows as LAG: it asks for the end with read_uncommitted."""
    tool = app.consumer(group_id=GROUP, isolation_level="read_uncommitted")
    stored = (await tool.committed([partition]))[partition]
    return await tool.end_offset(partition) - stored
