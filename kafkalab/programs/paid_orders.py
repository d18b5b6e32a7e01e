"""The shop that books each order in two places, its payment and its delivery: programs of lab 9."""

from __future__ import annotations

from typing import Any

from kafkalab.client.exceptions import KafkaError, KafkaTimeoutError
from kafkalab.client.producer.producer import Producer
from kafkalab.protocol.arguments import Milliseconds, Name
from kafkalab.sim.app import App
from kafkalab.sim.scenario import program

PAYMENTS, DELIVERIES = "payments", "deliveries"
SHOP = "shop-0"
PACK_MS, PATIENCE_MS = 2_000, 10_000


async def one_order(app: App, producer: Producer, order: str, cancelled: bool, pack_ms: int = PACK_MS) -> None:
    """Write the payment and, after `pack_ms`, the delivery in one transaction; abort it if the order was cancelled."""
    producer.begin_transaction()
    await producer.send(PAYMENTS, order, partition=0)
    await producer.flush()
    await app.sleep(pack_ms)
    await producer.send(DELIVERIES, order, partition=0)
    await producer.flush()
    await (producer.abort_transaction() if cancelled else producer.commit_transaction())


@program
async def paid_orders(
    app: App, orders: list[str], cancelled: list[str], pack_ms: Milliseconds = PACK_MS, transactional_id: Name = SHOP
) -> str:
    """Book each order in a transaction of its own, one after the other; those of `cancelled` are aborted."""
    producer = app.producer(transactional_id=transactional_id, linger_ms=0)
    await producer.init_transactions()
    for order in orders:
        await one_order(app, producer, order, order in cancelled, pack_ms)
    return "booked"


@program
async def in_doubt(app: App, then: str, transactional_id: Name = SHOP, patience_ms: Milliseconds = PATIENCE_MS) -> str:
    """Book one order; if the commit has no answer after `patience_ms`, do what `then` says, and return how that ended.

    `then` is "begin" (the next transaction), "abort", "again" (the same call, until it returns), "new producer", or
    "book again" (with a new producer).
    """
    settings: dict[str, Any] = {"transactional_id": transactional_id, "linger_ms": 0}
    producer = app.producer(**settings, max_block_ms=patience_ms)
    await producer.init_transactions()
    try:
        await one_order(app, producer, "tea", cancelled=False, pack_ms=0)
    except KafkaTimeoutError:
        return await _after(app, producer, then, settings)
    return "returned"


async def _after(app: App, producer: Producer, then: str, settings: dict[str, Any]) -> str:
    try:
        match then:
            case "begin":
                producer.begin_transaction()
            case "abort":
                await producer.abort_transaction()
            case "again":
                await _until_it_returns(producer)
            case _:
                await producer.close(timeout_ms=0)
                fresh = app.producer(**settings)
                await fresh.init_transactions()
                if then == "book again":
                    await one_order(app, fresh, "tea", cancelled=False, pack_ms=0)
    except KafkaError as error:
        return type(error).__name__
    return "returned"


async def _until_it_returns(producer: Producer) -> None:
    while True:
        try:
            await producer.commit_transaction()
        except KafkaTimeoutError:
            continue
        return
