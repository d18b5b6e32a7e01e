"""Record batches of magic 2, with any producer id, epoch, sequence and bit, as bytes and back."""

from __future__ import annotations

import struct
from typing import Any

from kafkalab.protocol.batch_bytes import varint
from kafkalab.protocol.crc32c import crc32c
from tests.kafka.schema import Reader

TRANSACTIONAL, CONTROL = 0x10, 0x20
MARKS = {0: "ABORT", 1: "COMMIT"}


def record_bytes(value: bytes | None, delta: int, key: bytes | None = None) -> bytes:
    """Encode one record without headers."""
    body = b"\0" + varint(0) + varint(delta)
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
    """Encode a batch as a script has it; "control" ("COMMIT" or "ABORT") makes it a marker."""
    control = step.get("control")
    if control is not None:
        key = struct.pack(">hh", 0, 1 if control == "COMMIT" else 0)
        records, count = record_bytes(struct.pack(">hi", 0, 0), 0, key), 1
    else:
        records = b"".join(record_bytes(v.encode(), i) for i, v in enumerate(step["values"]))
        count = len(step["values"])
    attributes = (TRANSACTIONAL if step.get("transactional") else 0) | (CONTROL if control is not None else 0)
    producer = tuple(step.get(name, -1) for name in ("producer_id", "producer_epoch", "base_sequence"))
    return batch_bytes(records, count, step["timestamp_ms"], attributes, step.get("last_offset_delta", -1), producer)


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
    values = []
    for _ in range(part.number("int32")):
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
