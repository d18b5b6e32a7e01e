"""The packing service that makes a parcel of each order, as members of one group: programs of lab 10."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from kafkalab.client.consumer.consumer import Consumer
from kafkalab.client.exceptions import CommitFailedError, KafkaError, ProducerFencedError
from kafkalab.client.producer.producer import Producer
from kafkalab.client.results import GroupMetadata
from kafkalab.log.aborted_filter import ConsumerRecord
from kafkalab.protocol.arguments import Count, Milliseconds, Name
from kafkalab.protocol.source_header import made_from
from kafkalab.sim.app import App
from kafkalab.sim.scenario import program

ORDERS, PARCELS, PACKERS = "orders", "parcels", "packers"
VALUES = ("tea", "salt")
POLL_MS = 5_000


def offsets_behind(records: Sequence[ConsumerRecord]) -> dict[str, int]:
    """Return for each partition the offset behind the last of these records: where the group is to read on."""
    return {record.partition: record.offset + 1 for record in records}


async def rewind(consumer: Consumer) -> None:
    """Read again from the committed offsets what an aborted transaction had read; from the start without any."""
    for partition, offset in (await consumer.committed(consumer.assignment())).items():
        if offset >= 0:
            consumer.seek(partition, offset)
        else:
            await consumer.seek_to_beginning([partition])


@program
async def packer(
    app: App,
    transactional_id: Name,
    start_after_ms: Milliseconds = 0,
    work_ms: Milliseconds = 0,
    late_ms: Milliseconds = 0,
    polls: Count = 1,
    named: bool = True,
    transaction_timeout_ms: Milliseconds = 60_000,
    session_timeout_ms: Milliseconds = 45_000,
) -> dict[str, Any]:
    """Pack what each poll brings in one transaction, with the offsets; end after `polls` polls that brought nothing.

    `work_ms` pass between the parcels and the offsets, `late_ms` between the offsets and the commit. Unless `named`
    the group's coordinator is not told which member sends the offsets, as before KIP-447. The result has the orders
    whose parcels were committed, and the error that refused the last transaction.
    """
    await app.sleep(start_after_ms)
    consumer = app.consumer(
        group_id=PACKERS, auto_offset_reset="earliest", enable_auto_commit=False, isolation_level="read_committed",
        session_timeout_ms=session_timeout_ms,
    )  # fmt: skip
    producer = app.producer(
        transactional_id=transactional_id, linger_ms=0, transaction_timeout_ms=transaction_timeout_ms
    )
    await producer.init_transactions()
    consumer.subscribe([ORDERS])
    packed: list[str] = []
    refused, empty = "", 0
    while empty < polls:
        orders = await consumer.poll(POLL_MS)
        if not orders:
            empty += bool(consumer.assignment()) and consumer.has_all_fetch_positions()
            continue
        empty = 0
        try:
            await _pack(app, producer, orders, work_ms)
            member = consumer.group_metadata()
            offsets = offsets_behind(orders)
            await producer.send_offsets_to_transaction(offsets, member if named else GroupMetadata(member.group_id))
            if late_ms:
                await app.sleep(late_ms)
            await producer.commit_transaction()
            packed += [order.value for order in orders]
        except ProducerFencedError:
            raise
        except KafkaError as error:
            refused = error.error.name
            await producer.abort_transaction()
            if not isinstance(error, CommitFailedError):  # else the next poll joins again, and finds the position
                await rewind(consumer)
    await consumer.close()
    await producer.close()
    return {"packed": packed, "refused": refused}


async def _pack(app: App, producer: Producer, orders: Sequence[ConsumerRecord], work_ms: int) -> None:
    """Begin a transaction and write a parcel for each order."""
    producer.begin_transaction()
    for order in orders:
        await producer.send(PARCELS, order.value, partition=0, headers=made_from(order))
    await producer.flush()
    if work_ms:
        await app.sleep(work_ms)


@program
async def pack_and_abort(
    app: App,
    acts: list[str],
    settings: dict[str, Any] | None = None,
) -> list[str]:
    """Pack the first orders and commit, pack the next ones and do `acts`, one of which aborts; what is polled then.

    The last poll is made at `POLLED_AGAIN_MS`, when there are more orders. `settings` are further ones of the consumer.
    """
    packing = _Packing(app, settings or {})
    producer, consumer = await packing.new_producer(), packing.new_consumer()
    orders = await packing.poll()
    await _pack(app, producer, orders, 0)
    await producer.send_offsets_to_transaction(offsets_behind(orders), consumer.group_metadata())
    await producer.commit_transaction()
    orders = await packing.poll()
    await _pack(app, producer, orders, 0)
    for act in acts:
        if act not in ACTS:
            raise ValueError(f"no act is called {act!r}; there are {', '.join(ACTS)}")
        await ACTS[act](packing, orders)
    await app.sleep(POLLED_AGAIN_MS - app.now)
    return [order.value for order in await packing.poll()]


POLLED_AGAIN_MS = 30_000


class _Packing:
    """A packer's consumer and producer, which acts use and replace."""

    def __init__(self, app: App, settings: dict[str, Any]) -> None:
        self.app, self.settings = app, settings

    async def new_producer(self) -> Producer:
        """Make the producer, and claim its name."""
        self.producer = self.app.producer(transactional_id="packer-1", linger_ms=0)
        await self.producer.init_transactions()
        return self.producer

    def new_consumer(self) -> Consumer:
        """Make the consumer, a member of the group."""
        given = {"auto_offset_reset": "earliest", "enable_auto_commit": False, "isolation_level": "read_committed"}
        self.consumer = self.app.consumer(group_id=PACKERS, **{**given, **self.settings})
        self.consumer.subscribe([ORDERS])
        return self.consumer

    async def poll(self) -> list[ConsumerRecord]:
        """Poll until there are records."""
        while not (records := await self.consumer.poll(500)):
            pass
        return records


