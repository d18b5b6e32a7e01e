"""The billing service that charges orders, and its replacement: programs of lab 6."""

from __future__ import annotations

from kafkalab.protocol.arguments import Index, Milliseconds, Name
from kafkalab.protocol.source_header import made_from
from kafkalab.sim.app import App
from kafkalab.sim.scenario import program

ORDERS, CHARGES, BILLING = "orders", "charges", "billing"
VALUES = ("10", "25", "40")
STARTED_MS, PAUSED_MS, REPLACED_MS, AWAKE_MS = 0, 90, 5_000, 20_000


@program
async def billing(
    app: App,
    transactional_id: Name | None = None,
    slot: Index = 0,
    group: Name = BILLING,
    start_after_ms: Milliseconds = 0,
    work_ms: Milliseconds = 50,
    linger_ms: Milliseconds = 0,
    transaction_timeout_ms: Milliseconds = 60_000,
) -> list[str]:
    """Charge every order of `orders-{slot}`, one after the other; the orders charged, when there are no more.

    With a transactional id each charge and the offset behind its order are one transaction; without one the charge is
    written first, and then the offset is committed.
    """
    await app.sleep(start_after_ms)
    orders, charged = f"{ORDERS}-{slot}", []
    consumer = app.consumer(group_id=group, auto_offset_reset="earliest", enable_auto_commit=False)
    consumer.assign([orders])
    names = {"transactional_id": transactional_id, "transaction_timeout_ms": transaction_timeout_ms}
    producer = app.producer(linger_ms=linger_ms, **(names if transactional_id else {}))
    if transactional_id:
        await producer.init_transactions()
    while records := await consumer.poll() or await consumer.poll():
        for order in records:
            if transactional_id:
                producer.begin_transaction()
            charge = await producer.send(CHARGES, order.value, partition=0, headers=made_from(order))
            await app.sleep(work_ms)
            if transactional_id:
                await producer.send_offsets_to_transaction({orders: order.offset + 1}, consumer.group_metadata())
                await producer.commit_transaction()
            else:
                await charge
                await consumer.commit_sync({orders: order.offset + 1})
            charged.append(order.value)
    return charged


@program
async def one_charge(
    app: App,
    transactional_id: Name,
    value: str,
    start_ms: Milliseconds = 0,
    init: bool = True,
    send_ms: Milliseconds = 500,
    commit_ms: Milliseconds = 2_000,
    transaction_timeout_ms: Milliseconds = 60_000,
) -> str:
    """One charge in one transaction: the producer begins at `start_ms`, sends at `send_ms`, commits at `commit_ms`.

    Without `init` the producer is made, and never calls init_transactions().
    """
    await app.sleep(start_ms - app.now)
    producer = app.producer(
        transactional_id=transactional_id, linger_ms=0, transaction_timeout_ms=transaction_timeout_ms
    )
    if not init:
        return "made"
    await producer.init_transactions()
    await app.sleep(send_ms - app.now)
    producer.begin_transaction()
    await producer.send(CHARGES, value, partition=0)
    await producer.flush()
    await app.sleep(commit_ms - app.now)
    await producer.commit_transaction()
    return "committed"
