"""Record batches as a client's bytes: checked and stored as they came, decoded only when somebody looks
(docs/protocol.md#record-batch)."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from struct import Struct
from typing import Any, overload

from kafkalab.protocol import batch_bytes
from kafkalab.protocol.batch_bytes import COMPRESSION, CONTROL, TRANSACTIONAL, CorruptBatchError
from kafkalab.protocol.records import HEADER_BYTES, Batch, ControlType, OtherRecords, Record

try:
    from crc32c import crc32c
except ImportError:  # in a browser; ours gives the same and takes longer
    from kafkalab.protocol.crc32c import crc32c  # type: ignore[assignment]

_PLACE = Struct(">qii")  # base offset, length of what follows it, leader epoch
_PLACED, _LENGTH = Struct(">q"), Struct(">i")
_HEAD = Struct(">qiibIhiqqqhii")
_CRC = Struct(">I")
_BEFORE_LENGTH, _MAGIC_AT, _CRC_AT, _CHECKED_FROM = 12, 16, 17, 21
_XERIAL = b"\x82SNAPPY\x00"
DECODED_MOST = 64 * 1024 * 1024


UNREADABLE = Record(None, "(records that cannot be read)")


class LazyRecords(Sequence[Record]):
    """The records of a batch, decoded when the first of them is asked for; how many there are is in its header.

    Where they cannot be decoded, each is `UNREADABLE`; no more of them than there are bytes.
    """

    __slots__ = ("_count", "_data", "_records")

    def __init__(self, data: bytes, count: int) -> None:
        self._data, self._count = data, count
        self._records: tuple[Record, ...] | None = None

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> Record: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Record]: ...
    def __getitem__(self, index: int | slice) -> Record | Sequence[Record]:
        if self._records is None:
            try:
                self._records = decoded(self._data)
            except CorruptBatchError:
                self._records = (UNREADABLE,) * min(self._count, len(self._data))
        return self._records[index]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LazyRecords) and self._data == other._data

    def __hash__(self) -> int:
        return hash(self._data)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientBatch(Batch):
    """A batch that a client made. Of `data` only the offset and the leader epoch ever change, which no checksum covers.
    """

    data: bytes = field(metadata={"encoded": True})

    @property
    def size_bytes(self) -> int:
        return len(self.data)

    def timestamps(self) -> list[int]:
        fields = batch_bytes.record_fields(record_bytes(self.data), 0, len(self.records))
        return [self.timestamp_ms + later for later, *_ in fields]


def read_produced(data: bytes | None) -> Batch:
    """Return the one batch of a partition in a Produce; `OtherRecords` for what a leader refuses.

    In Kafka's order: `ByteBufferLogInputStream.nextBatchSize`, `ProduceRequest.validateRecords`,
    `UnifiedLog.analyzeAndValidateRecords`, `LogValidator`. What follows the batch and is too short for a header is cut
    off (`UnifiedLog.trimInvalidBytes`). Records are decompressed, but not read one by one.
    """
    data = data or b""
    found = _framed(data)
    if isinstance(found, OtherRecords):
        return found
    if _PLACED.unpack_from(data)[0] != 0:
        return OtherRecords(records=())
    batch = read_batch(data[:found])
    if not isinstance(batch, ClientBatch):
        return batch
    if batch.last_offset_delta < 0:
        return OtherRecords(records=())
    if int.from_bytes(data[_CHECKED_FROM : _CHECKED_FROM + 2], "big") & COMPRESSION:
        try:
            record_bytes(batch.data)
        except EndsTooEarlyError:
            return OtherRecords(records=())
        except CorruptBatchError:
            return OtherRecords(records=(), unreadable=True)
    return batch


def _framed(data: bytes) -> int | OtherRecords:
    """Return where the only batch ends, or what is there instead."""
    end, magic = _next_batch(data, 0)
    if end == _CORRUPT:
        return OtherRecords(records=(), corrupt=True)
    if end == _NO_BATCH:
        return OtherRecords(records=(), batch_count=0)
    if magic != batch_bytes.MAGIC:
        return OtherRecords(records=(), magic=magic)
    after, _ = _next_batch(data, end)
    if after == _CORRUPT:
        return OtherRecords(records=(), corrupt=True)
    return end if after == _NO_BATCH else OtherRecords(records=(), batch_count=2)


_NO_BATCH, _CORRUPT = -1, -2
_LEAST_LENGTH = 14
"""LegacyRecord.RECORD_OVERHEAD_V0: no batch of any magic is shorter."""


def _next_batch(data: bytes, place: int) -> tuple[int, int]:
    """Return the end and the magic of the batch that begins at `place`; _NO_BATCH or _CORRUPT for its end."""
    left = len(data) - place
    if left < _BEFORE_LENGTH:
        return _NO_BATCH, 0
    length = _PLACE.unpack_from(data, place)[1] if left >= _PLACE.size else _LENGTH.unpack_from(data, place + 8)[0]
    if length < _LEAST_LENGTH:
        return _CORRUPT, 0
    if left <= _MAGIC_AT:
        return _NO_BATCH, 0
    magic = data[place + _MAGIC_AT]
    if magic > batch_bytes.MAGIC:
        return _CORRUPT, magic
    end = place + _BEFORE_LENGTH + length
    return (end if end <= len(data) else _NO_BATCH), magic


def read_batch(data: bytes) -> Batch:
    """Return a batch of a log or a response; `OtherRecords` for another magic, a wrong length, checksum or count."""
    if len(data) < HEADER_BYTES:
        return OtherRecords(records=(), corrupt=True)
    base, length, epoch, magic, crc, attributes, delta, _, time, pid, producer_epoch, sequence, count = (
        _HEAD.unpack_from(data)
    )
    if magic != batch_bytes.MAGIC:
        return OtherRecords(records=(), magic=magic)
    if length + _BEFORE_LENGTH != len(data) or crc != crc32c(memoryview(data)[_CHECKED_FROM:]):
        return OtherRecords(records=(), corrupt=True)
    if count < 0:
        return OtherRecords(records=())
    return ClientBatch(
        records=LazyRecords(data, count),  # type: ignore[arg-type]
        base_offset=base,
        leader_epoch=epoch,
        timestamp_ms=time,
        producer_id=pid,
        producer_epoch=producer_epoch,
        base_sequence=sequence,
        transactional=bool(attributes & TRANSACTIONAL),
        control=ControlType.ABORT if attributes & CONTROL else None,
        last_offset_delta=delta,
        data=data,
    )


def batch_bytes_of(batch: Batch) -> bytes:
    """Return the batch with its offset and leader epoch, as a log holds it."""
    if isinstance(batch, ClientBatch):
        data = batch.data
        return _PLACE.pack(batch.base_offset, len(data) - _BEFORE_LENGTH, batch.leader_epoch) + data[_PLACE.size :]
    return batch_bytes.encode(batch, crc32c)


def bytes_of(batches: Iterable[Batch]) -> bytes:
    """Return batches one behind the other, as Fetch returns them."""
    return b"".join(map(batch_bytes_of, batches))


def read_batches(data: bytes | None) -> tuple[Batch, ...]:
    """Return the whole batches of what a Fetch returned; a last one that is cut off is left out."""
    found, place = [], 0
    data = data or b""
    while len(data) - place >= HEADER_BYTES:
        end = place + _BEFORE_LENGTH + _PLACE.unpack_from(data, place)[1]
        if not place + HEADER_BYTES <= end <= len(data):
            break
        one = data[place:end]
        control = one[_CHECKED_FROM + 1] & CONTROL
        found.append(batch_bytes.decode(one) if control else read_batch(one))
        place = end
    return tuple(found)


def decoded(data: bytes) -> tuple[Record, ...]:
    """Return the records of a batch, decompressed; CorruptBatchError for what is none, or larger than 64 MB."""
    attributes = int.from_bytes(data[_CHECKED_FROM : _CHECKED_FROM + 2], "big")
    body = record_bytes(data)
    flags = (attributes & ~COMPRESSION).to_bytes(2, "big")
    checked = flags + data[_CHECKED_FROM + 2 : HEADER_BYTES] + body
    head = _PLACE.pack(0, HEADER_BYTES - _BEFORE_LENGTH + len(body), 0) + data[_MAGIC_AT:_CRC_AT]
    try:
        return batch_bytes.decode(head + _CRC.pack(crc32c(checked)) + checked, crc32c).records
    except IndexError:
        raise CorruptBatchError("records that end too early") from None


def record_bytes(data: bytes) -> bytes:
    """Return the bytes of a batch's records, decompressed; CorruptBatchError as for `decoded`."""
    attributes = int.from_bytes(data[_CHECKED_FROM : _CHECKED_FROM + 2], "big")
    body = data[HEADER_BYTES:]
    if codec := attributes & COMPRESSION:
        unreadable = [_cramjam().DecompressionError] if codec in _CODECS and codec != _GZIP else []
        try:
            body = _CODECS[codec](body)
        except EOFError:
            raise EndsTooEarlyError("compressed records that end too early") from None
        except (KeyError, OSError, zlib.error, *unreadable) as error:
            raise CorruptBatchError(f"records that cannot be decompressed: {error}") from None
    if len(body) > DECODED_MOST:
        raise CorruptBatchError(f"{len(body)} bytes of records")
    return body


