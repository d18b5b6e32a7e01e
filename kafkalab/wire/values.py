"""Conversion of single values between Kafka's messages and kafkalab's: errors, nodes, batches, subscriptions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, NamedTuple

from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.fetch import READ_COMMITTED, READ_UNCOMMITTED
from kafkalab.protocol.messages.leave_group import LeavingMember
from kafkalab.protocol.partitions import index_of, topic_of
from kafkalab.wire.batches import bytes_of, read_batches, read_produced
from kafkalab.wire.primitives import ROWS, Sink, Source
from kafkalab.wire.structs import UNREADABLE, raw, versioned_bytes


class Kind(NamedTuple):
    """`read(value, source)` makes kafkalab's value of Kafka's, `write(value, sink)` the opposite; None leaves it as it
    is. What follows from another field is not `reads`."""

    read: Callable[[Any, Source], Any] | None = None
    write: Callable[[Any, Sink], Any] | None = None
    reads: bool = True


def _kind(read: Callable[[Any], Any], write: Callable[[Any], Any]) -> Kind:
    return Kind(lambda value, _: read(value), lambda value, _: write(value))


ERRORS = {error.code: error for error in Error}


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


def _read_consumer_protocol(kind: str, data: bytes) -> Any:
    """Return what clients send each other through the coordinator, read as version 0, with which every later one
    begins; nothing of bytes that are of another protocol than consumers'."""
    try:
        return raw(f"ConsumerProtocol{kind}", 0).read(Source(data, 2, rows=ROWS))
    except UNREADABLE:
        return {}


def subscription(data: bytes) -> Encoded:
    """Return the topics of a member's subscription; none where the bytes are of another protocol than consumers'."""
    return Encoded(_read_consumer_protocol("Subscription", data).get("topics", ()), data)


def subscription_bytes(topics: tuple[str, ...]) -> bytes:
    """Return the member's own bytes, or a subscription of version 0."""
    if isinstance(topics, Encoded):
        return topics.data
    return versioned_bytes("ConsumerProtocolSubscription", 0, {"topics": topics})


def assignment(data: bytes) -> Encoded:
    """Return the partitions of an assignment; none where the bytes are of another protocol than consumers'."""
    return Encoded(partitions_in(_read_consumer_protocol("Assignment", data).get("assigned_partitions", ())), data)


def assignment_bytes(partitions: tuple[str, ...]) -> bytes:
    """Return the leader's own bytes, none for nothing, or an assignment of version 0."""
    if isinstance(partitions, Encoded):
        return partitions.data
    rows = by_topic(partitions)
    return versioned_bytes("ConsumerProtocolAssignment", 0, {"assigned_partitions": rows}) if rows else b""


def partitions_in(rows: Iterable[dict[str, Any]], name: str = "topic", numbers: str = "partitions") -> list[str]:
    """Return the partitions of rows of a topic and its partitions' numbers."""
    return [f"{row[name]}-{number}" for row in rows for number in row[numbers]]


def _read_assigned(found: Any, source: Source) -> tuple[str, ...] | None:
    """Return the partitions of a structure with topics by their ids; None where there is none."""
    if found is None:
        return None
    topic = source.names.topic
    return tuple(f"{topic(row['topic_id'])}-{n}" for row in found["topic_partitions"] for n in row["partitions"])


def _assigned_rows(partitions: tuple[str, ...] | None, sink: Sink) -> dict[str, object] | None:
    if partitions is None:
        return None
    rows = by_topic(partitions, "topic_name")
    return {"topic_partitions": [{**row, "topic_id": sink.names.topic_id(str(row["topic_name"]))} for row in rows]}


def by_topic(
    partitions: Iterable[str], name: str = "topic", numbers: str = "partitions", row: Callable[[str], Any] = index_of
) -> list[dict[str, object]]:
    """Return a row for each topic, with its partitions' numbers, or what `row` makes of a partition."""
    found: dict[str, list[Any]] = {}
    for partition in partitions:
        found.setdefault(topic_of(partition), []).append(row(partition))
    return [{name: topic, numbers: rows} for topic, rows in found.items()]


AS_IT_IS = Kind()
OR_EMPTY = Kind(lambda value, _: value or "")
OR_NULL = _kind(lambda value: value or "", lambda value: value or None)
ERROR = _kind(lambda code: ERRORS.get(code, Error.UNKNOWN_SERVER_ERROR), lambda error: error.code)
"""UNKNOWN_SERVER_ERROR stands for one that no handler of the lab uses."""
ISOLATION = _kind(lambda level: READ_COMMITTED if level == 1 else READ_UNCOMMITTED, lambda name: name == READ_COMMITTED)
BATCH = _kind(read_produced, lambda batch: bytes_of((replace(batch, base_offset=max(batch.base_offset, 0)),)))
"""Of a Produce. A batch that no log has placed yet is sent with base offset 0."""
BATCHES = _kind(read_batches, bytes_of)
MAX_BYTES, PARTITION_MAX_BYTES = 52_428_800, 1_048_576
"""The values of `fetch.max.bytes` and `max.partition.fetch.bytes` of a consumer of ours."""
LIMIT = _kind(
    lambda size: None if size == MAX_BYTES else size, lambda size: MAX_BYTES if size is None else size
)
EPOCH_END = _kind(
    lambda found: (found["epoch"], found["end_offset"]) if found["epoch"] >= 0 else None,
    lambda found: dict(zip(("epoch", "end_offset"), found or (-1, -1), strict=True)),
)
SUBSCRIPTION = _kind(subscription, subscription_bytes)
ASSIGNMENT = _kind(assignment, assignment_bytes)
ONE_MEMBER = _kind(lambda member_id: (LeavingMember(member_id),), lambda members: members[0].member_id)
EXPECTED_NODE = Kind(
    lambda node_id, source: "" if node_id < 0 else source.names.node(node_id) or f"node {node_id}",
    lambda node, sink: sink.names.node_id(node),
)
"""A node that need not be of this cluster; "" is none."""
ASSIGNED = Kind(_read_assigned, _assigned_rows)
"""The partitions of a member of a consumer group, None if they are the same as before."""
OR_NO_EPOCH = _kind(lambda epoch: None if epoch < 0 else epoch, lambda epoch: -1 if epoch is None else epoch)
NODE = Kind(lambda node_id, source: source.names.node(node_id), lambda node, sink: sink.names.node_id(node))

NODES = Kind(
    lambda ids, source: tuple(map(source.names.node, ids)), lambda nodes, sink: tuple(map(sink.names.node_id, nodes))
)


def write_only(write: Callable[[Any, Sink], Any]) -> Kind:
    """Return a kind for what follows from another field: it is written only."""
    return Kind(None, write, False)


CLIENT_HOST = "/127.0.0.1"
"""The text that is written for a member's host, which the lab does not keep."""
HOST = write_only(lambda node, sink: sink.names.address(node)[0])
PORT = write_only(lambda node, sink: sink.names.address(node)[1])
MESSAGE = write_only(lambda error, _: None if error is Error.NONE else error.message)
TOPIC_ID = write_only(lambda topic, sink: sink.names.topic_id(topic))
