"""The shop that writes orders and the kitchen that reads them: programs of labs 0 and 1."""

from __future__ import annotations

from typing import Any

from kafkalab.protocol.arguments import Count, Milliseconds
from kafkalab.sim.app import App
from kafkalab.sim.scenario import program

TOPIC, PARTITION = "orders", "orders-0"
ORDERS = ("soup", "bread", "rice", "tea")


@program
async def shop(
    app: App, orders: list[str], settings: dict[str, Any] | None = None, together: Count = 1, gap_ms: Milliseconds = 2
) -> list[int]:
    """Send the first `together` orders in one batch; once it is acknowledged, the others in batches `gap_ms` apart.

    The result is the orders' offsets, as the producer was told them.
    """
    producer = app.producer(**{"linger_ms": 0, **(settings or {})})
    sent = [await producer.send(TOPIC, order, partition=0) for order in orders[:together]]
    await producer.flush()
    for order in orders[together:]:
        sent.append(await producer.send(TOPIC, order, partition=0))
        await app.sleep(gap_ms)
    await producer.flush()
    return [(await metadata).offset for metadata in sent]


@program
async def kitchen(app: App, wait_ms: Milliseconds = 100) -> list[str]:
    """Read once what is there after so long, as soon as it is known where to begin: the values."""
    consumer = app.consumer(auto_offset_reset="earliest")
    consumer.assign([PARTITION])
    await app.sleep(wait_ms)
    records = await consumer.poll()
    while not records and not consumer.has_all_fetch_positions():
        records = await consumer.poll()
    return [record.value for record in records]
