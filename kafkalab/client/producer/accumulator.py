"""What a producer has not got an answer for yet: batches per partition, waiting or under way (`RecordAccumulator`)."""

from __future__ import annotations

from collections import deque
from typing import Any

from kafkalab.client.producer.batch import ProducerBatch, size_of
from kafkalab.client.promise import Promise
from kafkalab.client.transaction_manager.sequences import Sequences
from kafkalab.protocol.records import Record


class Accumulator:
    """Queues per partition. A batch that is sent again keeps its sequence and goes before all newer ones."""

    def __init__(self, batch_size_bytes: int, memory_bytes: int = 2**25) -> None:
        self.batch_size_bytes = batch_size_bytes
        self.memory_bytes = self.free_bytes = memory_bytes
        self.waiting: list[Promise[None]] = []  # calls of `send` that wait for memory
        self.queues: dict[str, deque[ProducerBatch]] = {}
        self.in_flight: dict[str, list[ProducerBatch]] = {}
        self.sequences = Sequences()

    def has_room(self, partition: str, record: Record) -> bool:
        """Whether the record fits into a batch that is there, or memory is left for another batch."""
        queue, size = self.queues.get(partition), size_of(record)
        if queue and not queue[-1].closed and queue[-1].size_bytes + size <= self.batch_size_bytes:
            return True
        return max(self.batch_size_bytes, size) <= self.free_bytes

    def add(self, partition: str, record: Record, promise: Promise[Any], now: int) -> None:
        """Append to the newest batch that was never sent, or begin one where it is full."""
        size = size_of(record)
        queue = self.queues.setdefault(partition, deque())
        last = queue[-1] if queue else None
        if last is None or last.closed or last.size_bytes + size > self.batch_size_bytes:
            last = ProducerBatch(partition, now, held_bytes=max(self.batch_size_bytes, size))
            self.free_bytes -= last.held_bytes
            queue.append(last)
        last.add(record, promise)

    def _release(self, batch: ProducerBatch) -> None:
        """The batch's memory is free again."""
        self.free_bytes, batch.held_bytes = self.free_bytes + batch.held_bytes, 0
        waiting, self.waiting = self.waiting, []
        for promise in waiting:
            promise.resolve(None)

    def ready(self, partition: str, now: int, linger_ms: int, flushing: bool) -> bool:
        """Whether the partition's first batch may go: full, old enough, sent before, flushed, or memory is short."""
        queue = self.queues.get(partition)
        if not queue:
            return False
        first, sent = queue[0], self.in_flight.get(partition)
        if first.base_sequence == -1:
            if any(b.attempts > 1 for b in sent or ()):
                return False  # nothing new overtakes a retry
            if partition in self.sequences.unresolved:
                return False  # whether a given-up batch arrived is still open
        elif sent and min(b.base_sequence for b in sent) < first.base_sequence:
            return False  # a retry waits for the older ones that are still under way
        return flushing or bool(self.waiting) or len(queue) > 1 or first.closed or now - first.created_ms >= linger_ms

    def drains_for(self, partition: str, producer: tuple[int, int]) -> bool:
        """Whether a batch with this identity may go: none with an older one is still under way."""
        known = self.sequences.identity.get(partition, producer)
        return known == producer or not self.numbered(partition) or self.queues[partition][0].base_sequence != -1

    def take(self, partition: str, producer: tuple[int, int]) -> ProducerBatch:
        """The next batch, in flight from now on; with the next sequences if it had none (-1 without a producer id)."""
        batch = self.queues[partition].popleft()
        if batch.base_sequence == -1 and producer[0] >= 0:
            self.sequences.number(batch, producer)
        batch.attempts += 1
        batch.closed = True
        self.in_flight.setdefault(partition, []).append(batch)
        return batch

    def again(self, batch: ProducerBatch) -> None:
        """Send it again, in the order of the sequences."""
        self.in_flight[batch.partition].remove(batch)
        batch.retried = True
        self._insert(batch)

    def split(self, batch: ProducerBatch) -> None:
        """Smaller batches in its place, with its sequences; what was split before is halved."""
        self.in_flight[batch.partition].remove(batch)
        self._release(batch)
        for part in batch.split(self.batch_size_bytes):
            self._insert(part)

    def _insert(self, batch: ProducerBatch) -> None:
        queue = self.queues.setdefault(batch.partition, deque())
        place = sum(1 for b in queue if b.closed and b.base_sequence <= batch.base_sequence)
        queue.insert(place if batch.base_sequence != -1 else 0, batch)

    def remove(self, batch: ProducerBatch) -> None:
        """It is acknowledged or given up."""
        for batches in (self.in_flight.get(batch.partition), self.queues.get(batch.partition)):
            if batches and batch in batches:
                batches.remove(batch)
        self._release(batch)

    def numbered(self, partition: str) -> list[ProducerBatch]:
        """The batches that have a sequence and no final answer, under way or about to be sent again, in order."""
        waiting = (b for b in self.queues.get(partition, ()) if b.base_sequence != -1)
        return sorted([*self.in_flight.get(partition, ()), *waiting], key=lambda b: b.base_sequence)

    def all(self) -> list[ProducerBatch]:
        """Every batch without a final answer; those under way first."""
        return [b for held in (self.in_flight, self.queues) for batches in held.values() for b in batches]

    def never_sent(self) -> list[ProducerBatch]:
        """The batches that no leader can have seen."""
        return [b for queue in self.queues.values() for b in queue if not b.closed]

    def incomplete(self) -> bool:
        """Whether anything is queued or in flight."""
        return any(self.queues.values()) or any(self.in_flight.values())

    def rewrite(self, partition: str, producer: tuple[int, int]) -> None:
        """All batches of the partition that have sequences get new ones from 0, under a new identity (KIP-360)."""
        self.sequences.restart(partition, producer, self.numbered(partition))
