"""Producer state as bytes: the contents of a `.snapshot` file (docs/protocol.md#producer-state-files;
`ProducerStateManager`).

Version, CRC-32C of all that follows, number of entries, entries. Of each producer only the last batch is stored.
"""

from __future__ import annotations

from struct import Struct

from kafkalab.log.producer_state.entry import NO_OFFSET, CachedBatch, ProducerEntry
from kafkalab.protocol.crc32c import crc32c

VERSION = 1
_HEAD = Struct(">hI")
_COUNT = Struct(">i")
_ENTRY = Struct(">qhiqiqiq")


class CorruptSnapshotError(Exception):
    """The bytes are not a snapshot, or not the one that was written."""


def encode(entries: dict[int, ProducerEntry]) -> bytes:
    """The snapshot of these entries, in their order."""
    body = _COUNT.pack(len(entries)) + b"".join(_pack(pid, entry) for pid, entry in entries.items())
    return _HEAD.pack(VERSION, crc32c(body)) + body


def _pack(producer_id: int, entry: ProducerEntry) -> bytes:
    last = entry.batches[-1] if entry.batches else None
    return _ENTRY.pack(
        producer_id,
        entry.producer_epoch,
        entry.last_sequence,
        entry.last_data_offset,
        last.offset_delta if last else 0,
        entry.last_timestamp_ms,
        entry.coordinator_epoch,
        NO_OFFSET if entry.txn_first_offset is None else entry.txn_first_offset,
    )


def decode(data: bytes) -> dict[int, ProducerEntry]:
    """The entries of a snapshot, by producer id; CorruptSnapshotError for anything else."""
    if len(data) < _HEAD.size + _COUNT.size:
        raise CorruptSnapshotError(f"{len(data)} bytes are too few")
    version, crc = _HEAD.unpack_from(data)
    if version != VERSION:
        raise CorruptSnapshotError(f"version {version} is unknown")
    if crc != crc32c(data[_HEAD.size :]):
        raise CorruptSnapshotError("the checksum is wrong")
    (count,) = _COUNT.unpack_from(data, _HEAD.size)
    body = data[_HEAD.size + _COUNT.size :]
    if len(body) != count * _ENTRY.size:
        raise CorruptSnapshotError(f"{count} entries do not take {len(body)} bytes")
    return dict(_unpack(fields) for fields in _ENTRY.iter_unpack(body))


def _unpack(fields: tuple[int, ...]) -> tuple[int, ProducerEntry]:
    producer_id, epoch, last_sequence, last_offset, delta, timestamp_ms, coordinator_epoch, txn_first_offset = fields
    batches = [CachedBatch(last_sequence, last_offset, delta, timestamp_ms)] if last_offset >= 0 else []
    first = txn_first_offset if txn_first_offset >= 0 else None
    return producer_id, ProducerEntry(epoch, coordinator_epoch, batches, first, timestamp_ms)
