"""Record batches as a client's bytes: checked when a leader appends them, stored as they came, decoded only when
somebody looks (docs/protocol.md#record-batch)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from struct import Struct
from typing import overload

from kafkalab.protocol import batch_bytes
from kafkalab.protocol.batch_bytes import COMPRESSION, CONTROL, TRANSACTIONAL, CorruptBatchError
from kafkalab.protocol.errors import Error
from kafkalab.protocol.records import HEADER_BYTES, Batch, ControlType, OtherRecords, Record
from kafkalab.wire.compression import CODECS, UnpackError, is_unreadable_in_java, unpack
from kafkalab.wire.record_check import RecordError, check_records

try:
    from crc32c import crc32c
except ImportError:  # in a browser; ours gives the same and takes longer
    from kafkalab.protocol.crc32c import crc32c  # type: ignore[assignment]

_PLACE = Struct(">qii")  # base offset, length of what follows it, leader epoch
_LENGTH = Struct(">i")
_HEAD = Struct(">qiibIhiqqqhii")
_CRC = Struct(">I")
_TIMES = Struct(">qq")  # of the first record, and the largest
_BEFORE_LENGTH, _MAGIC_AT, _CRC_AT, _CHECKED_FROM, _ATTRIBUTES_AT, _TIMES_AT, _COUNT_AT = 12, 16, 17, 21, 21, 27, 57
_ID_ENDS, _IDENTITY_ENDS = 51, 57
"""The ends of the producer id, and of the first sequence, in a header."""
LOG_APPEND_TIME, DELETE_HORIZON = 1 << 3, 1 << 6
NO_TIMESTAMP = -1
_MOST = 2**63 - 1

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
                self._records = decode(self._data)
            except CorruptBatchError:
                self._records = (UNREADABLE,) * min(self._count, len(self._data))
        return self._records[index]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LazyRecords) and self._data == other._data

    def __hash__(self) -> int:
        return hash(self._data)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientBatch(Batch):
    """A batch that a client made. Once a leader has appended it, of `data` only the offset and the leader epoch ever
    change, which no checksum covers. `timestamp_ms` is the largest of its records."""

    data: bytes = field(metadata={"encoded": True})

    @property
    def size_bytes(self) -> int:
        return len(self.data)

    @property
    def codec(self) -> int:
        return self.data[_ATTRIBUTES_AT + 1] & COMPRESSION

    def timestamps(self) -> list[int]:
        """Return the time of each record in milliseconds; RecordError for records that only a leader's check passes."""
        if self.data[_ATTRIBUTES_AT + 1] & LOG_APPEND_TIME:
            return [self.timestamp_ms] * len(self.records)
        later_ms, _ = check_records(*_unpack(self.data), len(self.records), framed=True)
        return [_as_java(self.first_ms + later) for later in later_ms]

    @property
    def first_ms(self) -> int:
        """The timestamp to which those of the records are relative."""
        found: int = _TIMES.unpack_from(self.data, _TIMES_AT)[0]
        return found

    def validate(self, most_bytes: int, now: int, after_max_ms: int) -> Batch | Error:
        """Return the batch with the largest timestamp of its records, or why it is refused, in Kafka's order.

        `UnifiedLog.analyzeAndValidateRecords`, then `LogValidator`.
        """
        error = self._header_error(most_bytes)
        if error is not Error.NONE:
            return error
        data, codec = self.data, self.codec
        try:
            later_ms, in_order = check_records(*_unpack(data), len(self.records), not codec)
        except (UnpackError, RecordError) as wrong:
            return wrong.error
        of_the_log = data[_ATTRIBUTES_AT + 1] & LOG_APPEND_TIME
        if of_the_log:
            oldest = newest = self.timestamp_ms
        else:
            first_ms = self.first_ms
            oldest, newest = _as_java(first_ms + min(later_ms)), _as_java(first_ms + max(later_ms))
        if newest > now + after_max_ms or now - oldest > _MOST or (of_the_log and newest == NO_TIMESTAMP):
            return Error.INVALID_TIMESTAMP
        if codec and not in_order:
            return Error.UNKNOWN_SERVER_ERROR  # Kafka would write the batch anew, and has skipped keys and values
        newest = max(newest, NO_TIMESTAMP)
        return self if newest == self.timestamp_ms and not of_the_log else self._with_largest(newest)

    def _header_error(self, most_bytes: int) -> Error:
        data = self.data
        if self.base_offset != 0:
            return Error.INVALID_RECORD
        if len(data) > most_bytes:
            return Error.MESSAGE_TOO_LARGE
        if len(data) < HEADER_BYTES or _CRC.unpack_from(data, _CRC_AT)[0] != crc32c(memoryview(data)[_CHECKED_FROM:]):
            return Error.CORRUPT_MESSAGE
        codec = self.codec
        if codec and codec not in CODECS:
            return Error.UNKNOWN_SERVER_ERROR
        if not self.may_be_written(len(self.records), self.last_offset_delta):
            return Error.INVALID_RECORD
        return Error.UNKNOWN_SERVER_ERROR if is_unreadable_in_java(codec, data, HEADER_BYTES) else Error.NONE

    def _with_largest(self, newest: int) -> ClientBatch:
        """Return the batch with this largest timestamp, and the flags that Kafka writes anew with it."""
        data = self.data
        flags = data[_ATTRIBUTES_AT + 1] & (COMPRESSION | TRANSACTIONAL | DELETE_HORIZON)
        checked = bytes((0, flags)) + data[_CHECKED_FROM + 2 : _TIMES_AT] + _TIMES.pack(self.first_ms, newest)
        checked += data[_TIMES_AT + _TIMES.size :]
        return replace(self, timestamp_ms=newest, data=data[:_CRC_AT] + _CRC.pack(crc32c(checked)) + checked)


