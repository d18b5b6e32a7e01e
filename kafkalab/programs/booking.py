"""The shop's booker: it books each payment in a database outside Kafka, and sends a receipt: programs of lab 11."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from kafkalab.client.consumer.consumer import Consumer
from kafkalab.client.producer.producer import Producer
from kafkalab.log.aborted_filter import ConsumerRecord
from kafkalab.programs.database import database
from kafkalab.protocol.arguments import Milliseconds, Name
from kafkalab.sim.app import App
from kafkalab.sim.scenario import program

PAYMENTS, RECEIPTS, BOOKERS, BOOKER = "payments", "receipts", "bookers", "booker"
INPUT, OUTPUT = f"{PAYMENTS}-0", f"{RECEIPTS}-0"
SESSION_MS = 6_000
POLLS = 6
Call = tuple[str, Callable[[], Awaitable[None]]]


class Booker:
    """One process of the booker: its consumer, its producer, its database, and the payment that it has read."""

    def __init__(self, app: App, position_in_database: bool) -> None:
        self.app, self.db = app, database(app)
        self.in_database = position_in_database
        self.payment: ConsumerRecord | None = None
        self.read: list[ConsumerRecord] = []
        self.outbox: list[tuple[Any, ...]] = []
        self.producer: Producer
        self.consumer: Consumer

    async def start(self) -> None:
        """Claim the transactional id, and find out where to read on."""
        self.producer = self.app.producer(transactional_id=BOOKER, linger_ms=0)
        await self.producer.init_transactions()
        self.consumer = self.app.consumer(
            group_id=BOOKERS, auto_offset_reset="earliest", enable_auto_commit=False, session_timeout_ms=SESSION_MS,
            isolation_level="read_committed",
        )  # fmt: skip
        if self.in_database:
            self.consumer.assign([INPUT])
            found = await self.db.execute("SELECT next FROM positions WHERE partition = ?", [INPUT])
            self.consumer.seek(INPUT, found[0][0] if found else 0)
        else:
            self.consumer.subscribe([PAYMENTS])

    @property
    def value(self) -> str:
        """The value of the payment; "" if none was read."""
        return str(self.payment.value) if self.payment else ""

    async def poll(self) -> None:
        """Read the next payment."""
        for _ in range(POLLS):
            if self.read:
                break
            self.read += await self.consumer.poll(2_000)
        self.payment = self.read.pop(0) if self.read else None

    async def receipt(self) -> None:
        """Begin a Kafka transaction and write the receipt, as one of its records."""
        self.producer.begin_transaction()
        await self.producer.send(RECEIPTS, f"receipt {self.value}", partition=0)
        await self.producer.flush()

    async def offsets(self) -> None:
        """Send the offset behind the payment to the Kafka transaction."""
        assert self.payment is not None
        behind = {INPUT: self.payment.offset + 1}
        await self.producer.send_offsets_to_transaction(behind, self.consumer.group_metadata())

    async def kafka_commit(self) -> None:
        """Commit the Kafka transaction."""
        await self.producer.commit_transaction()

    async def insert(self) -> None:
        """Begin a SQL transaction and write the booking."""
        await self.db.begin()
        await self.db.execute("INSERT INTO bookings VALUES (?)", [self.value])

    async def insert_once(self) -> None:
        """The same in a table that takes each payment once."""
        await self.db.begin()
        await self.db.execute("INSERT OR IGNORE INTO booked_once VALUES (?)", [self.value])

    async def insert_all(self) -> None:
        """Begin a SQL transaction: the booking, the position in `payments`, and the receipt that is to be sent."""
        assert self.payment is not None
        await self.insert()
        await self.db.execute("INSERT OR REPLACE INTO positions VALUES (?, ?)", [INPUT, self.payment.offset + 1])
        await self.db.execute("INSERT INTO outbox (receipt) VALUES (?)", [f"receipt {self.value}"])

    async def sql_commit(self) -> None:
        """Commit the SQL transaction."""
        await self.db.commit()

    async def read_outbox(self) -> None:
        """Read what is to be sent."""
        self.outbox = await self.db.execute("SELECT id, receipt FROM outbox ORDER BY id")

    async def send_outbox(self) -> None:
        """Send what the outbox holds; return when Kafka has it."""
        if self.outbox:
            self.producer.begin_transaction()
            for _, receipt in self.outbox:
                await self.producer.send(RECEIPTS, receipt, partition=0)
            await self.producer.commit_transaction()

    async def clear_outbox(self) -> None:
        """Delete from the outbox what was sent."""
        for number, _ in self.outbox:
            await self.db.execute("DELETE FROM outbox WHERE id = ?", [number])


PATTERNS: dict[str, tuple[tuple[str, str], ...]] = {
    "Kafka first": (
        ("poll", "poll()"),
        ("receipt", "begin, send(receipt)"),
        ("offsets", "send_offsets_to_transaction()"),
        ("kafka_commit", "commit_transaction()"),
        ("insert", "BEGIN; INSERT booking"),
        ("sql_commit", "COMMIT"),
    ),
    "database first": (
        ("poll", "poll()"),
        ("insert", "BEGIN; INSERT booking"),
        ("sql_commit", "COMMIT"),
        ("receipt", "begin, send(receipt)"),
        ("offsets", "send_offsets_to_transaction()"),
        ("kafka_commit", "commit_transaction()"),
    ),
    "unique key": (
        ("poll", "poll()"),
        ("insert_once", "BEGIN; INSERT OR IGNORE booking"),
        ("sql_commit", "COMMIT"),
        ("receipt", "begin, send(receipt)"),
        ("offsets", "send_offsets_to_transaction()"),
        ("kafka_commit", "commit_transaction()"),
    ),
    "outbox": (
        ("poll", "poll()"),
        ("insert_all", "BEGIN; INSERT booking, position, receipt"),
        ("sql_commit", "COMMIT"),
        ("read_outbox", "SELECT FROM outbox"),
        ("send_outbox", "begin, send(receipt), commit_transaction()"),
        ("clear_outbox", "DELETE FROM outbox"),
    ),
}
"""By pattern the six calls of a booker, each with what it does in words."""
TABLE_OF = {"unique key": "booked_once"}


@program
async def booker(app: App, pattern: Name = "database first", start_after_ms: Milliseconds = 0) -> list[str]:
    """Book the payments one by one, with the six calls of a pattern; end when a poll brings none.

    A chapter of the run begins after each call: "gap 1" to "gap 6". With the pattern "outbox" it begins by sending
    what the outbox still holds. The result has the payments that were booked.
    """
    if pattern not in PATTERNS:
        raise ValueError(f"no pattern is called {pattern!r}; there are {', '.join(PATTERNS)}")
    await app.sleep(start_after_ms)
    work = Booker(app, position_in_database=pattern == "outbox")
    await work.start()
    if pattern == "outbox":
        await _relay(work)
    done: list[str] = []
    while True:
        await work.poll()
        if work.payment is None:
            await work.consumer.close()
            await work.producer.close()
            return done
        for number, (call, _) in enumerate(PATTERNS[pattern], 1):
            if call != "poll":
                await getattr(work, call)()
            app.chapter(f"gap {number}")
        done.append(work.value)


async def _relay(work: Booker) -> None:
    """Send what an earlier process has left in the outbox."""
    await work.read_outbox()
    await work.send_outbox()
    await work.clear_outbox()
