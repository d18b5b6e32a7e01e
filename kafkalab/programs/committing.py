"""Producers that commit after so many records or so many milliseconds, and a reader that times what it sees: lab 13.

The value of a record of `pipeline` is the millisecond in which its data was there; `stopwatch` reads it.
"""

from __future__ import annotations

from typing import Any

from kafkalab.protocol.arguments import Count, Milliseconds, Name, Partition
from kafkalab.sim.app import App
from kafkalab.sim.scenario import program


@program
async def worker(
    app: App,
    transactional_id: Name,
    topic: Name,
    records: Count,
    size: Count,
    partitions: Count = 1,
    work_ms: Milliseconds = 0,
) -> dict[str, int]:
    """Make `size` records, each in `work_ms`, then write them in one transaction; so on until there are `records`.

    Return the times in milliseconds: "all" of them took, and from the beginning of a record's work to its commit the
    "longest" took. A record goes to the partition after that of the one before it.
    """
    producer = app.producer(transactional_id=transactional_id, linger_ms=5)
    await producer.init_transactions()
    began_ms, longest = app.now, 0
    for first in range(0, records, size):
        there_ms = app.now
        count = min(size, records - first)
        await app.sleep(work_ms * count)
        producer.begin_transaction()
        for number in range(first, first + count):
            await producer.send(topic, f"bill-{number}", partition=number % partitions)
        await producer.commit_transaction()
        longest = max(longest, app.now - there_ms)
    return {"all": app.now - began_ms, "longest": longest}


@program
async def pipeline(
    app: App,
    transactional_id: Name,
    topic: Name,
    until_ms: Milliseconds,
    every_ms: Milliseconds,
    commit_interval_ms: Milliseconds,
    partitions: Count = 1,
) -> int:
    """Send what comes in each `every_ms`, and commit each `commit_interval_ms`, as a stream does; how many records."""
    producer = app.producer(transactional_id=transactional_id, linger_ms=5)
    await producer.init_transactions()
    begun_ms, sent = app.now, 0
    next_ms, commit_ms = begun_ms + every_ms, begun_ms + commit_interval_ms
    is_open = False
    while next_ms <= begun_ms + until_ms or is_open:
        comes_ms = next_ms if next_ms <= begun_ms + until_ms else commit_ms
        await app.sleep(max(min(comes_ms, commit_ms) - app.now, 0))
        if comes_ms <= commit_ms and comes_ms == next_ms:
            if not is_open:
                producer.begin_transaction()
                is_open = True
            await producer.send(topic, str(next_ms), partition=sent % partitions)
            next_ms, sent = next_ms + every_ms, sent + 1
            continue
        if is_open:
            await producer.commit_transaction()
            is_open = False
        commit_ms += commit_interval_ms
    return sent


@program
async def stopwatch(
    app: App, partitions: list[Partition], records: Count, isolation_level: str = "read_committed"
) -> list[int]:
    """Read until `records` have come; for each the milliseconds from when its data was there until it was here."""
    consumer = app.consumer(isolation_level=isolation_level, auto_offset_reset="earliest")
    consumer.assign(partitions)
    found: list[int] = []
    while len(found) < records:
        found += [app.now - int(record.value) for record in await consumer.poll(1_000)]
    return found


def times(waits: list[int]) -> dict[str, Any]:
    """Return the shortest wait, the mean of all, and the longest."""
    return {"shortest": min(waits), "mean": round(sum(waits) / len(waits)), "longest": max(waits)}
