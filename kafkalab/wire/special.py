"""Fields that no rule describes: what a server offers, the cluster's image, the members that leave a group."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from kafkalab.broker.handlers.create_topics import is_legal
from kafkalab.protocol.api import REFERENCES
from kafkalab.protocol.cluster_metadata import ClusterMetadata, PartitionInfo
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.api_versions import ApiVersionsResponse
from kafkalab.protocol.messages.describe_topic_partitions import DescribedTopic
from kafkalab.protocol.messages.leave_group import LeaveGroupResponse
from kafkalab.protocol.messages.metadata import Metadata, MetadataResponse
from kafkalab.protocol.messages.registry import ALL, BY_NAME
from kafkalab.protocol.partitions import INTERNAL_TOPICS, index_of, topic_of
from kafkalab.wire.names import UNKNOWN_ID, UNKNOWN_TOPIC_ID, Names
from kafkalab.wire.primitives import Sink, Source
from kafkalab.wire.structs import Values
from kafkalab.wire.values import ERRORS

# ApiVersions

OFFERED = {
    kafka: {api.name: api.offered_by(kafka) for api in sorted(ALL, key=lambda api: api.key) if api.offered}
    for kafka in REFERENCES
}
"""The versions that a server offers, by release of Kafka and by API."""

FEATURE = "transaction.version"
NOBODY = UUID(int=0)
"""The topic id that says none."""


def api_keys(error: Error, sink: Sink) -> Any:
    """Return nothing for a request that is refused, unless its version is the reason."""
    if error not in (Error.NONE, Error.UNSUPPORTED_VERSION):
        return []
    return [
        {"api_key": BY_NAME[api].key, "min_version": versions[0], "max_version": versions[-1]}
        for api, versions in OFFERED[sink.names.kafka].items()
    ]


def list_supported(error: Error, sink: Sink) -> Any:
    return [{"name": FEATURE, "max_version": 2}] if error is Error.NONE else []


def list_finalized(message: ApiVersionsResponse, sink: Sink) -> Any:
    """Level 0 is no feature at all."""
    level = message.transaction_version
    return ({"name": FEATURE, "max_version_level": level, "min_version_level": level},) if level else ()


def level(features: Any, values: Values, source: Source) -> None:
    values["transaction_version"] = next((f["max_version_level"] for f in features if f["name"] == FEATURE), 0)


# Metadata and DescribeCluster


def brokers(alive: tuple[str, ...], sink: Sink) -> Any:
    places = ((sink.names.node_id(name), *sink.names.address(name)) for name in alive)
    return [{"node_id": n, "broker_id": n, "host": host, "port": port} for n, host, port in places]


def names_of_brokers(rows: Any, source: Source) -> tuple[str, ...]:
    return tuple(source.names.node(row["broker_id"]) for row in rows)


def some_broker(alive: tuple[str, ...], sink: Sink) -> int:
    """A client is told some live broker, which forwards what is meant for the controller."""
    return sink.names.node_id(alive[0]) if alive else -1


def all_topics(asked: Any) -> bool:
    """Return whether a Metadata request that was read is about every topic."""
    rows = asked.aside.get("topics")
    return rows is None or (asked.version == 0 and not rows)


def refusal(asked: Any) -> int | None:
    """Return the code that all topics of a Metadata request are refused with, or None.

    Versions 10 and 11 have fields for ids and null names, and no use for them; from 12 on a topic may have no name if
    one of the request's has an id (`KafkaApis.handleTopicMetadataRequest`).
    """
    rows = asked.aside.get("topics") or ()
    with_ids = any(map(_id_of, rows))
    nameless = any(row["name"] is None for row in rows)
    if asked.version < 12:
        return Error.INVALID_REQUEST.code if with_ids or nameless else None
    return Error.UNKNOWN_SERVER_ERROR.code if nameless and not with_ids else None


def _id_of(row: Values) -> UUID | None:
    """Return the topic id of a row of a Metadata request; versions below 10 have no field for it."""
    found = row.get("topic_id", NOBODY)
    return None if found == NOBODY else found


def asked_topics(asked: Any, names: Names) -> tuple[str, ...]:
    """Return the topics that a Metadata request names; if one has an id, those that have one."""
    if all_topics(asked) or refusal(asked) is not None:
        return ()
    rows = asked.aside.get("topics")
    by_id = [names.topic(topic_id) for topic_id in map(_id_of, rows) if topic_id]
    return tuple(dict.fromkeys(by_id or (row["name"] for row in rows)))


def topic_rows(message: MetadataResponse, sink: Sink) -> Any:
    image, asked = message.metadata, sink.request
    error = refusal(asked)
    if error is not None:
        return [{**row, "name": row["name"] or "", "error_code": error} for row in asked.aside.get("topics")]
    if all_topics(asked):
        return [_topic(name, image, sink.names) for name in dict.fromkeys(topic_of(p) for p in image.partitions)]
    return [_topic(name, image, sink.names) for name in asked_topics(asked, sink.names)]


def _topic(name: str, image: ClusterMetadata, names: Names) -> Values:
    partitions = image.partitions_of(name)
    rows = [_partition(index_of(p), image.partitions[p], image, names) for p in partitions]
    if name.startswith(UNKNOWN_ID):
        return {"name": None, "error_code": UNKNOWN_TOPIC_ID, "topic_id": names.topic_id(name)}
    unknown = Error.UNKNOWN_TOPIC_OR_PARTITION if is_legal(name) else Error.INVALID_TOPIC_EXCEPTION
    return {
        "error_code": (Error.NONE if partitions and is_legal(name) else unknown).code,
        "name": name,
        "topic_id": names.topic_id(name) if partitions else NOBODY,
        "is_internal": name in INTERNAL_TOPICS,
        "partitions": rows,
    }


def _partition(index: int, info: PartitionInfo, image: ClusterMetadata, names: Names) -> Values:
    leads, node_id = info.leader in image.alive, names.node_id
    return {
        "error_code": (Error.NONE if leads else Error.LEADER_NOT_AVAILABLE).code,
        "partition_index": index,
        "leader_id": node_id(info.leader) if leads else -1,
        "leader_epoch": info.leader_epoch,
        "replica_nodes": tuple(map(node_id, info.replicas)),
        "isr_nodes": tuple(map(node_id, info.isr)),
        "offline_replicas": tuple(node_id(r) for r in info.replicas if r not in image.alive),
    }


def id_of_described(topic: DescribedTopic, sink: Sink) -> UUID:
    """Return the id of a topic that there is; none with an error, as Kafka does."""
    return sink.names.topic_id(topic.name) if topic.error is Error.NONE else NOBODY


def read_image(rows: Any, values: Values, source: Source) -> None:
    """Only what is in the topics; the live brokers are added by `alive`."""
    node = source.names.node
    values["metadata"] = ClusterMetadata(
        0,
        values["metadata"].alive if "metadata" in values else (),
        {
            f"{topic['name']}-{row['partition_index']}": PartitionInfo(
                leader=node(row["leader_id"]),
                leader_epoch=row.get("leader_epoch", 0),
                replicas=tuple(map(node, row["replica_nodes"])),
                isr=tuple(map(node, row["isr_nodes"])),
            )
            for topic in rows
            for row in topic["partitions"]
        },
    )


def alive(rows: Any, values: Values, source: Source) -> None:
    places = {source.names.node(row["node_id"]): (row["host"], row["port"]) for row in rows}
    source.names.addresses.update(places)
    values["metadata"] = ClusterMetadata(0, tuple(places))


def topics_of(rows: Any, values: Values, source: Source) -> None:
    source.aside["topics"] = rows
    topic = source.names.topic
    values["topics"] = tuple(topic(r["topic_id"]) if r["name"] is None else r["name"] for r in rows or ())


def topics_asked(message: Metadata, sink: Sink) -> Any:
    return [{"name": topic} for topic in message.topics] or None


# LeaveGroup


def list_left_members(message: LeaveGroupResponse, sink: Sink) -> Any:
    """One row for each member of the request; none where the request was refused as a whole."""
    errors = message.errors
    members = (
        [(m.member_id, m.group_instance_id) for m in sink.asked.members] if sink.asked else [(k, None) for k in errors]
    )
    return [
        {"member_id": member_id, "group_instance_id": instance, "error_code": errors[key].code}
        for member_id, instance in members
        if (key := member_id or instance or "") in errors
    ]


def leaving(rows: Any, values: Values, source: Source) -> None:
    values["errors"] = {
        row["member_id"] or row["group_instance_id"] or "": ERRORS.get(row["error_code"], Error.UNKNOWN_SERVER_ERROR)
        for row in rows
    }
