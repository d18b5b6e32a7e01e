"""The stock count, in which one transaction takes as long as a person needs to count a shelf: programs of lab 7."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from kafkalab.client.consumer.consumer import Consumer
from kafkalab.client.exceptions import KafkaError
from kafkalab.client.producer.producer import Producer
from kafkalab.protocol.arguments import Milliseconds, Name
from kafkalab.sim.app import App
from kafkalab.sim.scenario import program

STOCK, SHELVES = "stock", "shelves"
COUNTER = "counter-0"
GROUP = "counters"
SETTINGS = (
    "linger_ms", "request_timeout_ms", "delivery_timeout_ms", "max_block_ms", "transaction_timeout_ms",
)  # fmt: skip
MAX_POLL_MS = 300_000
REMEDIES = ("none", "retry", "abort", "recreate")

Call = tuple[str, Callable[[], Awaitable[Any]]]


class _Counter:
    """One counter: its clients, and the calls of which a shelf consists."""

    def __init__(self, app: App, transactional_id: str, settings: dict[str, int], max_poll_ms: int, topic: str) -> None:
        self.app, self.transactional_id, self.settings, self.topic = app, transactional_id, settings, topic
        self.max_poll_ms = max_poll_ms
        self.producer: Producer
        self.consumer: Consumer | None = None
        self.next = 0

    def join(self) -> None:
        self.consumer = self.app.consumer(
            group_id=GROUP,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            max_poll_interval_ms=self.max_poll_ms,
        )
        self.consumer.subscribe([SHELVES])

    def starting(self) -> list[Call]:
        async def make() -> None:
            self.producer = self.app.producer(transactional_id=self.transactional_id, **self.settings)

        async def init() -> None:
            await self.producer.init_transactions()

        return [("producer", make), ("init_transactions", init)]

    def shelf(self, name: str, work_ms: int, sends: int) -> list[Call]:
        """Begin, send the top, count for `work_ms`, send the bottom if there are two, name the offset, commit."""

        async def poll() -> None:
            records: list[Any] = []
            while self.consumer is not None and not records:
                records = await self.consumer.poll()
            self.next = records[-1].offset + 1 if records else 0

        async def begin() -> None:
            self.producer.begin_transaction()

        def send(part: str) -> Callable[[], Awaitable[None]]:
            async def perform() -> None:
                await (await self.producer.send(self.topic, f"{name} {part}", partition=0))

            return perform

        async def count() -> None:
            await self.app.sleep(work_ms)

        async def offsets() -> None:
            assert self.consumer is not None
            metadata = self.consumer.group_metadata()
            await self.producer.send_offsets_to_transaction({f"{SHELVES}-0": self.next}, metadata)

        async def commit() -> None:
            await self.producer.commit_transaction()

        calls: list[Call] = [("begin_transaction", begin), ("send", send("top")), ("count", count)]
        if sends > 1:
            calls.append(("send", send("bottom")))
        if self.consumer is not None:
            calls = [("poll", poll), *calls, ("send_offsets_to_transaction", offsets)]
        return [*calls, ("commit_transaction", commit)]


@program
async def count_shelf(
    app: App,
    transactional_id: Name = COUNTER,
    begin_ms: Milliseconds = 1_000,
    work_ms: Milliseconds = 75_000,
    idle_ms: Milliseconds = 0,
    sends: int = 2,
    reads: bool = False,
    remedy: Name = "none",
    topic: Name = STOCK,
    linger_ms: Milliseconds = 0,
    request_timeout_ms: Milliseconds = 30_000,
    delivery_timeout_ms: Milliseconds = 120_000,
    max_block_ms: Milliseconds = 60_000,
    transaction_timeout_ms: Milliseconds = 60_000,
    max_poll_interval_ms: Milliseconds = MAX_POLL_MS,
) -> list[str]:
    """Count shelf A at `begin_ms`, for `work_ms`; return each call that failed, with its error, and how it ended.

    With `idle_ms` a short shelf is counted first, and then nothing is done for that long; a week comes from a jump of
    the clocks. With `reads` the shelf's name
    is read from a topic, and its offset is part of the transaction. `remedy` is what is done about the first error:
    "none", "retry" (the same call), "abort" (and the shelf again), or "recreate" (a new producer, and the shelf again).
    """
    given = (linger_ms, request_timeout_ms, delivery_timeout_ms, max_block_ms, transaction_timeout_ms)
    counter = _Counter(app, transactional_id, dict(zip(SETTINGS, given, strict=True)), max_poll_interval_ms, topic)
    if reads:
        counter.join()
    await app.sleep(begin_ms - app.now if not idle_ms else 0)
    first = counter.shelf("first", 0, 1) if idle_ms else []

    async def idle() -> None:
        await app.sleep(idle_ms)

    pause: list[Call] = [("idle", idle)] if idle_ms else []
    calls = [*counter.starting(), *first, *pause, *counter.shelf("A", work_ms, sends)]
    said, place = await _until_an_error(app, calls)
    if place == len(calls) or remedy == "none":
        return [*said, "committed"] if place == len(calls) else said
    again = calls[place:]
    if remedy != "retry":
        again = counter.shelf("A", 0, sends)
        try:
            if remedy == "abort":
                await counter.producer.abort_transaction()
            else:
                await counter.producer.close(timeout_ms=0)
        except KafkaError as error:
            return [*said, _line("abort_transaction" if remedy == "abort" else "close", error)]
        if remedy == "recreate":
            again = [*counter.starting(), *again]
    more, place = await _until_an_error(app, again)
    return [*said, *more, *(["committed"] if place == len(again) else [])]


async def _until_an_error(app: App, calls: list[Call]) -> tuple[list[str], int]:
    """Make the calls; return what went wrong, and at which of them: their number if nothing did."""
    for number, (name, make) in enumerate(calls):
        try:
            await make()
        except KafkaError as error:
            app.chapter(f"after {type(error).__name__}")
            return [_line(name, error)], number
    return [], len(calls)


def _line(call: str, error: KafkaError) -> str:
    return f"{call}: {type(error).__name__}"
