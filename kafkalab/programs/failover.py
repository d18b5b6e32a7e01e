"""Transfers that outlive a broker, a partition with one replica, and a producer that goes on: programs of lab 8."""

from __future__ import annotations

from contextlib import suppress

from kafkalab.client.exceptions import KafkaError
from kafkalab.protocol.arguments import Index, Milliseconds, Name
from kafkalab.protocol.messages.create_topics import NewTopic
from kafkalab.sim.app import App
from kafkalab.sim.scenario import program

ACCOUNTS, AUDIT = "accounts", "audit"
PAYMENTS = "payments-0"
LATE_MS, HOUR_MS = 20_000, 3_600_000
"""A batch that is this late arrives long after its transaction was aborted."""


@program
async def transfer(
    app: App,
    transactional_id: Name = PAYMENTS,
    commit_ms: Milliseconds = 200,
    again_ms: Milliseconds = 0,
) -> str:
    """Take 10 from one account and give it to the other, commit at `commit_ms`; then prepare the next transfer.

    The next one takes 25 at `again_ms`, gives it 10 s later, and is aborted; with 0 there is none.
    """
    producer = app.producer(transactional_id=transactional_id, linger_ms=0)
    await producer.init_transactions()
    producer.begin_transaction()
    for partition, value in enumerate(("-10", "+10")):
        await producer.send(ACCOUNTS, value, partition=partition)
    await producer.flush()
    await app.sleep(commit_ms - app.now)
    await producer.commit_transaction()
    if not again_ms:
        return "committed"
    await app.sleep(again_ms - app.now)
    producer.begin_transaction()
    await producer.send(ACCOUNTS, "-25", partition=0)
    await producer.flush()
    await app.sleep(10_000)
    await producer.send(ACCOUNTS, "+25", partition=1)
    await producer.flush()
    await producer.abort_transaction()
    return "committed, then aborted"


@program
async def audited_transfer(app: App, transactional_id: Name = PAYMENTS, commit_ms: Milliseconds = 3_000) -> str:
    """Make a topic whose partition has one replica, then write to an account and to that topic, in one transaction."""
    await app.admin().create_topics([NewTopic(name=AUDIT, num_partitions=1, replication_factor=1)])
    await app.sleep(1_000)
    producer = app.producer(transactional_id=transactional_id, linger_ms=0)
    await producer.init_transactions()
    producer.begin_transaction()
    await producer.send(ACCOUNTS, "-10", partition=0)
    await producer.send(AUDIT, "10 moved", partition=0)
    await producer.flush()
    await app.sleep(commit_ms - app.now)
    await producer.commit_transaction()
    return "committed"


@program
async def held_open(
    app: App,
    transactional_id: Name,
    partition: Index,
    begin_ms: Milliseconds,
    end_ms: Milliseconds,
    late_partition: int = -1,
) -> str:
    """Begin a transaction on an account at `begin_ms`, keep it open, and commit it at `end_ms`; an hour is allowed.

    With `late_partition` an earlier transaction, of two records there, is aborted when its second one is given up.
    """
    producer = app.producer(
        transactional_id=transactional_id,
        linger_ms=0,
        request_timeout_ms=950,
        delivery_timeout_ms=1_000,
        transaction_timeout_ms=HOUR_MS,
    )
    await producer.init_transactions()
    if late_partition >= 0:
        producer.begin_transaction()
        await (await producer.send(ACCOUNTS, "first", partition=late_partition))
        with suppress(KafkaError):
            await (await producer.send(ACCOUNTS, "late", partition=late_partition))
        await producer.abort_transaction()
    await app.sleep(begin_ms - app.now)
    producer.begin_transaction()
    await producer.send(ACCOUNTS, "held", partition=partition)
    await producer.flush()
    await app.sleep(end_ms - app.now)
    await producer.commit_transaction()
    return "committed"


@program
async def late_debit(
    app: App, transactional_id: Name = PAYMENTS, next_partition: int = -1, next_ms: Milliseconds = 30_000
) -> str:
    """Send a debit that is given up after a second, abort, and wait; then, unless -1, commit a credit to a partition.

    Without a fault the debit arrives in time; it is aborted all the same.
    """
    producer = app.producer(
        transactional_id=transactional_id, linger_ms=0, request_timeout_ms=950, delivery_timeout_ms=1_000
    )
    await producer.init_transactions()
    producer.begin_transaction()
    await (await producer.send(ACCOUNTS, "first", partition=0))
    try:
        await (await producer.send(ACCOUNTS, "a", partition=0))
    except KafkaError as error:
        given_up = type(error).__name__
    else:
        given_up = "nothing"
    await producer.abort_transaction()
    await app.sleep(next_ms - app.now)
    if next_partition < 0:
        return f"aborted after {given_up}"
    producer.begin_transaction()
    await producer.send(ACCOUNTS, "b", partition=next_partition)
    await producer.commit_transaction()
    return "committed"
