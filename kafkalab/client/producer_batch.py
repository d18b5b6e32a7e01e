"""A batch of a producer: its records with their promises, its sequence once it has one (`ProducerBatch`)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from kafkalab.client.promise import Promise
from kafkalab.client.results import RecordMetadata
from kafkalab.protocol.records import Batch, Record, field_bytes, headers_bytes, sequence_after

RECORD_OVERHEAD_BYTES = 7
LARGEST_OVERHEAD_BYTES = 82
"""The header of a batch, 61, and at most 21 for a record (`AbstractRecords.estimateSizeInBytesUpperBound`)."""


def size_of(record: Record) -> int:
    """Estimate the bytes that a record takes."""
    return RECORD_OVERHEAD_BYTES + len(record.key or "") + len(str(record.value)) + headers_bytes(record.headers) - 1


def largest_size_of(record: Record) -> int:
    """Return the most bytes that a batch of this one record can take: what max.request.size is compared with."""
    content = field_bytes(record.key) + field_bytes(record.value) + headers_bytes(record.headers)
    return LARGEST_OVERHEAD_BYTES + content


@dataclass(slots=True, eq=False)
class ProducerBatch:
    """Records for one partition. `closed`: it was sent or split, and takes no more records.

    `retried`: it was queued again after an answer. `renumbered`: its sequence changed since it was sent last.
    """

    partition: str
    created_ms: int
    records: list[Record] = field(default_factory=list)
    promises: list[Promise[Any]] = field(default_factory=list)
    size_bytes: int = 0
    held_bytes: int = 0
    base_sequence: int = -1
    attempts: int = 0
    producer: tuple[int, int] = (-1, -1)
    closed: bool = False
    retried: bool = False
    renumbered: bool = False
    done: bool = False
    is_split: bool = False

    def add(self, record: Record, promise: Promise[Any]) -> None:
        """Add a record."""
        self.records.append(record)
        self.promises.append(promise)
        self.size_bytes += size_of(record)

    @property
    def last_sequence(self) -> int:
        return sequence_after(self.base_sequence, len(self.records) - 1)

    def as_batch(self, transactional: bool) -> Batch:
        """Return the batch that goes over the wire."""
        return Batch(
            records=tuple(self.records),
            timestamp_ms=self.created_ms,
            producer_id=self.producer[0],
            producer_epoch=self.producer[1],
            base_sequence=self.base_sequence,
            transactional=transactional,
        )

    def complete(self, base_offset: int) -> None:
        """Resolve the promises: the first record has `base_offset` (-1: the leader did not return it)."""
        self.done = True
        for i, promise in enumerate(self.promises):
            promise.resolve(RecordMetadata(self.partition, base_offset + i if base_offset >= 0 else -1))

    def give_up(self, error: BaseException) -> None:
        """Fail the promises."""
        self.done = True
        for promise in self.promises:
            promise.fail(error)

    def split(self, batch_size_bytes: int) -> list[ProducerBatch]:
        """Return batches of at most batch.size, of half this size if it came from a split; the sequences continue."""
        limit = batch_size_bytes
        if self.is_split:
            limit = max(max(size_of(r) for r in self.records), self.size_bytes // 2)
        parts: list[ProducerBatch] = []
        for record, promise in zip(self.records, self.promises, strict=True):
            if not parts or parts[-1].size_bytes + size_of(record) > limit:
                parts.append(ProducerBatch(self.partition, self.created_ms, closed=True, is_split=True))
            parts[-1].add(record, promise)
        sequence = self.base_sequence
        for part in parts:
            part.base_sequence, part.producer = sequence, self.producer
            sequence = sequence_after(sequence, len(part.records))
        return parts