async def _offsets(packing: _Packing, orders: Sequence[ConsumerRecord]) -> None:
    await packing.producer.send_offsets_to_transaction(offsets_behind(orders), packing.consumer.group_metadata())


async def _abort(packing: _Packing, orders: Sequence[ConsumerRecord]) -> None:
    await packing.producer.abort_transaction()


async def _commit_sync(packing: _Packing, orders: Sequence[ConsumerRecord]) -> None:
    await packing.consumer.commit_sync()


async def _seek_committed(packing: _Packing, orders: Sequence[ConsumerRecord]) -> None:
    await rewind(packing.consumer)


async def _seek_first(packing: _Packing, orders: Sequence[ConsumerRecord]) -> None:
    packing.consumer.seek(orders[0].partition, orders[0].offset)


async def _seek_start(packing: _Packing, orders: Sequence[ConsumerRecord]) -> None:
    await packing.consumer.seek_to_beginning()


async def _new_consumer(packing: _Packing, orders: Sequence[ConsumerRecord]) -> None:
    await packing.consumer.close()
    packing.new_consumer()


async def _new_producer(packing: _Packing, orders: Sequence[ConsumerRecord]) -> None:
    await packing.producer.close()
    await packing.new_producer()


async def _join_again(packing: _Packing, orders: Sequence[ConsumerRecord]) -> None:
    await packing.consumer.unsubscribe()
    packing.consumer.subscribe([ORDERS])


ACTS: dict[str, Callable[[_Packing, Sequence[ConsumerRecord]], Awaitable[None]]] = {
    "send the offsets": _offsets,
    "abort": _abort,
    "commit_sync": _commit_sync,
    "seek to committed": _seek_committed,
    "seek to the first": _seek_first,
    "seek to the beginning": _seek_start,
    "new consumer": _new_consumer,
    "new producer": _new_producer,
    "join again": _join_again,
}
"""The acts of a packer in the transaction that it has begun, and after it, by name."""


@program
async def shop_all_day(app: App, orders: list[list[Any]], work_ms: Milliseconds = 0) -> int:
    """Take orders in transactions, each as [at ms, "commit" or "abort", partition, values...]; how many were taken.

    `work_ms` pass between the orders and their commit or abort.
    """
    producer = app.producer(transactional_id="shop", linger_ms=0, request_timeout_ms=2_000)
    await producer.init_transactions()
    taken = 0
    for at_ms, end, partition, *values in orders:
        await app.sleep(max(at_ms - app.now, 0))
        producer.begin_transaction()
        for value in values:
            await producer.send(ORDERS, value, partition=partition)
        await app.sleep(work_ms)
        await (producer.commit_transaction() if end == "commit" else producer.abort_transaction())
        taken += len(values) * (end == "commit")
    return taken