class EndsTooEarlyError(CorruptBatchError):
    """Compressed records end before their stream does."""


def _gunzip(data: bytes) -> bytes:
    """Return what gzip has packed, at most a byte more than DECODED_MOST. EOFError for a stream that is cut off."""
    unpacker = zlib.decompressobj(zlib.MAX_WBITS + 16)
    found = unpacker.decompress(data, DECODED_MOST + 1)
    if not unpacker.eof and len(found) <= DECODED_MOST:
        raise EOFError
    return found


def _cramjam() -> Any:
    """Return the module of compressions, which only a client's snappy, lz4 and zstd need, and no browser has."""
    try:
        return import_module("cramjam")
    except ModuleNotFoundError:
        needed = "snappy, lz4 and zstd need cramjam: pip install 'kafkalab-course[wire]'"
        raise ModuleNotFoundError(needed, name="cramjam") from None


def _snappy(data: bytes) -> bytes:
    """Java writes blocks behind a header of its own; other clients may write one raw block."""
    if not data.startswith(_XERIAL):
        return bytes(_cramjam().snappy.decompress_raw(data))
    found, place = b"", 16
    while place < len(data):
        size = int.from_bytes(data[place : place + 4], "big")
        found += bytes(_cramjam().snappy.decompress_raw(data[place + 4 : place + 4 + size]))
        place += 4 + size
    return found


_GZIP = 1
_CODECS: dict[int, Callable[[bytes], Any]] = {
    _GZIP: _gunzip,
    2: _snappy,
    3: lambda data: bytes(_cramjam().lz4.decompress(data)),
    4: lambda data: bytes(_cramjam().zstd.decompress(data)),
}


def fitting(batches: Sequence[Batch], limit: int, first_anyway: bool) -> tuple[Batch, ...]:
    """Return the first batches that together have at most `limit` bytes; with `first_anyway` one at least."""
    found: list[Batch] = []
    for batch in batches:
        limit -= batch.size_bytes
        if limit < 0 and not (first_anyway and not found):
            break
        found.append(batch)
    return tuple(found)