def _as_java(number: int) -> int:
    """Return the number as one of 64 bits."""
    return number if -_MOST <= number <= _MOST else (number + _MOST + 1) % 2**64 - _MOST - 1


def read_produced(data: bytes | None) -> Batch:
    """Return the one batch of a partition in a Produce, not validated yet; `OtherRecords` where there is another number
    of them, or one that has no header (`ByteBufferLogInputStream`, `ProduceRequest.validateRecords`).

    What follows the batch and is too short for a header is cut off (`UnifiedLog.trimInvalidBytes`).
    """
    data = data or b""
    end, magic = _next_batch(data, 0)
    if end < 0:
        return OtherRecords(records=(), batch_count=0, corrupt=end == _CORRUPT, unreadable=end == _TOO_LONG)
    if magic != batch_bytes.MAGIC:
        return OtherRecords(records=(), magic=magic)
    batch = _client_batch(data[:end])
    after, _ = _next_batch(data, end)
    if after == _NO_BATCH and end >= (_IDENTITY_ENDS if batch.in_transaction else _ID_ENDS):
        return batch
    return OtherRecords(
        records=(),
        transactional=batch.transactional,
        batch_count=1 if after < 0 else 2,
        corrupt=after == _CORRUPT,
        unreadable=after in (_NO_BATCH, _TOO_LONG),
    )


_NO_BATCH, _CORRUPT, _TOO_LONG = -1, -2, -3
_LEAST_LENGTH = 14
"""LegacyRecord.RECORD_OVERHEAD_V0: no batch of any magic is shorter."""


def _next_batch(data: bytes, place: int) -> tuple[int, int]:
    """Return the end and the magic of the batch that begins at `place`; for its end also why there is none.

    Of a length that leaves 32 bits when Kafka adds the head to it (_TOO_LONG) it makes an error of its own.
    """
    left = len(data) - place
    if left < _BEFORE_LENGTH:
        return _NO_BATCH, 0
    length = _LENGTH.unpack_from(data, place + 8)[0]
    if length < _LEAST_LENGTH:
        return _CORRUPT, 0
    if left <= _MAGIC_AT:
        return _NO_BATCH, 0
    magic = data[place + _MAGIC_AT]
    if magic > batch_bytes.MAGIC:
        return _CORRUPT, magic
    end = place + _BEFORE_LENGTH + length
    if length >= 2**31 - _BEFORE_LENGTH:
        return _TOO_LONG, magic
    return (end if end <= len(data) else _NO_BATCH), magic


def read_batch(data: bytes) -> Batch:
    """Return a batch of a log or a response; `OtherRecords` for another magic, a wrong length, checksum or count."""
    if len(data) < HEADER_BYTES:
        return OtherRecords(records=(), batch_count=0, corrupt=True)
    if data[_MAGIC_AT] != batch_bytes.MAGIC:
        return OtherRecords(records=(), magic=data[_MAGIC_AT])
    is_whole = _LENGTH.unpack_from(data, 8)[0] + _BEFORE_LENGTH == len(data)
    if not is_whole or _CRC.unpack_from(data, _CRC_AT)[0] != crc32c(memoryview(data)[_CHECKED_FROM:]):
        return OtherRecords(records=(), batch_count=0, corrupt=True)
    if _LENGTH.unpack_from(data, _COUNT_AT)[0] < 0:
        return OtherRecords(records=())
    return _client_batch(data)


def _client_batch(data: bytes) -> ClientBatch:
    """Return the batch that its header says; the fields of a header that is too short are 0."""
    base, _, epoch, _, _, attributes, delta, _, time, pid, producer_epoch, sequence, count = _HEAD.unpack_from(
        data if len(data) >= HEADER_BYTES else data.ljust(HEADER_BYTES, b"\0")
    )
    return ClientBatch(
        records=LazyRecords(data, max(count, 0)),  # type: ignore[arg-type]
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


def decode(data: bytes) -> tuple[Record, ...]:
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
    """Return the bytes of a batch's records, decompressed; CorruptBatchError as for `decode`."""
    body, place, is_whole = _unpack(data)
    if not is_whole:
        raise UnpackError("compressed records that end too early")
    return body[place:]


def _unpack(data: bytes) -> tuple[bytes, int, bool]:
    """Return the bytes of a batch's records, decompressed, where they begin, and whether they are all there are."""
    codec = data[_ATTRIBUTES_AT + 1] & COMPRESSION
    if not codec:
        return data, HEADER_BYTES, True
    body, is_whole = unpack(codec, data[HEADER_BYTES:])
    return body, 0, is_whole


def fitting(batches: Sequence[Batch], limit: int, first_anyway: bool) -> tuple[Batch, ...]:
    """Return the first batches that together have at most `limit` bytes; with `first_anyway` one at least."""
    found: list[Batch] = []
    for batch in batches:
        limit -= batch.size_bytes
        if limit < 0 and not (first_anyway and not found):
            break
        found.append(batch)
    return tuple(found)
