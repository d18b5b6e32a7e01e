"""Fields that no rule describes: what a server offers, the cluster's image, the members that leave a group."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from kio.schema.errors import ErrorCode

from kafkalab.broker.handlers.create_topics import is_legal
from kafkalab.protocol.cluster_metadata import ClusterMetadata, PartitionInfo
from kafkalab.protocol.messages.api_versions import ApiVersionsResponse
from kafkalab.protocol.messages.leave_group import LeaveGroupResponse
from kafkalab.protocol.messages.metadata import Metadata, MetadataResponse
from kafkalab.protocol.messages.registry import BY_NAME
from kafkalab.protocol.partitions import INTERNAL_TOPICS, index_of, topic_of
from kafkalab.wire.names import UNKNOWN_ID
from kafkalab.wire.rules import Values
from kafkalab.wire.shapes import Shape
from kafkalab.wire.values import CODES, ERROR, Context

# ApiVersions

OFFERED = {
    "Produce": range(3, 14), "Fetch": range(4, 19), "ListOffsets": range(1, 12), "Metadata": range(0, 14),
    "OffsetCommit": range(2, 11), "OffsetFetch": range(1, 11), "FindCoordinator": range(0, 7),
    "JoinGroup": range(2, 10), "Heartbeat": range(0, 5), "LeaveGroup": range(0, 6), "SyncGroup": range(0, 6),
    "DescribeGroups": range(0, 7), "ApiVersions": range(0, 5), "CreateTopics": range(2, 8),
    "DeleteRecords": range(0, 3), "InitProducerId": range(0, 6), "AddPartitionsToTxn": range(0, 4),
    "AddOffsetsToTxn": range(0, 5), "EndTxn": range(0, 6), "WriteTxnMarkers": range(1, 3),
    "TxnOffsetCommit": range(0, 6), "DeleteGroups": range(0, 3), "OffsetDelete": range(0, 1),
    "DescribeCluster": range(0, 3), "DescribeProducers": range(0, 1), "DescribeTransactions": range(0, 1),
    "ListTransactions": range(0, 3), "ConsumerGroupHeartbeat": range(0, 2),
}  # fmt: skip
"""The versions that a server offers, by API. AddPartitionsToTxn 4 and 5 are for brokers only (KIP-890)."""

FEATURE = "transaction.version"


def api_keys(message: Any, context: Context, shape: Shape) -> Any:
    row = shape.row("api_keys")
    assert row is not None
    return tuple(
        row(api_key=BY_NAME[name].key, min_version=offered[0], max_version=offered[-1])
        for name, offered in OFFERED.items()
    )


def supported(message: Any, context: Context, shape: Shape) -> Any:
    row = shape.row("supported_features")
    assert row is not None
    return (row(name=FEATURE, min_version=0, max_version=2),)


def finalized(message: ApiVersionsResponse, context: Context, shape: Shape) -> Any:
    """Level 0 is no feature at all."""
    row, level = shape.row("finalized_features"), message.transaction_version
    assert row is not None
    return (row(name=FEATURE, max_version_level=level, min_version_level=level),) if level else ()


def level(features: Any, values: Values, context: Context) -> None:
    values["transaction_version"] = next((f.max_version_level for f in features if f.name == FEATURE), 0)


# Metadata and DescribeCluster


def brokers(message: Any, context: Context, shape: Shape) -> Any:
    """The live brokers: those of an image, or of a description."""
    rows = shape.inner("brokers", None)
    node_id = "node_id" if "node_id" in rows.hints else "broker_id"
    alive = message.metadata.alive if isinstance(message, MetadataResponse) else message.brokers
    places = ((context.names.node_id(name), *context.names.address(name)) for name in alive)
    return tuple(rows.theirs(**{**rows.blank, node_id: n, "host": host, "port": port}) for n, host, port in places)


def some_broker(message: Any, context: Context, shape: Shape) -> int:
    """A client is told some live broker, which forwards what is meant for the controller."""
    alive = message.metadata.alive if isinstance(message, MetadataResponse) else message.brokers
    return context.names.node_id(alive[0]) if alive else -1


def names_of_brokers(rows: Any, values: Values, context: Context) -> None:
    values["brokers"] = tuple(context.names.node(row.broker_id) for row in rows)


def ignored(value: Any, values: Values, context: Context) -> None:
    """Read nothing."""


def all_topics(message: Any) -> bool:
    """Return whether a Metadata request of kio's is about every topic."""
    return message.topics is None or (type(message).__version__ == 0 and not message.topics)


def refusal(message: Any) -> ErrorCode | None:
    """Return what all topics of a Metadata request of kio's are refused with, or None.

    Versions 10 and 11 have fields for ids and null names, and no use for them; from 12 on a topic may have no name if
    one of the request's has an id (`KafkaApis.handleTopicMetadataRequest`).
    """
    rows = message.topics or ()
    with_ids = any(map(_id_of, rows))
    nameless = any(row.name is None for row in rows)
    if type(message).__version__ < 12:
        return ErrorCode.invalid_request if with_ids or nameless else None
    return ErrorCode.unknown_server_error if nameless and not with_ids else None


