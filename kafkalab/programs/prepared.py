"""A producer that prepares a transaction for a coordinator outside Kafka (KIP-939), and who waits for it: lab 11."""

from __future__ import annotations

from kafkalab.client.exceptions import KafkaTimeoutError
from kafkalab.programs.booking import BOOKER, OUTPUT
from kafkalab.protocol.arguments import Milliseconds, Name
from kafkalab.protocol.partitions import topic_of
from kafkalab.sim.app import App
from kafkalab.sim.scenario import program

RECEIPT, NEXT = "receipt ann 10", "receipt bob 20"
TRANSACTION_TIMEOUT_MS = 60_000


@program
async def preparer(
    app: App, two_phase: bool = True, decide_after_ms: Milliseconds = 2_000, commits: bool = True
) -> str:
    """Write a receipt in a transaction, prepare it if `two_phase`, and end it `decide_after_ms` later.

    With `two_phase` the broker never aborts it for time; without, after a minute. The result is how it ended.
    """
    config = (
        {"transaction_two_phase_commit_enable": True}
        if two_phase
        else {"transaction_timeout_ms": TRANSACTION_TIMEOUT_MS}
    )
    producer = app.producer(transactional_id=BOOKER, linger_ms=0, **config)
    await producer.init_transactions()
    producer.begin_transaction()
    await producer.send(topic_of(OUTPUT), RECEIPT, partition=0)
    await producer.flush()
    prepared = await producer.prepare_transaction() if two_phase else None
    app.chapter("prepared")
    await app.sleep(decide_after_ms)
    if prepared is not None:
        await producer.complete_transaction(prepared if commits else (-1, -1))
    else:
        await (producer.commit_transaction() if commits else producer.abort_transaction())
    await producer.close()
    return "committed" if commits else "aborted"


@program
async def next_receipt(app: App, at_ms: Milliseconds) -> None:
    """Send the next receipt, without a transaction."""
    await app.sleep(at_ms)
    await app.producer(linger_ms=0).send(topic_of(OUTPUT), NEXT, partition=0)


@program
async def waiting_reader(app: App, isolation_level: Name, until_ms: Milliseconds) -> list[object]:
    """Read receipts until the next one is there, or until `until_ms`; return when it came (-1: never) and all read."""
    consumer = app.consumer(isolation_level=isolation_level)
    consumer.assign([OUTPUT])
    consumer.seek(OUTPUT, 0)
    values: list[str] = []
    while app.now < until_ms:
        try:
            values += [str(record.value) for record in await consumer.poll(5_000)]
        except KafkaTimeoutError:  # a broker is down: it asks again
            continue
        if NEXT in values:
            return [app.now, *values]
    return [-1, *values]


@program
async def claimer(app: App, at_ms: Milliseconds, two_phase: bool = True) -> None:
    """Call init_transactions() with the same transactional id, as the booker's next process does."""
    await app.sleep(at_ms)
    config = {"transaction_two_phase_commit_enable": True} if two_phase else {}
    producer = app.producer(transactional_id=BOOKER, linger_ms=0, **config)
    await producer.init_transactions()
    await producer.close()
