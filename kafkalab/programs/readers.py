"""A reader that reads everything at given times: a program of lab 5."""

from __future__ import annotations

from typing import Any

from kafkalab.protocol.arguments import Milliseconds, Partition
from kafkalab.sim.app import App
from kafkalab.sim.scenario import program

BOOK = "ledger"


@program
async def looks(
    app: App, partitions: list[Partition], at_ms: list[Milliseconds], isolation_level: str = "read_committed"
) -> list[Any]:
    """At each of these times everything that can be read from the start: a list of [partition, value] for each."""
    found = []
    for moment in at_ms:
        await app.sleep(max(moment - app.now, 0))
        consumer = app.consumer(isolation_level=isolation_level, auto_offset_reset="earliest")
        consumer.assign(partitions)
        ends = await consumer.end_offsets(partitions)
        seen: list[list[str]] = []
        while any([await consumer.position(p) < ends[p] for p in partitions]):
            seen += [[r.partition, r.value] for r in await consumer.poll(200)]
        await consumer.close()
        found.append(seen)
    return found