def _id_of(row: Any) -> UUID | None:
    """Return the topic id of a row of a Metadata request; versions below 10 have no field for it."""
    return getattr(row, "topic_id", None)


def asked_topics(message: Any, context: Context) -> tuple[str, ...]:
    """Return the topics that a Metadata request of kio's names; if one has an id, those that have one."""
    if all_topics(message) or refusal(message) is not None:
        return ()
    by_id = [context.names.topic(topic_id) for topic_id in map(_id_of, message.topics) if topic_id]
    return tuple(dict.fromkeys(by_id or (row.name for row in message.topics)))


def topic_rows(message: MetadataResponse, context: Context, shape: Shape) -> Any:
    image, inner = message.metadata, shape.inner("topics", None)
    error = refusal(context.message) if context.message is not None else None
    if error is not None:
        refused = {**inner.blank, "error_code": error, "partitions": ()}
        rows = context.message.topics
        return tuple(inner.theirs(**refused | {"name": r.name or "", "topic_id": r.topic_id}) for r in rows)
    names: Any = asked_topics(context.message, context) if context.message is not None else ()
    if context.message is None or all_topics(context.message):
        names = dict.fromkeys(topic_of(p) for p in image.partitions)
    row = inner.inner("partitions", None)
    return tuple(_topic(name, image, context, inner, row) for name in names)


def _topic(name: str, image: ClusterMetadata, context: Context, shape: Shape, row: Shape) -> Any:
    partitions = image.partitions_of(name)
    error = ErrorCode.none if partitions else ErrorCode.unknown_topic_or_partition
    values: Values = {**shape.blank, "name": name, "error_code": error}
    if name.startswith(UNKNOWN_ID):
        values |= {"name": None, "error_code": ErrorCode.unknown_topic_id}
    elif not is_legal(name):
        values["error_code"] = ErrorCode.invalid_topic_exception
    if "topic_id" in shape.hints and (partitions or name.startswith(UNKNOWN_ID)):
        values["topic_id"] = context.names.topic_id(name)
    if "is_internal" in shape.hints:
        values["is_internal"] = name in INTERNAL_TOPICS
    values["partitions"] = tuple(_partition(index_of(p), image.partitions[p], image, context, row) for p in partitions)
    return shape.theirs(**values)


def _partition(index: int, info: PartitionInfo, image: ClusterMetadata, context: Context, shape: Shape) -> Any:
    node_id = context.names.node_id
    leads = info.leader in image.alive
    values: Values = {
        "error_code": ErrorCode.none if leads else ErrorCode.leader_not_available,
        "partition_index": index,
        "leader_id": node_id(info.leader) if leads else -1,
        "leader_epoch": info.leader_epoch,
        "replica_nodes": tuple(map(node_id, info.replicas)),
        "isr_nodes": tuple(map(node_id, info.isr)),
        "offline_replicas": tuple(node_id(r) for r in info.replicas if r not in image.alive),
    }
    return shape.theirs(**{name: value for name, value in values.items() if name in shape.hints})


def read_image(rows: Any, values: Values, context: Context) -> None:
    """Only what is in the topics; the live brokers are added by `alive`."""
    node = context.names.node
    values["metadata"] = ClusterMetadata(
        0,
        values["metadata"].alive if "metadata" in values else (),
        {
            f"{topic.name}-{row.partition_index}": PartitionInfo(
                leader=node(row.leader_id),
                leader_epoch=getattr(row, "leader_epoch", 0),
                replicas=tuple(map(node, row.replica_nodes)),
                isr=tuple(map(node, row.isr_nodes)),
            )
            for topic in rows
            for row in topic.partitions
        },
    )


def alive(rows: Any, values: Values, context: Context) -> None:
    values["metadata"] = ClusterMetadata(0, tuple(context.names.node(row.node_id) for row in rows))


def topics_of(rows: Any, values: Values, context: Context) -> None:
    named = rows or ()
    values["topics"] = tuple(r.name if r.name is not None else context.names.topic(r.topic_id) for r in named)


def topics_asked(message: Metadata, context: Context, shape: Shape) -> Any:
    row = shape.inner("topics", None)
    if not message.topics and type(None) in shape.hints["topics"].__args__:
        return None
    return tuple(row.theirs(**{**row.blank, "name": topic}) for topic in message.topics)


# LeaveGroup


def left(message: LeaveGroupResponse, context: Context, shape: Shape) -> Any:
    """One row for each member of the request; none where the request was refused as a whole."""
    row, errors = shape.row("members"), message.errors
    assert row is not None
    if context.asked is None:
        return tuple(row(member_id=k, group_instance_id=None, error_code=CODES[e]) for k, e in errors.items())
    return tuple(
        row(member_id=m.member_id, group_instance_id=m.group_instance_id, error_code=CODES[errors[key]])
        for m in context.asked.members
        if (key := m.member_id or m.group_instance_id or "") in errors
    )


def leaving(rows: Any, values: Values, context: Context) -> None:
    read = ERROR.read
    values["errors"] = {r.member_id or r.group_instance_id or "": read(r.error_code, context) for r in rows}
