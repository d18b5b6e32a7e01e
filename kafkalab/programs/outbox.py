"""The outbox of lab 11: a service that fills it all morning, and how far its relay has got."""

from __future__ import annotations

from typing import Any

from kafkalab.programs.booking import OUTPUT
from kafkalab.programs.database import database
from kafkalab.sim.app import App
from kafkalab.sim.scenario import program


@program
async def bookings_all_day(app: App, bookings: list[list[Any]]) -> int:
    """Book payments, each [at ms, "commit" or "rollback", payment], with a receipt in the outbox; return the number
    of those that committed."""
    db, kept = database(app), 0
    for at_ms, end, payment in bookings:
        await app.sleep(max(at_ms - app.now, 0))
        await db.begin()
        await db.execute("INSERT INTO bookings VALUES (?)", [payment])
        await db.execute("INSERT INTO outbox (receipt) VALUES (?)", [f"receipt {payment}"])
        await (db.commit() if end == "commit" else db.rollback())
        kept += end == "commit"
    return kept


async def last_sent(app: App, isolation_level: str = "read_committed") -> int:
    """Read `receipts` from its beginning to its end; return the highest id that is the key of a record, 0 for none."""
    consumer = app.consumer(isolation_level=isolation_level)
    consumer.assign([OUTPUT])
    await consumer.seek_to_beginning([OUTPUT])
    end, highest = await consumer.end_offset(OUTPUT), 0
    while await consumer.position(OUTPUT) < end:
        for record in await consumer.poll(500):
            highest = max(highest, int(record.key or 0))
    await consumer.close()
    return highest
