"""Programs that go on whatever happens, as a good application does: the random campaigns run them.

Every value that a writer sends is unique in the run: "writer/transaction/record".
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Annotated, Any

from kafkalab.client.exceptions import KafkaError, KafkaTimeoutError
from kafkalab.client.producer.producer import Producer
from kafkalab.limits import quote
from kafkalab.protocol.arguments import Count, Index, Milliseconds, Name, Partition, misfit
from kafkalab.protocol.transition_tables.producer import ProducerState
from kafkalab.sim.app import App
from kafkalab.sim.scenario import program


def plan_error(plan: list[list[Any]]) -> str:
    """Return which transaction of a `Plan` is none; "" if all are."""
    for number, entry in enumerate(plan):
        if not entry or entry[0] not in ("commit", "abort"):
            return f"[{number}] begins with commit or abort, not {quote(entry)}"
        if wrong := misfit(entry[1:], list[Index], f"[{number}]"):
            return wrong
    return ""


Plan = Annotated[list[list[Any]], plan_error]
PATIENCE = 5
"""The number of times that a timed-out call is repeated, and that a failed producer is replaced."""


@program
async def writer(
    app: App,
    transactional_id: Name,
    topic: Name,
    plan: Plan,
    transaction_timeout_ms: Milliseconds = 60_000,
    linger_ms: Milliseconds = 0,
    work_ms: Milliseconds = 0,
    keys: Count = 0,
) -> list[str]:
    """Transactions as planned: ["commit" or "abort", partitions...], one record to each; how each of them ended.

    `work_ms` pass after each record. The records of a transaction have `keys` different keys in turn, 0: none.

    "unknown" is a commit whose outcome the program was never told. A transaction that had to be aborted is not tried
    again: what an application may resend is its own matter.
    """
    config = {"transaction_timeout_ms": transaction_timeout_ms, "linger_ms": linger_ms}
    work = _Writer(app, work_ms, keys, transactional_id=transactional_id, **config)
    endings = []
    for number, (ending, *partitions) in enumerate(plan):
        values = [(p, f"{app.name}/{number}/{i}") for i, p in enumerate(partitions)]
        endings.append(await work.transaction(topic, values, ending == "commit"))
        if endings[-1] == "gave up":
            break
    return endings


@program
async def idempotent_writer(
    app: App, topic: Name, partitions: list[Index], pause_ms: Milliseconds = 0, linger_ms: Milliseconds = 0
) -> int:
    """One record to each of the partitions, in turn, without transactions; how many were acknowledged."""
    producer = app.producer(linger_ms=linger_ms)
    promises = []
    for number, partition in enumerate(partitions):
        promises.append(await producer.send(topic, f"{app.name}/{number}", partition=partition))
        if pause_ms:
            await app.sleep(pause_ms)
    acknowledged = 0
    for promise in promises:
        try:
            await promise
            acknowledged += 1
        except KafkaError:
            pass
    return acknowledged


@program
async def reader(
    app: App,
    partitions: list[Partition],
    isolation_level: str = "read_committed",
    polls: Count = 20,
    pause_ms: Milliseconds = 50,
) -> int:
    """So many polls from the beginning, while others write; how many records came."""
    consumer = app.consumer(isolation_level=isolation_level, auto_offset_reset="earliest")
    consumer.assign(partitions)
    found = 0
    for _ in range(polls):
        found += len(await consumer.poll(pause_ms))
    return found


class _Writer:
    """A producer that is replaced when it fails for good."""

    def __init__(self, app: App, work_ms: int, keys: int, **config: Any) -> None:
        self.app, self.work_ms, self.keys = app, work_ms, keys
        self.config = config
        self.producer: Producer | None = None

    async def transaction(self, topic: str, values: list[tuple[int, str]], commit: bool) -> str:
        """One transaction to its end: committed, aborted, unknown, or gave up."""
        producer = await self._ready()
        if producer is None:
            return "gave up"
        deciding = False
        try:
            producer.begin_transaction()
            for number, (partition, value) in enumerate(values):
                key = f"key-{number % self.keys}" if self.keys else None
                await producer.send(topic, value, key, partition)
                if self.work_ms:
                    await self.app.sleep(self.work_ms)
            deciding = commit
            await self._again(producer.commit_transaction if commit else producer.abort_transaction)
            return "committed" if commit else "aborted"
        except KafkaError:
            return await self._recover(producer, deciding)

    async def _ready(self) -> Producer | None:
        for _ in range(PATIENCE):
            if self.producer is not None:
                return self.producer
            producer = self.app.producer(**self.config)
            try:
                await self._again(producer.init_transactions)
                self.producer = producer
            except KafkaError:
                await self.app.sleep(100)
        return None

    async def _recover(self, producer: Producer, deciding: bool) -> str:
        """Abort if that is possible; else a new producer, which aborts what is open before anything else."""
        if producer.state is ProducerState.ABORTABLE_ERROR:
            try:
                await self._again(producer.abort_transaction)
                return "aborted"
            except KafkaError:
                pass
        self.producer = None
        return "unknown" if deciding else "aborted"

    async def _again(self, call: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """A call that timed out must be called again; nothing else is allowed."""
        for attempt in range(PATIENCE):
            try:
                await call()
                return
            except KafkaTimeoutError:
                if attempt == PATIENCE - 1:
                    raise
