"""The batches of a producer without an answer, per partition, and the memory they hold (`RecordAccumulator`)."""

from __future__ import annotations

from collections import deque
from typing import Any

from kafkalab.client.config.config import ProducerConfig, delivery_timeout_ms
from kafkalab.client.exceptions import BufferExhaustedError, RecordTooLargeError
from kafkalab.client.producer_batch import ProducerBatch, largest_size_of, size_of
from kafkalab.client.promise import Promise
from kafkalab.client.transaction_manager.sequences import Sequences
from kafkalab.protocol.records import Record


class Accumulator:
    """Queues per partition. A batch that is sent again keeps its sequence and goes before all newer ones."""

    def __init__(self, config: ProducerConfig, sequences: Sequences) -> None:
        self.config, self.sequences = config, sequences
        self.batch_size_bytes, self.free_bytes = config.batch_size, config.buffer_memory
        self.delivery_timeout_ms = delivery_timeout_ms(config)
        self.waiting: list[Promise[None]] = []  # calls of `send` that wait for memory
        self.queues: dict[str, deque[ProducerBatch]] = {}
        self.in_flight: dict[str, list[ProducerBatch]] = {}

    def check_size(self, record: Record) -> None:
        """Raise RecordTooLargeError for a record that no request takes, or that memory never holds."""
        size, config = largest_size_of(record), self.config
        text = f"The message is {size} bytes when serialized which is larger than "
        if size > config.max_request_size:
            text += f"{config.max_request_size}, which is the value of the max.request.size configuration."
            raise RecordTooLargeError(text)
        if size > config.buffer_memory:
            text += "the total memory buffer you have configured with the buffer.memory configuration."
            raise RecordTooLargeError(text)

    def describe_exhaustion(self, record: Record) -> BufferExhaustedError:
        """Return Kafka's exception for memory that is full for max.block.ms."""
        return BufferExhaustedError(
            f"Failed to allocate {max(self.batch_size_bytes, size_of(record))} bytes within the configured max "
            f"blocking time {self.config.max_block_ms} ms. Total memory: {self.config.buffer_memory} bytes. Available "
            f"memory: {self.free_bytes} bytes. Poolable size: {self.batch_size_bytes} bytes"
        )

    def has_room(self, partition: str, record: Record) -> bool:
        """Return whether the record fits into an open batch, or memory is left for another batch."""
        queue, size = self.queues.get(partition), size_of(record)
        if queue and not queue[-1].closed and queue[-1].size_bytes + size <= self.batch_size_bytes:
            return True
        return max(self.batch_size_bytes, size) <= self.free_bytes

    def add(self, partition: str, record: Record, promise: Promise[Any], now: int) -> None:
        """Append the record to the partition's newest unsent batch, or to a new one if that is full."""
        size = size_of(record)
        queue = self.queues.setdefault(partition, deque())
        last = queue[-1] if queue else None
        if last is None or last.closed or last.size_bytes + size > self.batch_size_bytes:
            last = ProducerBatch(partition, now, held_bytes=max(self.batch_size_bytes, size))
            self.free_bytes -= last.held_bytes
            queue.append(last)
        last.add(record, promise)

    def _release(self, batch: ProducerBatch) -> None:
        """Free the batch's memory."""
        self.free_bytes, batch.held_bytes = self.free_bytes + batch.held_bytes, 0
        waiting, self.waiting = self.waiting, []
        for promise in waiting:
            promise.resolve(None)

    def ready(self, partition: str, now: int, flushing: bool) -> bool:
        """Return whether the first batch may go: full, linger.ms old, sent before, flushed, or memory is short."""
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
        old = now - first.created_ms >= self.config.linger_ms
        return flushing or bool(self.waiting) or len(queue) > 1 or first.closed or old

    def drains_for(self, partition: str, producer: tuple[int, int]) -> bool:
        """Return whether a batch with this identity may go: none of an older identity is under way."""
        known = self.sequences.identity.get(partition, producer)
        return known == producer or not self.list_numbered(partition) or self.queues[partition][0].base_sequence != -1

    def take(self, partition: str, producer: tuple[int, int]) -> ProducerBatch:
        """Return the next batch, now in flight, with sequences (-1 without a producer id)."""
        batch = self.queues[partition].popleft()
        if batch.base_sequence == -1 and producer[0] >= 0:
            self.sequences.number(batch, producer)
        batch.attempts += 1
        batch.closed, batch.renumbered = True, False
        self.in_flight.setdefault(partition, []).append(batch)
        return batch

    def again(self, batch: ProducerBatch) -> None:
        """Queue a batch in flight again, in the order of the sequences."""
        self.in_flight[batch.partition].remove(batch)
        batch.retried = True
        self._insert(batch)

    def split(self, batch: ProducerBatch) -> None:
        """Replace a batch in flight by smaller ones with its sequences; a part of an earlier split is halved."""
        self.in_flight[batch.partition].remove(batch)
        self._release(batch)
        for part in batch.split(self.batch_size_bytes):
            self._insert(part)

    def _insert(self, batch: ProducerBatch) -> None:
        queue = self.queues.setdefault(batch.partition, deque())
        place = sum(1 for b in queue if b.closed and b.base_sequence <= batch.base_sequence)
        queue.insert(place if batch.base_sequence != -1 else 0, batch)

    def remove(self, batch: ProducerBatch) -> None:
        """Drop a batch that is acknowledged or given up."""
        for batches in (self.in_flight.get(batch.partition), self.queues.get(batch.partition)):
            if batches and batch in batches:
                batches.remove(batch)
        self._release(batch)

    def list_numbered(self, partition: str) -> list[ProducerBatch]:
        """Return the batches with a sequence and no final answer, in the order of their sequences."""
        waiting = (b for b in self.queues.get(partition, ()) if b.base_sequence != -1)
        return sorted([*self.in_flight.get(partition, ()), *waiting], key=lambda b: b.base_sequence)

    def all(self) -> list[ProducerBatch]:
        """Return every batch without a final answer; those in flight first."""
        return [b for held in (self.in_flight, self.queues) for batches in held.values() for b in batches]

    def never_sent(self) -> list[ProducerBatch]:
        """Return the batches that were never sent."""
        return [b for queue in self.queues.values() for b in queue if not b.closed]

    def incomplete(self) -> bool:
        """Return whether anything is queued or in flight."""
        return any(self.queues.values()) or any(self.in_flight.values())

    def list_expired(self, now: int) -> list[ProducerBatch]:
        """Return the batches older than delivery.timeout.ms: first those that wait, then those in flight."""
        waiting = [b for queue in self.queues.values() for b in queue]
        flying = [b for batches in self.in_flight.values() for b in batches]
        return [b for b in (*waiting, *flying) if now - b.created_ms >= self.delivery_timeout_ms]

    def next_expiry_ms(self) -> int | None:
        """Return the time at which the oldest batch expires; None if there is no batch."""
        created = [b.created_ms for b in self.all()]
        return min(created) + self.delivery_timeout_ms if created else None

    def rewrite(self, partition: str, producer: tuple[int, int]) -> None:
        """Number the partition's batches from 0 on, under this identity (KIP-360)."""
        self.sequences.restart(partition, producer, self.list_numbered(partition))

    def restart_sequences(self, producer: tuple[int, int]) -> None:
        """Rewrite the partitions with a gap."""
        for partition in self.sequences.to_restart:
            self.rewrite(partition, producer)
        self.sequences.to_restart.clear()
