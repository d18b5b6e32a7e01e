"""Conversion of single values between kio and kafkalab: errors, times, nodes, batches, subscriptions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from struct import Struct
from struct import error as StructError
from typing import Any, NamedTuple

from kio.schema.errors import ErrorCode

from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.fetch import READ_COMMITTED, READ_UNCOMMITTED
from kafkalab.protocol.messages.leave_group import LeavingMember
from kafkalab.wire.batches import bytes_of, read_batches, read_produced
from kafkalab.wire.names import Names


@dataclass(slots=True)
class Context:
    """The context that an answer depends on: the cluster's names, and the request, as kio's and as our message."""

    names: Names
    message: Any = None
    asked: Any = None


class Kind(NamedTuple):
    """`read(value, context)` makes kafkalab's value of kio's, `write` the opposite; not every field is read."""

    read: Callable[[Any, Context], Any]
    write: Callable[[Any, Context], Any]
    reads: bool = True


def _kind(read: Callable[[Any], Any], write: Callable[[Any], Any]) -> Kind:
    return Kind(lambda value, _: read(value), lambda value, _: write(value))


ERRORS = {error.code: error for error in Error}
CODES = {error: ErrorCode(error.code) for error in Error}
EPOCH = datetime.fromtimestamp(0, UTC)
MILLISECOND = timedelta(milliseconds=1)


@lru_cache(maxsize=1024)
def milliseconds(count: int) -> timedelta:
    """Return so many milliseconds as kio has them."""
    return timedelta(milliseconds=count)


def error_of_code(code: ErrorCode) -> Error:
    """Return kafkalab's error; UNKNOWN_SERVER_ERROR for one that no handler of the lab uses."""
    return ERRORS.get(code.value, Error.UNKNOWN_SERVER_ERROR)


class Encoded(tuple[str, ...]):
    """Topics or partitions, with the bytes in which a member sent them: what else these hold is passed on unread."""

    data: bytes

    def __new__(cls, items: Iterable[str], data: bytes) -> Encoded:
        made = super().__new__(cls, items)
        made.data = data
        return made

    def __getnewargs__(self) -> tuple[tuple[str, ...], bytes]:
        return tuple(self), self.data

    def __eq__(self, other: object) -> bool:
        return self.data == other.data if isinstance(other, Encoded) else super().__eq__(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = tuple.__hash__


_SHORT, _INT = Struct(">h"), Struct(">i")


class _Bytes:
    """Reads the two messages that clients send each other through the coordinator (`ConsumerProtocol`)."""

    def __init__(self, data: bytes) -> None:
        self.data, self.place = data, 2  # behind the version

    def number(self) -> int:
        self.place += 4
        number: int = _INT.unpack_from(self.data, self.place - 4)[0]
        return number

    def text(self) -> str:
        start = self.place + 2
        self.place = start + _SHORT.unpack_from(self.data, self.place)[0]
        return self.data[start : self.place].decode(errors="replace")


def subscription(data: bytes) -> Encoded:
    """Return the topics of a member's subscription; none where the bytes are of another protocol than consumers'."""
    return Encoded(_topics(data), data)


def _topics(data: bytes) -> list[str]:
    reader = _Bytes(data)
    try:
        return [reader.text() for _ in range(min(reader.number(), len(data)))]
    except StructError:
        return []


def subscription_bytes(topics: tuple[str, ...]) -> bytes:
    """Return the member's own bytes, or a subscription of version 0."""
    if isinstance(topics, Encoded):
        return topics.data
    return b"\0\0" + _INT.pack(len(topics)) + b"".join(map(_text, topics)) + _INT.pack(-1)


def assignment(data: bytes) -> Encoded:
    """Return the partitions of an assignment; none where the bytes are of another protocol than consumers'."""
    return Encoded(_partitions(data), data)


def _partitions(data: bytes) -> list[str]:
    reader, found = _Bytes(data), []
    try:
        for _ in range(min(reader.number(), len(data))):
            topic = reader.text()
            found += [f"{topic}-{reader.number()}" for _ in range(min(reader.number(), len(data)))]
    except StructError:
        return []
    return found


def assignment_bytes(partitions: tuple[str, ...]) -> bytes:
    """Return the leader's own bytes, none for nothing, or an assignment of version 0."""
    if isinstance(partitions, Encoded):
        return partitions.data
    topics: dict[str, list[int]] = {}
    for partition in partitions:
        topic, _, index = partition.rpartition("-")
        topics.setdefault(topic, []).append(int(index))
    rows = (_text(t) + _INT.pack(len(found)) + b"".join(map(_INT.pack, found)) for t, found in topics.items())
    return b"\0\0" + _INT.pack(len(topics)) + b"".join(rows) + _INT.pack(-1) if topics else b""


def _text(value: str) -> bytes:
    data = value.encode()
    return _SHORT.pack(len(data)) + data


def _since_epoch(time: datetime | None) -> int:
    return -1 if time is None else (time - EPOCH) // MILLISECOND


AS_IT_IS = _kind(lambda value: value, lambda value: value)
OR_EMPTY = _kind(lambda value: value or "", lambda value: value)
OR_NULL = _kind(lambda value: value or "", lambda value: value or None)
ERROR = _kind(error_of_code, CODES.__getitem__)
DURATION = _kind(lambda value: value // MILLISECOND, milliseconds)
TIME = _kind(_since_epoch, lambda ms: EPOCH + timedelta(milliseconds=ms))
TIME_OR_NULL = _kind(_since_epoch, lambda ms: None if ms < 0 else EPOCH + timedelta(milliseconds=ms))
ISOLATION = _kind(lambda level: READ_COMMITTED if level == 1 else READ_UNCOMMITTED, lambda name: name == READ_COMMITTED)
BATCH = _kind(read_produced, lambda batch: bytes_of((replace(batch, base_offset=max(batch.base_offset, 0)),)))
"""Of a Produce. A batch that no log has placed yet is sent with base offset 0."""
BATCHES = _kind(read_batches, bytes_of)
SUBSCRIPTION = _kind(subscription, subscription_bytes)
ASSIGNMENT = _kind(assignment, assignment_bytes)
ONE_MEMBER = _kind(lambda member_id: (LeavingMember(member_id),), lambda members: members[0].member_id)
NODE = Kind(lambda node_id, context: context.names.node(node_id), lambda node, context: context.names.node_id(node))

def written(write: Callable[[Any, Context], Any]) -> Kind:
    """Return a kind for what follows from another field: it is written only."""
    return Kind(lambda value, context: None, write, False)


HOST = written(lambda node, context: context.names.address(node)[0])
PORT = written(lambda node, context: context.names.address(node)[1])
MESSAGE = written(lambda error, context: None if error is Error.NONE else error.message)
TOPIC_ID = written(lambda topic, context: context.names.topic_id(topic))
