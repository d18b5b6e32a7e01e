"""A program that copies orders in a transaction, with settings from a file: the first evening with a new cluster."""

from __future__ import annotations

from typing import Any

from kafkalab.client.exceptions import ConfigError, KafkaError
from kafkalab.protocol.arguments import Milliseconds
from kafkalab.sim.app import App
from kafkalab.sim.scenario import program

READS, WRITES = "orders", "parcels"
POLLS = 3
NO_PRODUCER, NO_START, READS_NOTHING = "constructor", "initTransactions", "reads nothing"


@program
async def first_evening(
    app: App,
    producer_settings: dict[str, Any] | None = None,
    consumer_settings: dict[str, Any] | None = None,
    wait_ms: Milliseconds = 0,
) -> list[str] | str:
    """Read what is in orders-0 and write it to parcels-0 in one transaction; return the values, or what failed.

    What failed is the first that does: the producer's constructor, `init_transactions()`, or three polls that bring
    nothing.
    """
    await app.sleep(wait_ms)
    try:
        producer = app.producer(**(producer_settings or {}))
    except (ConfigError, KafkaError):
        return NO_PRODUCER
    try:
        await producer.init_transactions()
    except KafkaError:
        return NO_START
    consumer = app.consumer(group_id="packers", enable_auto_commit=False, **(consumer_settings or {}))
    consumer.assign([f"{READS}-0"])
    for _ in range(POLLS):
        if records := await consumer.poll():
            break
    else:
        return READS_NOTHING
    producer.begin_transaction()
    for record in records:
        await producer.send(WRITES, record.value, partition=0)
    offsets = {record.partition: record.offset + 1 for record in records}
    await producer.send_offsets_to_transaction(offsets, consumer.group_metadata())
    await producer.commit_transaction()
    return [str(record.value) for record in records]
