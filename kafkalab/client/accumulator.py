"""What a producer has not got an answer for yet: batches per partition, their sequences, their order (facts 7.4)."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any

from kafkalab.client.promise import Promise
from kafkalab.core.records import Batch, Record, sequence_after

RECORD_OVERHEAD_BYTES = 7


@dataclass(slots=True, eq=False)
class ProducerBatch:
    """Records for one partition, each with the promise of its metadata; its sequence is set when it is first sent."""

    partition: str
    created_ms: int
    records: list[Record] = field(default_factory=list)
    promises: list[Promise[Any]] = field(default_factory=list)
    size_bytes: int = 0
    base_sequence: int = -1
    attempts: int = 0
    producer: tuple[int, int] = (-1, -1)

    def as_batch(self, transactional: bool) -> Batch:
        """The batch that goes over the wire."""
        return Batch(
            records=tuple(self.records),
            timestamp_ms=self.created_ms,
            producer_id=self.producer[0],
            producer_epoch=self.producer[1],
            base_sequence=self.base_sequence,
            transactional=transactional,
        )


class Accumulator:
    """Queues per partition. A batch that is sent again keeps its sequence and goes before all newer ones."""

    def __init__(self, batch_size_bytes: int) -> None:
        self.batch_size_bytes = batch_size_bytes
        self.queues: dict[str, deque[ProducerBatch]] = {}
        self.in_flight: dict[str, list[ProducerBatch]] = {}
        self.next_sequence: dict[str, int] = {}
        self.last_acked: dict[str, int] = {}
        self.identity: dict[str, tuple[int, int]] = {}

    def add(self, partition: str, record: Record, promise: Promise[Any], now: int) -> None:
        """Append to the newest unsent batch, or begin one where it is full."""
        size = RECORD_OVERHEAD_BYTES + len(record.key or "") + len(str(record.value))
        queue = self.queues.setdefault(partition, deque())
        last = queue[-1] if queue else None
        if last is None or last.base_sequence != -1 or last.size_bytes + size > self.batch_size_bytes:
            last = ProducerBatch(partition, now)
            queue.append(last)
        last.records.append(record)
        last.promises.append(promise)
        last.size_bytes += size

    def ready(self, partition: str, now: int, linger_ms: int, flushing: bool) -> bool:
        """Whether the partition's first batch may go: full, old enough, sent before, or being flushed."""
        queue = self.queues.get(partition)
        if not queue:
            return False
        first, sent = queue[0], self.in_flight.get(partition)
        if first.base_sequence != -1 and sent and sent[0].base_sequence < first.base_sequence:
            return False  # a retry waits for the older ones that are still under way
        if first.base_sequence == -1 and any(b.attempts > 1 for b in sent or ()):
            return False  # nothing new overtakes a retry
        return flushing or len(queue) > 1 or first.attempts > 0 or now - first.created_ms >= linger_ms

    def drains_for(self, partition: str, producer: tuple[int, int]) -> bool:
        """Whether a batch with this identity may go: none with an older one is still under way."""
        known = self.identity.get(partition, producer)
        return known == producer or not self.in_flight.get(partition) or self.queues[partition][0].base_sequence != -1

    def take(self, partition: str, producer: tuple[int, int]) -> ProducerBatch:
        """The next batch, in flight from now on; with the next sequences if it had none (-1 without a producer id)."""
        batch = self.queues[partition].popleft()
        if batch.base_sequence == -1 and producer[0] >= 0:
            if self.identity.get(partition) != producer:
                self.identity[partition] = producer
                self.next_sequence.pop(partition, None)
                self.last_acked.pop(partition, None)
            batch.base_sequence = self.next_sequence.get(partition, 0)
            self.next_sequence[partition] = sequence_after(batch.base_sequence, len(batch.records))
            batch.producer = producer
        batch.attempts += 1
        self.in_flight.setdefault(partition, []).append(batch)
        return batch

    def acked(self, batch: ProducerBatch) -> None:
        """The leader has it."""
        self.in_flight[batch.partition].remove(batch)
        self.last_acked[batch.partition] = sequence_after(batch.base_sequence, len(batch.records) - 1)

    def again(self, batch: ProducerBatch) -> None:
        """Send it again, in the order of the sequences."""
        self.in_flight[batch.partition].remove(batch)
        queue = self.queues[batch.partition]
        place = sum(1 for b in queue if b.base_sequence != -1 and b.base_sequence < batch.base_sequence)
        queue.insert(place, batch)

    def failed(self, batch: ProducerBatch) -> None:
        """It is given up."""
        self.in_flight[batch.partition].remove(batch)

    def is_next(self, batch: ProducerBatch) -> bool:
        """Whether the batch follows the last one that was acknowledged."""
        last = self.last_acked.get(batch.partition)
        return batch.base_sequence == (0 if last is None else sequence_after(last, 1))

    def unsent(self) -> list[ProducerBatch]:
        """All queued batches, taken out."""
        dropped = [b for queue in self.queues.values() for b in queue]
        self.queues.clear()
        return dropped

    def incomplete(self) -> bool:
        """Whether anything is queued or in flight."""
        return any(self.queues.values()) or any(self.in_flight.values())

    def rewrite(self, partition: str, producer: tuple[int, int]) -> None:
        """All batches of the partition that have sequences get new ones from 0, under a new identity (KIP-360)."""
        numbered = [*self.in_flight.get(partition, ()), *(b for b in self.queues[partition] if b.base_sequence != -1)]
        sequence = 0
        for batch in sorted(numbered, key=lambda b: b.base_sequence):
            batch.base_sequence, batch.producer = sequence, producer
            sequence = sequence_after(sequence, len(batch.records))
        self.next_sequence[partition], self.identity[partition] = sequence, producer
        self.last_acked.pop(partition, None)

    def restart_sequences(self) -> None:
        """A new epoch: every partition starts at 0."""
        self.identity.clear()
        self.next_sequence.clear()
        self.last_acked.clear()
