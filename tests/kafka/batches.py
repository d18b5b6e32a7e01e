"""Record batches of magic 2, with any producer id, epoch, sequence and bit, as bytes and back; and malformed ones."""

from __future__ import annotations

import gzip
import struct
from collections.abc import Callable
from typing import Any

import cramjam

from kafkalab.protocol.batch_bytes import varint
from kafkalab.protocol.crc32c import crc32c
from tests.kafka.schema import Reader

TRANSACTIONAL, CONTROL = 0x10, 0x20
MARKS = {0: "ABORT", 1: "COMMIT"}
COMPRESSION = 0b111
_HEAD = struct.Struct(">qiibIhiqqqhii")
_FIELDS = (
    "base_offset", "length", "leader_epoch", "magic", "crc", "attributes", "last_offset_delta", "first_timestamp",
    "max_timestamp", "producer_id", "producer_epoch", "base_sequence", "count",
)  # fmt: skip
_CHECKED_FROM = 21
ODD = {"later_ms", "records", "compression", "packed", "packed_cut", "packed_tail", "header", "cut", "tail", "again"}
"""The keys of a script's batch that says more than values and fields of `Batch`."""


def _lz4(data: bytes) -> bytes:
    """Kafka reads frames of independent blocks only."""
    frame = cramjam.lz4.Compressor(block_linked=False)
    frame.compress(data)
    return bytes(frame.finish())


_COMPRESS: dict[int, Callable[[bytes], Any]] = {
    1: lambda data: gzip.compress(data, mtime=0),
    2: cramjam.snappy.compress_raw,
    3: _lz4,
    4: cramjam.zstd.compress,
}
_DECOMPRESS: dict[int, Callable[[bytes], Any]] = {
    1: gzip.decompress,
    2: cramjam.snappy.decompress_raw,
    3: cramjam.lz4.decompress,
    4: cramjam.zstd.decompress,
}


def record_bytes(value: bytes | None, delta: int, key: bytes | None = None, later_ms: int = 0) -> bytes:
    """Encode one record without headers."""
    body = b"\0" + varint(later_ms) + varint(delta)
    for part in (key, value):
        body += varint(-1) if part is None else varint(len(part)) + part
    body += varint(0)
    return varint(len(body)) + body


def batch_bytes(
    records: bytes,
    count: int,
    timestamp_ms: int,
    attributes: int = 0,
    delta: int = -1,
    producer: tuple[int, int, int] = (-1, -1, -1),
) -> bytes:
    """Encode a batch of encoded records; `producer` is its id, epoch and first sequence."""
    last = delta if delta >= 0 else count - 1
    tail = struct.pack(">hiqqqhii", attributes, last, timestamp_ms, timestamp_ms, *producer, count) + records
    rest = struct.pack(">ibI", -1, 2, crc32c(tail)) + tail
    return struct.pack(">qi", 0, len(rest)) + rest


