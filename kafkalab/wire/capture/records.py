"""The records of a batch with their own offsets and times, as compaction and producers may set them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from kafkalab.protocol.batch_bytes import CorruptBatchError, record_fields
from kafkalab.wire.batches import ClientBatch, record_bytes

APPEND_TIME = 1 << 3
"""The attribute of a batch whose time is the leader's (`TimestampType.LOG_APPEND_TIME`)."""
_ATTRIBUTES, _MAX_TIME = slice(21, 23), slice(35, 43)


class RawRecord(NamedTuple):
    """Offset and time of one record, key, value and headers as bytes."""

    offset: int
    at_ms: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[bytes, bytes | None], ...]


def append_time(batch: ClientBatch) -> int:
    """Return when the leader appended the batch, -1 where its times are the producer's."""
    if int.from_bytes(batch.data[_ATTRIBUTES], "big") & APPEND_TIME:
        return int.from_bytes(batch.data[_MAX_TIME], "big", signed=True)
    return -1


def raw_records(batch: ClientBatch) -> Iterator[RawRecord]:
    """Yield the records of a batch. CorruptBatchError for bytes that are none."""
    base, time, appended = batch.base_offset, batch.first_ms, append_time(batch)
    try:
        for later, delta, key, value, headers in record_fields(record_bytes(batch.data), 0, len(batch.records)):
            yield RawRecord(base + delta, appended if appended >= 0 else time + later, key, value, headers)
    except IndexError:
        raise CorruptBatchError("records that end too early") from None
