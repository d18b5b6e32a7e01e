"""Produce without kio: the one request that is never the same twice, read and written directly.

`read` and `write` agree with `codec.read_request` and `codec.response_bytes` in every version that is offered.
"""

from __future__ import annotations

from struct import Struct
from uuid import UUID

from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.produce import PartitionProduced, Produce, ProduceResponse
from kafkalab.protocol.partitions import index_of, topic_of
from kafkalab.protocol.records import Batch
from kafkalab.wire.batches import read_produced
from kafkalab.wire.lengths import Bounds, length_of, skip_tags, unsigned_varint, within
from kafkalab.wire.names import UNKNOWN_ID, Names
from kafkalab.wire.rules import BadMessageError

UNKNOWN_TOPIC_ID = 100
FLEXIBLE_SINCE, BY_ID_SINCE, START_SINCE, MESSAGES_SINCE = 9, 13, 5, 8
_ACKS_AND_TIMEOUT, _SHORT, _INT = Struct(">hi"), Struct(">h"), Struct(">i")
_PRODUCED = Struct(">ihqq")
_LONG = Struct(">q")

_LENGTHS = {flexible: (length_of("string", flexible), length_of("array", flexible)) for flexible in (False, True)}


def _bytes(data: bytes, place: int, size: int) -> tuple[bytes, int]:
    end = within(data, place + size)
    return data[place:end], end


def read(data: bytes, place: int, version: int, names: Names, bounds: Bounds) -> Produce:
    """Return the request whose body begins at `place`, of at most as many rows and tagged fields as the bounds allow.

    BadMessageError, SerialError, StructError or ValueError for bytes that are none.
    """
    flexible = version >= FLEXIBLE_SINCE
    text, array = _LENGTHS[flexible]
    transactional_id = None
    size, place = text(data, place)
    if size >= 0:
        found, place = _bytes(data, place, size)
        transactional_id = found.decode()
    acks, timeout_ms = _ACKS_AND_TIMEOUT.unpack_from(data, place)
    topics, place = array(data, place + _ACKS_AND_TIMEOUT.size)
    bounds.check(data, place, topics)
    batches: dict[str, Batch] = {}
    for _ in range(_rows(topics)):
        if version >= BY_ID_SINCE:
            found, place = _bytes(data, place, 16)
            topic = names.topic(UUID(bytes=found))
        else:
            size, place = text(data, place)
            found, place = _bytes(data, place, _rows(size))
            topic = found.decode()
        rows, place = array(data, place)
        bounds.check(data, place, rows)
        for _ in range(_rows(rows)):
            index = _INT.unpack_from(data, place)[0]
            if index < 0:
                raise BadMessageError(f"partition {index}")
            size, place = array(data, place + 4)
            found, place = _bytes(data, place, max(size, 0))
            batches[f"{topic}-{index}"] = read_produced(found)
            if flexible:
                place = skip_tags(data, place, bounds)
        if flexible:
            place = skip_tags(data, place, bounds)
    if flexible:
        place = skip_tags(data, place, bounds)
    if place != len(data):
        raise BadMessageError(f"{len(data) - place} bytes behind a Produce {version}")
    return Produce(transactional_id=transactional_id, acks=acks, timeout_ms=timeout_ms, batches=batches)


def _rows(count: int) -> int:
    if count < 0:
        raise BadMessageError("null where there must be something")
    return count


def write(response: ProduceResponse, version: int, names: Names) -> bytes:
    """Return the body of a response."""
    flexible = version >= FLEXIBLE_SINCE

    def count(rows: int) -> bytes:
        return unsigned_varint(rows + 1) if flexible else _INT.pack(rows)

    tags = b"\0" if flexible else b""
    topics: dict[str, list[bytes]] = {}
    for partition, produced in response.partitions.items():
        row = _row(index_of(partition), partition, produced, version)
        topics.setdefault(topic_of(partition), []).append(row + tags)
    found = [count(len(topics))]
    for topic, rows in topics.items():
        if version >= BY_ID_SINCE:
            found.append(names.topic_id(topic).bytes)
        else:
            name = topic.encode()
            found += (unsigned_varint(len(name) + 1) if flexible else _SHORT.pack(len(name)), name)
        found += (count(len(rows)), *rows, tags)
    found += (_INT.pack(0), tags)
    return b"".join(found)


def _row(index: int, partition: str, produced: PartitionProduced, version: int) -> bytes:
    error = produced.error
    code = error.code
    if error is Error.UNKNOWN_TOPIC_OR_PARTITION and partition.startswith(UNKNOWN_ID):
        code = UNKNOWN_TOPIC_ID
    row = _PRODUCED.pack(index, code, produced.base_offset, produced.log_append_time_ms)
    if version >= START_SINCE:
        row += _LONG.pack(produced.log_start_offset)
    if version < MESSAGES_SINCE:
        return row
    message = b"" if error is Error.NONE else error.message.encode()
    if version < FLEXIBLE_SINCE:
        return row + _INT.pack(0) + (_SHORT.pack(len(message)) + message if message else _SHORT.pack(-1))
    return row + b"\x01" + (unsigned_varint(len(message) + 1) + message if message else b"\0")
