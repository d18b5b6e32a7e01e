"""A batch as Kafka's logs and requests hold it: record batch v2, uncompressed (docs/protocol.md#record-batch;
`DefaultRecordBatch`).

Keys and values are text in UTF-8, the values of headers bytes. All records of a batch have the batch's timestamp.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from struct import Struct

from kafkalab.protocol.crc32c import crc32c as pure_crc32c
from kafkalab.protocol.records import Batch, ControlType, Headers, Record

MAGIC = 2
TRANSACTIONAL, CONTROL = 1 << 4, 1 << 5
COMPRESSION = 0b111
GZIP, SNAPPY, LZ4, ZSTD = 1, 2, 3, 4
"""The compressions, by their number in a batch's attributes."""
_HEAD = Struct(">qiibI")  # base offset, length of what follows it, leader epoch, magic, CRC of what follows
_BODY = Struct(">hiqqqhii")  # attributes, offset delta, timestamps, producer id, epoch, sequence, record count
_BEFORE_LENGTH = 12
_MARKER_KEY = Struct(">hh")  # version, type
_MARKER_VALUE = Struct(">hi")  # version, coordinator epoch


class CorruptBatchError(Exception):
    """The bytes are not one record batch v2, or not the one that was written."""


def text_contents(record: Record) -> tuple[bytes | None, bytes | None]:
    """Return key and value in UTF-8."""
    key = None if record.key is None else record.key.encode()
    return key, None if record.value is None else str(record.value).encode()


def text_record(key: bytes | None, value: bytes | None, headers: Headers) -> Record:
    """Return the record of a key and a value in UTF-8."""
    return Record(_text(key), _text(value), headers)


def encode(
    batch: Batch,
    crc32c: Callable[[bytes], int] = pure_crc32c,
    contents: Callable[[Record], tuple[bytes | None, bytes | None]] = text_contents,
) -> bytes:
    """Return the batch with its checksum. `contents` makes key and value of a record of data.

    A marker's record is made from its type and its coordinator epoch.
    """
    attributes = (TRANSACTIONAL if batch.transactional else 0) | (CONTROL if batch.control is not None else 0)
    time = batch.timestamp_ms
    numbers = (batch.producer_id, batch.producer_epoch, batch.base_sequence, len(batch.records))
    body = _BODY.pack(attributes, batch.offset_delta, time, time, *numbers)
    made = (_marker_contents(batch) if batch.control is not None else contents(record) for record in batch.records)
    rows = zip(made, batch.records, strict=True)
    body += b"".join(_record(n, *fields, record.headers) for n, (fields, record) in enumerate(rows))
    length = _HEAD.size - _BEFORE_LENGTH + len(body)
    return _HEAD.pack(batch.base_offset, length, batch.leader_epoch, MAGIC, crc32c(body)) + body


def _marker_contents(batch: Batch) -> tuple[bytes, bytes]:
    assert batch.control is not None
    return _MARKER_KEY.pack(0, batch.control.value), _MARKER_VALUE.pack(0, batch.coordinator_epoch)


def _record(offset_delta: int, key: bytes | None, value: bytes | None, headers: Headers) -> bytes:
    content = b"\0" + varint(0) + varint(offset_delta) + _field(key) + _field(value) + varint(len(headers))
    for name, data in headers:
        content += _field(name.encode()) + _field(data)
    return varint(len(content)) + content


def _field(data: bytes | None) -> bytes:
    return varint(-1) if data is None else varint(len(data)) + data


def varint(number: int) -> bytes:
    """Zig-zag, seven bits a byte, the lowest first: `varint(-1) == b"\\x01"`, `varint(64) == b"\\x80\\x01"`."""
    rest, out = (number << 1) ^ (number >> 63), bytearray()
    while rest > 0x7F:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    out.append(rest)
    return bytes(out)


def decode(
    data: bytes,
    crc32c: Callable[[bytes], int] = pure_crc32c,
    record_of: Callable[[bytes | None, bytes | None, Headers], Record] = text_record,
) -> Batch:
    """The batch that `encode` wrote; CorruptBatchError for a wrong length, magic or checksum.

    `record_of` makes a record of data of its key, value and headers. As text, bytes that are no UTF-8 are read as \\x
    and two digits.
    """
    if len(data) < _HEAD.size + _BODY.size:
        raise CorruptBatchError(f"{len(data)} bytes are too few")
    base_offset, length, leader_epoch, magic, crc = _HEAD.unpack_from(data)
    if length != len(data) - _BEFORE_LENGTH or magic != MAGIC:
        raise CorruptBatchError(f"a batch of magic {magic} with {length} bytes, in {len(data)}")
    if crc != crc32c(data[_HEAD.size :]):
        raise CorruptBatchError("the checksum is wrong")
    attributes, delta, time, _, producer_id, epoch, sequence, count = _BODY.unpack_from(data, _HEAD.size)
    if attributes & COMPRESSION:
        raise CorruptBatchError("a compressed batch")
    contents = [
        (key, value, tuple((name.decode(errors="backslashreplace"), header) for name, header in headers))
        for _, _, key, value, headers in record_fields(data, _HEAD.size + _BODY.size, count)
    ]
    control, coordinator_epoch = _marker(*contents[0][:2]) if attributes & CONTROL and contents else (None, -1)
    records = (record_of(*fields) for fields in contents)
    return Batch(
        records=(Record(control.name, None),) if control else tuple(records),
        base_offset=base_offset,
        leader_epoch=leader_epoch,
        timestamp_ms=time,
        producer_id=producer_id,
        producer_epoch=epoch,
        base_sequence=sequence,
        transactional=bool(attributes & TRANSACTIONAL),
        control=control,
        coordinator_epoch=coordinator_epoch,
        last_offset_delta=-1 if delta == count - 1 else delta,
    )


def _marker(key: bytes | None, value: bytes | None) -> tuple[ControlType, int]:
    """Type and coordinator epoch. Newer versions of both are read as this one."""
    if key is None or value is None or _MARKER_KEY.unpack_from(key)[1] not in (0, 1):
        raise CorruptBatchError("a control record that is no transaction marker")
    return ControlType(_MARKER_KEY.unpack_from(key)[1]), _MARKER_VALUE.unpack_from(value)[1]


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode(errors="backslashreplace")


def record_fields(
    data: bytes, place: int, count: int
) -> Iterator[tuple[int, int, bytes | None, bytes | None, tuple[tuple[bytes, bytes | None], ...]]]:
    """Yield of each record from `place` on its timestamp's and its offset's delta, key, value and headers.

    IndexError for bytes that end too early.
    """

    def varint() -> int:
        nonlocal place
        byte = data[place]
        place += 1
        if byte < 0x80:
            return byte >> 1 ^ -(byte & 1)
        number, shift = byte & 0x7F, 7
        while True:
            byte = data[place]
            place += 1
            number |= (byte & 0x7F) << shift
            if byte < 0x80:
                return number >> 1 ^ -(number & 1)
            shift += 7

    def field() -> bytes | None:
        nonlocal place
        size = varint()
        if size < 0:
            return None
        place += size
        return data[place - size : place]

    for _ in range(count):
        end = varint() + place
        place += 1
        later, delta = varint(), varint()
        key, value, headers = field(), field(), varint()
        yield later, delta, key, value, tuple((field() or b"", field()) for _ in range(headers)) if headers else ()
        place = end