def batch_of(step: dict[str, Any]) -> bytes:
    """Encode a batch as a script has it; "control" ("COMMIT" or "ABORT") makes it a marker.

    "later_ms" has the time of each record after the batch's. What makes a batch malformed comes in this order:
    "records" are other bytes of records, in hexadecimal digits; "compression" is the number of a codec; "packed" are
    other compressed bytes, "packed_cut" is the number of them that are left, "packed_tail" are bytes that follow them;
    "header" has other values for fields of the header, of which a timestamp may be
    "T+5" for one after the batch's; "cut" is the number of bytes that are left; "tail" are bytes that follow, "again"
    the same batch.
    """
    at, control = step["timestamp_ms"], step.get("control")
    later = step.get("later_ms", [0] * len(step["values"]))
    if control is not None:
        key = struct.pack(">hh", 0, 1 if control == "COMMIT" else 0)
        records, count = record_bytes(struct.pack(">hi", 0, 0), 0, key), 1
    else:
        rows = enumerate(zip(step["values"], later, strict=True))
        records = b"".join(record_bytes(v.encode(), i, None, after) for i, (v, after) in rows)
        count = len(step["values"])
    attributes = (TRANSACTIONAL if step.get("transactional") else 0) | (CONTROL if control is not None else 0)
    producer = tuple(step.get(name, -1) for name in ("producer_id", "producer_epoch", "base_sequence"))
    records = bytes.fromhex(step["records"]) if "records" in step else records
    if codec := step.get("compression", 0):
        attributes |= codec
        records = bytes(_COMPRESS[codec](records)) if codec in _COMPRESS else records
    records = bytes.fromhex(step["packed"]) if "packed" in step else records
    records = records[: step.get("packed_cut", len(records))] + bytes.fromhex(step.get("packed_tail", ""))
    data = batch_bytes(records, count, at, attributes, step.get("last_offset_delta", -1), producer)
    header = {"max_timestamp": f"T+{max(later, default=0)}", **step.get("header", {})}
    data = _with_header(data, {k: _time(v, at) if isinstance(v, str) else v for k, v in header.items()})
    return data[: step.get("cut", len(data))] + (data if step.get("again") else bytes.fromhex(step.get("tail", "")))


def _time(text: str, at: int) -> int:
    return at + int(text[1:])


def _with_header(data: bytes, changed: dict[str, int]) -> bytes:
    """Return the batch with other values in its header, and with the checksum that fits them, or another one."""
    values = {**dict(zip(_FIELDS, _HEAD.unpack_from(data), strict=True)), **changed}
    made = _HEAD.pack(*(values[name] for name in _FIELDS)) + data[_HEAD.size :]
    return made[:17] + struct.pack(">I", changed.get("crc", crc32c(made[_CHECKED_FROM:]))) + made[_CHECKED_FROM:]


def batches_of(data: bytes | None) -> list[dict[str, Any]]:
    """Decode the whole batches of what a Fetch returned; a batch that is cut off is left out."""
    found, reader = [], Reader(data or b"")
    while len(reader.data) - reader.at >= 61:
        base, length = reader.number("int64"), reader.number("int32")
        if len(reader.data) - reader.at < length:
            break
        found.append(_batch(base, Reader(reader.take(length))))
    return found


def _batch(base: int, part: Reader) -> dict[str, Any]:
    part.take(9)  # leader epoch, magic, CRC
    attributes, delta = part.number("int16"), part.number("int32")
    part.take(8)  # first timestamp
    row = {
        "base_offset": base,
        "last_offset": base + delta,
        "timestamp_ms": part.number("int64"),
        "producer_id": part.number("int64"),
        "producer_epoch": part.number("int16"),
        "base_sequence": part.number("int32"),
        "transactional": bool(attributes & TRANSACTIONAL),
        "control": None,
        "coordinator_epoch": -1,
    }
    values, count = [], part.number("int32")
    if codec := attributes & COMPRESSION:
        part = Reader(bytes(_DECOMPRESS[codec](part.take(len(part.data) - part.at))))
    for _ in range(count):
        key, value = _record(part)
        if attributes & CONTROL and key is not None:
            row["control"] = MARKS.get(struct.unpack(">hh", key[:4])[1], "OTHER")
            if value is not None and len(value) >= 6:
                row["coordinator_epoch"] = struct.unpack(">hi", value[:6])[1]
        else:
            values.append(None if value is None else value.decode("utf-8", "replace"))
    return {**row, "values": values}


def _record(part: Reader) -> tuple[bytes | None, bytes | None]:
    part.varint()
    part.take(1)
    part.varint()
    part.varint()
    key, value = _bytes(part), _bytes(part)
    for _ in range(part.varint()):
        part.take(part.varint())
        _bytes(part)
    return key, value


def _bytes(part: Reader) -> bytes | None:
    size = part.varint()
    return None if size < 0 else part.take(size)
