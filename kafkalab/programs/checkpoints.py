"""Pipelines that keep their position in a database beside Kafka: a stream job with checkpoints, and a connector's task.

Programs of lab 17. The database is a real SQLite (`kafkalab.programs.database`); no commit covers it and Kafka.
"""

from __future__ import annotations

from kafkalab.client.exceptions import KafkaError
from kafkalab.client.producer.producer import Producer
from kafkalab.log.aborted_filter import ConsumerRecord
from kafkalab.programs.booking import INPUT, RECEIPTS
from kafkalab.programs.database import Database, database
from kafkalab.protocol.arguments import Milliseconds, Name, Partition
from kafkalab.protocol.source_header import made_from
from kafkalab.sim.app import App
from kafkalab.sim.scenario import program

POLL_MS, CHECKPOINT_MS, NOTICE_MS = 5_000, 1_000, 200
"""The longest poll, the time to the checkpoint after a record was sent, and from the checkpoint to its commit."""
TIMEOUT_MS = 60_000
"""`transaction.timeout.ms`."""


@program
async def job_with_checkpoints(
    app: App, payments: int, flushes: bool = True, job: Name = "job", start_after_ms: Milliseconds = 0
) -> str:
    """Make a receipt of each of so many payments, in a transaction and a checkpoint of its own.

    The checkpoint is a row with the position. Once it is there the job commits the transaction, unless its producer
    said just before the checkpoint that no transaction had begun. With `flushes` the job waits for the broker before it
    looks. A chapter begins when a receipt is sent, when its checkpoint is stored, and when it is committed.
    """
    await app.sleep(start_after_ms)
    db = database(app)
    for record in await _read(app, db, payments):
        producer = await _open_producer(app, f"{job}-{record.offset}")
        await _send(producer, record)
        if flushes:
            await producer.flush()
        app.chapter(f"sent {record.offset}")
        await app.sleep(CHECKPOINT_MS)
        begun = producer.transaction_manager.started
        await _store(db, record)
        app.chapter(f"checkpoint {record.offset}")
        await app.sleep(NOTICE_MS)
        if begun:
            await producer.commit_transaction()
            app.chapter(f"committed {record.offset}")
    return "done"


@program
async def connector_task(
    app: App, payments: int, transactional_id: Name, start_after_ms: Milliseconds = 0, source: Partition = INPUT
) -> str:
    """Do the same with one producer for all of a partition; return the name of the error that ends it, if one does."""
    await app.sleep(start_after_ms)
    db = database(app)
    producer = await _open_producer(app, transactional_id)
    for record in await _read(app, db, payments, source):
        try:
            await _send(producer, record)
            await producer.flush()
            app.chapter(f"sent {record.offset}")
            await app.sleep(CHECKPOINT_MS)
            await _store(db, record)
            app.chapter(f"checkpoint {record.offset}")
            await app.sleep(NOTICE_MS)
            await producer.commit_transaction()
        except KafkaError as error:
            return type(error).__name__
    return "done"


async def _open_producer(app: App, transactional_id: str) -> Producer:
    producer = app.producer(transactional_id=transactional_id, linger_ms=0, transaction_timeout_ms=TIMEOUT_MS)
    await producer.init_transactions()
    return producer


async def _read(app: App, db: Database, payments: int, source: str = INPUT) -> list[ConsumerRecord]:
    """Return the payments from the stored position on."""
    found = await db.execute("SELECT next FROM positions WHERE partition = ?", [source])
    position = found[0][0] if found else 0
    consumer = app.consumer(fetch_max_wait_ms=POLL_MS)
    consumer.assign([source])
    consumer.seek(source, position)
    read: list[ConsumerRecord] = []
    while position + len(read) < payments:
        read += await consumer.poll(POLL_MS)
    await consumer.close()
    return read


async def _send(producer: Producer, record: ConsumerRecord) -> None:
    producer.begin_transaction()
    await producer.send(RECEIPTS, f"receipt {record.value}", partition=0, headers=made_from(record))


async def _store(db: Database, record: ConsumerRecord) -> None:
    await db.execute("INSERT OR REPLACE INTO positions VALUES (?, ?)", [record.partition, record.offset + 1])
