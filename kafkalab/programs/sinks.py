"""Pipelines into a database: a stream job or a source connector writes payments, and a sink books them.

Programs of lab 11's review of configurations.
"""

from __future__ import annotations

from kafkalab.client.consumer.consumer import Consumer
from kafkalab.client.exceptions import KafkaError
from kafkalab.log.aborted_filter import ConsumerRecord
from kafkalab.programs.booking import INPUT, PAYMENTS
from kafkalab.programs.database import database
from kafkalab.protocol.arguments import Milliseconds, Name
from kafkalab.sim.app import App
from kafkalab.sim.scenario import program

CHECKPOINTS, ABORTED = 3, 1
"""The number of a job's checkpoints, and the one, from 0 on, that it rolls back."""
ROWS = 4
"""The rows of a connector's source; it sends them in two batches."""
POSITIONS, POSITION = "source-positions", "source-positions-0"
BEFORE, AFTER, WITH = "before the row", "after the row", "with the row"
POLL_MS = 5_000


@program
async def checkpointed_job(app: App, interval_ms: Milliseconds, timeout_ms: Milliseconds) -> list[str]:
    """Send a payment, wait for the checkpoint, commit; return the payments that a checkpoint covers.

    They are not sent again, also if the commit fails: the job's own state says that they are done. One checkpoint
    fails in the job itself, which then aborts; its payment counts nowhere.
    """
    producer = app.producer(transactional_id="job-0", linger_ms=0, transaction_timeout_ms=timeout_ms)
    await producer.init_transactions()
    done: list[str] = []
    for number in range(CHECKPOINTS):
        producer.begin_transaction()
        await producer.send(PAYMENTS, f"payment {number}", partition=0)
        await producer.flush()
        await app.sleep(interval_ms)
        if number == ABORTED:
            try:
                await producer.abort_transaction()
                continue
            except KafkaError:
                pass
        else:
            done.append(f"payment {number}")
            try:
                await producer.commit_transaction()
                continue
            except KafkaError:
                pass
        await producer.close(timeout_ms=0)
        producer = app.producer(transactional_id="job-0", linger_ms=0, transaction_timeout_ms=timeout_ms)
        await producer.init_transactions()
    return done


@program
async def source_connector(app: App, exactly_once: bool, start_after_ms: Milliseconds = 0) -> list[str]:
    """Copy the source's rows from the stored position on, two at a time; return the rows that there are.

    With `exactly_once` rows and position are in one transaction. Else the position is written a second later.
    """
    await app.sleep(start_after_ms)
    identity = {"transactional_id": "source-0"} if exactly_once else {}
    producer = app.producer(linger_ms=0, **identity)
    if exactly_once:
        await producer.init_transactions()
    at = await _read_position(app)
    rows = [f"payment {number}" for number in range(ROWS)]
    while at < ROWS:
        if exactly_once:
            producer.begin_transaction()
        for row in rows[at : at + 2]:
            await producer.send(PAYMENTS, row, partition=0)
        await producer.flush()
        app.chapter(f"sent {at + 2}")
        await app.sleep(1_000)
        await producer.send(POSITIONS, str(at + 2), partition=0)
        await (producer.commit_transaction() if exactly_once else producer.flush())
        at += 2
    return rows


async def _read_position(app: App) -> int:
    """Return the last position that is committed; 0 if there is none."""
    reader, at = app.consumer(isolation_level="read_committed"), 0
    reader.assign([POSITION])
    await reader.seek_to_beginning([POSITION])
    end = await reader.end_offset(POSITION)
    while await reader.position(POSITION) < end:
        for record in await reader.poll(500):
            at = int(str(record.value))
    await reader.close()
    return at


@program
async def row_sink(
    app: App,
    position: Name,
    once: bool,
    isolation_level: Name,
    until_ms: Milliseconds,
    start_after_ms: Milliseconds = 0,
) -> None:
    """Book each payment with `position` stored before, after or with the row; `once` uses the table with a unique key.

    A chapter begins between the two commits, and after both.
    """
    await app.sleep(start_after_ms)
    db = database(app)
    table = "INSERT OR IGNORE INTO booked_once VALUES (?)" if once else "INSERT INTO bookings VALUES (?)"
    consumer = app.consumer(
        group_id="sink", auto_offset_reset="earliest", enable_auto_commit=False, isolation_level=isolation_level,
        fetch_max_wait_ms=POLL_MS,
    )  # fmt: skip
    if position == WITH:
        consumer.assign([INPUT])
        found = await db.execute("SELECT next FROM positions WHERE partition = ?", [INPUT])
        consumer.seek(INPUT, found[0][0] if found else 0)
    else:
        consumer.subscribe([PAYMENTS])
    while app.now < until_ms:
        for record in await consumer.poll(POLL_MS):
            if position == BEFORE:
                await _store(consumer, record)
                app.chapter("between")
            await db.begin()
            await db.execute(table, [record.value])
            if position == WITH:
                behind = [INPUT, record.offset + 1]
                await db.execute("INSERT OR REPLACE INTO positions VALUES (?, ?)", behind)
            await db.commit()
            if position == AFTER:
                app.chapter("between")
                await _store(consumer, record)
            app.chapter("stored")
    await consumer.close()


async def _store(consumer: Consumer, record: ConsumerRecord) -> None:
    await consumer.commit_sync({INPUT: record.offset + 1})
