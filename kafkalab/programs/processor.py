"""An exactly-once processor with its whole error handling: read, transform, write, commit, and what to do if not.

An error is met with the weakest step that helps:

* a call that timed out is called again, until it has a result: a commit may have happened;
* any other error in a transaction is followed by an abort; then the consumer is rewound to the committed offsets and
  the records are processed again. What can be retried inside the clients never gets here;
* if the abort fails too, the producer is closed and another one is made, whose `init_transactions` ends whatever the
  old one left open. A producer that was fenced gives up: another instance may have taken its place. Where there is
  only one instance, its own transaction has timed out, and `alone` lets it make a new producer.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from kafkalab.client.consumer.consumer import Consumer
from kafkalab.client.exceptions import (
    IllegalStateError,
    InvalidConfigurationError,
    KafkaError,
    KafkaTimeoutError,
    OffsetOutOfRangeError,
    ProducerFencedError,
)
from kafkalab.client.producer.producer import Producer
from kafkalab.client.results import GroupMetadata
from kafkalab.log.aborted_filter import ConsumerRecord
from kafkalab.protocol.arguments import Count, Milliseconds, Name, Partition
from kafkalab.protocol.source_header import made_from
from kafkalab.sim.app import App
from kafkalab.sim.scenario import program

TRIES, REBUILDS = 10, 10


class OutOfTries(Exception):
    """A call timed out again and again: only a new producer can tell what became of it."""


@dataclass(slots=True, kw_only=True)
class Processor:
    """Moves records of `inputs` to the partitions of `output` with the same numbers, each exactly once.

    `membership` says as which member of the group it commits: by default the consumer's own `group_metadata()`.
    """

    app: App
    inputs: list[str]
    output: str
    group: str
    transactional_id: str
    batch: int = 2
    alone: bool = False
    settings: dict[str, Any] = field(default_factory=dict)
    transform: Callable[[str], str] = lambda value: f"{value}!"
    membership: Callable[[Consumer], GroupMetadata] = Consumer.group_metadata
    committed: int = 0
    aborted: int = 0
    rebuilt: int = 0
    out_of_range: list[str] = field(default_factory=list)
    _fetched: list[ConsumerRecord] = field(default_factory=list)

    async def run(self) -> str:
        """ "done" when all that was there at the start is processed, "fenced" when another instance took over, or the
        name of the error that makes it useless to go on.
        """
        for _ in range(REBUILDS):
            producer = self.app.producer(transactional_id=self.transactional_id, **self.settings)
            try:
                await self._life(producer)
            except ProducerFencedError:
                await producer.close(timeout_ms=0)
                if not self.alone:
                    return "fenced"
                self.rebuilt += 1
            except IllegalStateError:
                raise  # a mistake in this file, not an error of the world
            except InvalidConfigurationError as error:
                await producer.close(timeout_ms=0)
                return type(error).__name__
            except (KafkaError, OutOfTries):
                await producer.close(timeout_ms=0)
                self.rebuilt += 1
            else:
                await producer.close()
                return "done"
        return "given up"

    async def _life(self, producer: Producer) -> None:
        """One producer's life, from init_transactions to the end of the input or to an error that ends it."""
        await self._insist(producer.init_transactions)
        consumer = self.app.consumer(
            group_id=self.group, isolation_level="read_committed", auto_offset_reset="none",
            enable_auto_commit=False,
        )  # fmt: skip
        consumer.assign(self.inputs)  # nothing of a predecessor is open now: its offsets are committed or gone
        await self._rewind(consumer)
        ends = await self._insist(lambda: consumer.end_offsets(self.inputs))
        failures = 0
        while records := await self._next(consumer, ends):
            try:
                await self._transaction(producer, consumer, records)
                self.committed, failures = self.committed + 1, 0
            except (ProducerFencedError, IllegalStateError):
                raise
            except KafkaError as error:
                await self._insist(producer.abort_transaction)  # raises if the producer is beyond recovery
                self.aborted, failures = self.aborted + 1, failures + 1
                if isinstance(error, InvalidConfigurationError) or failures == TRIES:
                    raise
                await self._rewind(consumer)

    async def _transaction(self, producer: Producer, consumer: Consumer, records: list[ConsumerRecord]) -> None:
        producer.begin_transaction()
        offsets: dict[str, int] = {}
        for record in records:
            number = int(record.partition.rpartition("-")[2])
            headers = made_from(record)
            await producer.send(self.output, self.transform(record.value), partition=number, headers=headers)
            offsets[record.partition] = record.offset + 1
        await producer.send_offsets_to_transaction(offsets, self.membership(consumer))
        await self._insist(producer.commit_transaction)

    async def _insist(self, call: Callable[[], Awaitable[Any]]) -> Any:
        """The call's result; one that timed out goes on inside the client, so the same call is made again."""
        for _ in range(TRIES):
            try:
                return await call()
            except KafkaTimeoutError:
                pass  # whether it has happened is not known yet
        raise OutOfTries

    async def _next(self, consumer: Consumer, ends: dict[str, int]) -> list[ConsumerRecord]:
        """The next records, at most `batch`; none at the end of the input."""
        while not self._fetched and await self._behind(consumer, ends):
            try:
                self._fetched = await self._insist(consumer.poll)
            except OffsetOutOfRangeError as error:
                await self._back_into_range(consumer, error.positions)
        records, self._fetched = self._fetched[: self.batch], self._fetched[self.batch :]
        return records

    async def _behind(self, consumer: Consumer, ends: dict[str, int]) -> bool:
        for partition, end in ends.items():
            if await self._insist(partial(consumer.position, partition)) < end:
                return True
        return False

    async def _rewind(self, consumer: Consumer) -> None:
        """Read on where the group's committed offsets say; from the beginning where there are none."""
        self._fetched = []
        committed = await self._insist(lambda: consumer.committed(self.inputs))
        for partition in self.inputs:
            if committed[partition] >= 0:
                consumer.seek(partition, committed[partition])
            else:
                await self._insist(partial(consumer.seek_to_beginning, [partition]))

    async def _back_into_range(self, consumer: Consumer, positions: dict[str, int]) -> None:
        """Records were deleted, or lost with an unclean leader: go on at the nearest offset that there is.

        Going back to the beginning in both cases would process again what is processed already.
        """
        first = await self._insist(lambda: consumer.beginning_offsets(list(positions)))
        last = await self._insist(lambda: consumer.end_offsets(list(positions)))
        for partition, position in positions.items():
            consumer.seek(partition, min(max(position, first[partition]), last[partition]))
            self.out_of_range.append(partition)


@program
async def exactly_once_processor(
    app: App,
    inputs: list[Partition],
    output: Name,
    group: Name = "processors",
    transactional_id: Name = "processor-0",
    batch: Count = 2,
    alone: bool = False,
    start_after_ms: Milliseconds = 0,
    settings: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Run one processor: how it ended, and how many transactions it committed and aborted, producers it rebuilt."""
    if start_after_ms:
        await app.sleep(start_after_ms)
    processor = Processor(
        app=app,
        inputs=inputs,
        output=output,
        group=group,
        transactional_id=transactional_id,
        batch=batch,
        alone=alone,
        settings=settings or {},
    )
    end = await processor.run()
    counts = {name: getattr(processor, name) for name in ("committed", "aborted", "rebuilt", "out_of_range")}
    return {"end": end, **counts}
