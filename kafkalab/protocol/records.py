"""Records and record batches, the unit that a leader checks, appends and replicates (docs/protocol.md#record-batch)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, TypeAlias

from kafkalab.protocol.errors import Error

NO_PRODUCER_ID = -1
NO_PRODUCER_EPOCH = -1
NO_SEQUENCE = -1
HEADER_BYTES = 61
MARKER_BYTES = 78
SEQUENCE_MAX = 2**31 - 1


Headers: TypeAlias = tuple[tuple[str, bytes | None], ...]
"""Keys, which may come again, each with a value (KIP-82)."""


class ControlType(Enum):
    """Key type of a control record: the marker that ends a transaction on one partition."""

    ABORT = 0
    COMMIT = 1


@dataclass(frozen=True, slots=True)
class Record:
    """A key and a value; in the internal topics the value is the decoded entry and None is a tombstone."""

    key: str | None
    value: Any
    headers: Headers = field(default=(), metadata={"unless_empty": True})


def headers_bytes(headers: Headers) -> int:
    """Return how many bytes these headers take in a record; one if there are none."""
    size = _varint_bytes(len(headers))
    for key, value in headers:
        size += field_bytes(key) + (1 if value is None else _varint_bytes(len(value)) + len(value))
    return size


def _varint_bytes(number: int) -> int:
    """The length of this number, not below 0, as a zig-zag varint."""
    return (number.bit_length() + 7) // 7


def field_bytes(value: Any) -> int:
    """The length of a key or value with its own length before it."""
    if value is None:
        return 1
    text = str(value)
    length = len(text) if text.isascii() else len(text.encode())
    return _varint_bytes(length) + length


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """A batch as it lies in a log. `base_offset` is -1 until a leader appends it.

    `control` is set on a marker only; a marker has one record, no sequence, and takes one offset.
    `last_offset_delta` is the last offset less the first; -1 says: as the records count, none is missing.
    """

    records: tuple[Record, ...]
    base_offset: int = -1
    leader_epoch: int = -1
    timestamp_ms: int = 0
    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = NO_PRODUCER_EPOCH
    base_sequence: int = NO_SEQUENCE
    transactional: bool = False
    control: ControlType | None = None
    coordinator_epoch: int = -1
    last_offset_delta: int = -1

    def timestamps(self) -> list[int]:
        """Return the time of each record in milliseconds, as its producer set it."""
        return [self.timestamp_ms] * len(self.records)

    def place(self, base_offset: int, leader_epoch: int) -> Batch:
        """The batch at an offset, as the leader of this epoch appends it."""
        if type(self) is not Batch:
            return replace(self, base_offset=base_offset, leader_epoch=leader_epoch)
        return Batch(  # as `replace` would, in a third of the time
            records=self.records,
            base_offset=base_offset,
            leader_epoch=leader_epoch,
            timestamp_ms=self.timestamp_ms,
            producer_id=self.producer_id,
            producer_epoch=self.producer_epoch,
            base_sequence=self.base_sequence,
            transactional=self.transactional,
            control=self.control,
            coordinator_epoch=self.coordinator_epoch,
            last_offset_delta=self.last_offset_delta,
        )

    @property
    def offset_delta(self) -> int:
        """The last offset less the first, also where compaction has removed records."""
        return self.last_offset_delta if self.last_offset_delta >= 0 else len(self.records) - 1

    @property
    def offsets(self) -> Sequence[int]:
        """The offset of each record."""
        return range(self.base_offset, self.base_offset + len(self.records))

    @property
    def last_offset(self) -> int:
        delta = self.last_offset_delta
        return self.base_offset + (delta if delta >= 0 else len(self.records) - 1)

    @property
    def in_transaction(self) -> bool:
        """True if the batch is part of a transaction: the bit means nothing without a producer id (`UnifiedLog`)."""
        return self.transactional and self.producer_id >= 0

    @property
    def last_sequence(self) -> int:
        return sequence_after(self.base_sequence, self.offset_delta)

    @property
    def size_bytes(self) -> int:
        """The bytes of the batch in a log, uncompressed; an entry of an internal topic counts as its text, about."""
        if self.control is not None:
            return MARKER_BYTES if self.records else HEADER_BYTES
        size, base = HEADER_BYTES, self.base_offset
        for offset, record in zip(self.offsets, self.records, strict=True):
            content = 3 + _varint_bytes(offset - base) + field_bytes(record.key) + field_bytes(record.value)
            if record.headers:
                content += headers_bytes(record.headers) - 1
            size += _varint_bytes(content) + content
        return size

    @property
    def codec(self) -> int:
        """The number of the compression of its records; 0 for none."""
        return 0

    def validate(self, most_bytes: int, now: int, after_max_ms: int) -> Batch | Error:
        """Return the batch as a leader appends it at `now`, or why it refuses what a client sent (`LogValidator`).

        The limits are message.max.bytes and message.timestamp.after.max.ms. Only what came in bytes is held to the
        second: a run that was saved of real clients has their times, and a clock that begins at 0.
        """
        if self.size_bytes > most_bytes:
            return Error.MESSAGE_TOO_LARGE
        return self if self.may_be_written(len(self.records), self.offset_delta) else Error.INVALID_RECORD

    def may_be_written(self, count: int, offset_delta: int) -> bool:
        """Return True if a client may write such a batch of `count` records: as many as there are offsets, with a
        sequence if it is numbered, and no marker."""
        if self.control is not None or not 0 < count == offset_delta + 1:
            return False
        return self.producer_id < 0 or self.base_sequence >= 0


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanedBatch(Batch):
    """A batch as compaction wrote it anew: it may lack records, or all of them; its offsets and sequences stay.

    `offset_deltas` has each record's offset less the first. After `delete_horizon_ms` (-1 if it has none: attribute
    bit 6 is not set) a later cleaning may remove its tombstones, or a marker whose transaction's data is gone.
    """

    offset_deltas: tuple[int, ...] = ()
    delete_horizon_ms: int = -1

    @property
    def offsets(self) -> Sequence[int]:
        return tuple(self.base_offset + delta for delta in self.offset_deltas)


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherRecords(Batch):
    """The records of a request for a partition that are not exactly one batch of magic 2; every leader refuses it.

    `corrupt` says that what follows the first `batch_count` batches has a length or a magic that cannot be
    (CORRUPT_MESSAGE), `unreadable` that the header ends before the fields that a leader reads first
    (UNKNOWN_SERVER_ERROR); anything else is INVALID_RECORD.
    """

    magic: int = 2
    batch_count: int = 1
    corrupt: bool = field(default=False, metadata={"unless_empty": True})
    unreadable: bool = field(default=False, metadata={"unless_empty": True})


def sequence_after(sequence: int, count: int) -> int:
    """`count` sequences later, wrapping from 2147483647 to 0 (`DefaultRecordBatch.incrementSequence`)."""
    if sequence == NO_SEQUENCE:
        return NO_SEQUENCE
    return (sequence + count) & SEQUENCE_MAX


def marker(producer_id: int, producer_epoch: int, control: ControlType, coordinator_epoch: int, now_ms: int) -> Batch:
    """A control batch: COMMIT or ABORT for one producer id and epoch."""
    return Batch(
        records=(Record(control.name, None),),
        timestamp_ms=now_ms,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        transactional=True,
        control=control,
        coordinator_epoch=coordinator_epoch,
    )
