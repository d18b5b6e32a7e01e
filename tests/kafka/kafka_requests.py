"""For each API: the fields of a script's request, as Kafka's message has them."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from kafkalab.protocol.cluster_metadata import CLUSTER_ID
from tests.kafka import running_kafka
from tests.kafka.batches import batch_of
from tests.kafka.kafka_names import Names

Fields = dict[str, Any]
ISOLATION = {"read_uncommitted": 0, "read_committed": 1}


def _index(partition: str) -> int:
    return 0


def _identity(g: Fields, n: Names) -> Fields:
    return {
        "TransactionalId": n.out(g["transactional_id"]),
        "ProducerId": g["producer_id"],
        "ProducerEpoch": g["producer_epoch"],
    }


def _member(g: Fields, n: Names) -> Fields:
    n.groups.add(g["group_id"])
    return {
        "GroupId": n.out(g["group_id"]),
        "GenerationId": g.get("generation_id", -1),
        "MemberId": g.get("member_id", ""),
        "GroupInstanceId": n.out(g.get("group_instance_id")),
    }


def consumer_heartbeat(g: Fields, n: Names, version: int) -> Fields:
    n.groups.add(g["group_id"])
    topics, owned = g.get("subscribed_topic_names"), g.get("topic_partitions")
    rows = n.by_topic(owned or (), "Partitions", _index)
    return {
        "GroupId": n.out(g["group_id"]),
        "MemberId": g["member_id"],
        "MemberEpoch": g["member_epoch"],
        "InstanceId": n.out(g.get("instance_id")),
        "RackId": g.get("rack_id"),
        "RebalanceTimeoutMs": g.get("rebalance_timeout_ms", -1),
        "SubscribedTopicNames": None if topics is None else [n.out(topic) for topic in topics],
        "ServerAssignor": g.get("server_assignor"),
        "TopicPartitions": None if owned is None else [{k: row[k] for k in ("TopicId", "Partitions")} for row in rows],
    }


def init_producer_id(g: Fields, n: Names, version: int) -> Fields:
    return {
        "TransactionalId": n.out(g["transactional_id"]),
        "TransactionTimeoutMs": g.get("transaction_timeout_ms", 60_000),
        "ProducerId": g.get("producer_id", -1),
        "ProducerEpoch": g.get("producer_epoch", -1),
    }


def add_partitions(g: Fields, n: Names, version: int) -> Fields:
    if version <= 3:
        row = {**_identity(g, n), "Topics": n.by_topic(g["partitions"], "Partitions", _index)}
        return {f"V3AndBelow{k}": v for k, v in row.items()}
    return {
        "Transactions": [
            {
                **_identity(one, n),
                "VerifyOnly": one.get("verify_only", False),
                "Topics": n.by_topic(one["partitions"], "Partitions", _index),
            }
            for one in (g, *g.get("further", ()))
        ]
    }


def add_offsets(g: Fields, n: Names, version: int) -> Fields:
    n.groups.add(g["group_id"])
    return {**_identity(g, n), "GroupId": n.out(g["group_id"])}


def end_txn(g: Fields, n: Names, version: int) -> Fields:
    return {**_identity(g, n), "Committed": g["committed"]}


def produce(g: Fields, n: Names, version: int) -> Fields:
    def row(partition: str) -> Fields:
        batch = g["batches"][partition]
        at = n.base_ms + batch.get("timestamp_ms", 0)
        return {"index": "Index", "Records": batch_of({**batch, "timestamp_ms": at})}

    return {
        "TransactionalId": n.out(g["transactional_id"]),
        "Acks": g["acks"],
        "TimeoutMs": g["timeout_ms"],
        "TopicData": n.by_topic(g["batches"], "PartitionData", row),
    }


def _offsets(g: Fields, n: Names) -> list[Fields]:
    def row(partition: str) -> Fields:
        return {
            "index": "PartitionIndex",
            "CommittedOffset": g["offsets"][partition],
            "CommittedMetadata": g.get("metadata", {}).get(partition, ""),
            "CommittedLeaderEpoch": g.get("leader_epochs", {}).get(partition, -1),
        }

    return n.by_topic(g["offsets"], "Partitions", row)


def txn_offset_commit(g: Fields, n: Names, version: int) -> Fields:
    return {**_identity(g, n), **_member(g, n), "Topics": _offsets(g, n)}


def offset_commit(g: Fields, n: Names, version: int) -> Fields:
    return {**_member(g, n), "Topics": _offsets(g, n), "RetentionTimeMs": g.get("retention_time_ms", -1)}


def offset_fetch(g: Fields, n: Names, version: int) -> Fields:
    n.groups.add(g["group_id"])
    topics = None if g["partitions"] is None else n.by_topic(g["partitions"], "PartitionIndexes", _index)
    member = {"MemberId": g["member_id"], "MemberEpoch": g["member_epoch"]} if "member_id" in g else {}
    row = {"GroupId": n.out(g["group_id"]), "Topics": topics, **member}
    stable = {"RequireStable": g.get("require_stable", False)}
    return {**row, **stable} if version < 8 else {"Groups": [row], **stable}


def _known_epoch(g: Fields, partition: str) -> int:
    return int(g.get("current_leader_epochs", {}).get(partition, -1))


def fetch(g: Fields, n: Names, version: int) -> Fields:
    def row(partition: str) -> Fields:
        at = {
            "FetchOffset": g["positions"][partition],
            "PartitionMaxBytes": g.get("partition_max_bytes", {}).get(partition, 1 << 20),
            "LastFetchedEpoch": g.get("last_fetched_epochs", {}).get(partition, -1),
        }
        return {"index": "Partition", "CurrentLeaderEpoch": _known_epoch(g, partition), **at}

    return {
        "MaxWaitMs": g.get("max_wait_ms", 50),
        "MinBytes": g.get("min_bytes", 1),
        "MaxBytes": g.get("max_bytes", 1 << 24),
        "IsolationLevel": ISOLATION[g["isolation_level"]],
        "SessionEpoch": -1,
        "Topics": n.by_topic(g["positions"], "Partitions", row, "Topic"),
    }


def list_offsets(g: Fields, n: Names, version: int) -> Fields:
    at = g["timestamp"] if g["timestamp"] < 0 else n.base_ms + g["timestamp"]

    def row(partition: str) -> Fields:
        return {"index": "PartitionIndex", "Timestamp": at, "CurrentLeaderEpoch": _known_epoch(g, partition)}

    return {
        "ReplicaId": -1,
        "IsolationLevel": ISOLATION[g.get("isolation_level", "read_uncommitted")],
        "Topics": n.by_topic(g["partitions"], "Partitions", row),
        "TimeoutMs": 10_000,
    }


def delete_records(g: Fields, n: Names, version: int) -> Fields:
    def row(partition: str) -> Fields:
        return {"index": "PartitionIndex", "Offset": g["offsets"][partition]}

    return {"Topics": n.by_topic(g["offsets"], "Partitions", row), "TimeoutMs": 10_000}


def describe_transactions(g: Fields, n: Names, version: int) -> Fields:
    return {"TransactionalIds": [n.out(t) for t in g["transactional_ids"]]}


def list_transactions(g: Fields, n: Names, version: int) -> Fields:
    pattern = g.get("transactional_id_pattern")
    if pattern and not pattern.startswith(".*"):
        pattern = n.prefix.replace(".", "[.]") + pattern
    return {
        "StateFilters": g.get("state_filters", []),
        "ProducerIdFilters": g.get("producer_id_filters", []),
        "DurationFilter": g.get("duration_filter_ms", -1),
        "TransactionalIdPattern": pattern,
    }


def describe_producers(g: Fields, n: Names, version: int) -> Fields:
    return {"Topics": n.by_topic(g["partitions"], "PartitionIndexes", _index)}


def write_txn_markers(g: Fields, n: Names, version: int) -> Fields:
    return {
        "Markers": [
            {
                "ProducerId": m["producer_id"],
                "ProducerEpoch": m["producer_epoch"],
                "TransactionResult": m["committed"],
                "Topics": n.by_topic(m["partitions"], "PartitionIndexes", _index),
                "CoordinatorEpoch": m["coordinator_epoch"] + n.coordinator_epoch,
                "TransactionVersion": m["transaction_version"],
            }
            for m in g["markers"]
        ]
    }


def find_coordinator(g: Fields, n: Names, version: int) -> Fields:
    if version >= 4:
        return {"KeyType": g["key_type"], "CoordinatorKeys": [n.out(g["key"])]}
    return {"Key": n.out(g["key"]), "KeyType": g["key_type"]}


def _texts(values: list[str]) -> bytes:
    data = struct.pack(">i", len(values))
    for text in values:
        data += struct.pack(">h", len(text.encode())) + text.encode()
    return data


def join_group(g: Fields, n: Names, version: int) -> Fields:
    def subscription(topics: list[str]) -> bytes:
        return struct.pack(">h", 0) + _texts([n.out(t) or "" for t in topics]) + struct.pack(">i", -1)

    row = _member(g, n)
    del row["GenerationId"]
    return {
        **row,
        "SessionTimeoutMs": g.get("session_timeout_ms", 45_000),
        "RebalanceTimeoutMs": g.get("rebalance_timeout_ms", 300_000),
        "ProtocolType": g.get("protocol_type", "consumer"),
        "Protocols": [{"Name": name, "Metadata": subscription(ts)} for name, ts in g["protocols"].items()],
    }


def sync_group(g: Fields, n: Names, version: int) -> Fields:
    def assignment(partitions: list[str]) -> bytes:
        topics = n.by_topic(partitions, "Partitions", _index)
        data = struct.pack(">hi", 0, len(topics))
        for t in topics:
            data += _texts([t["Name"]])[4:] + struct.pack(">i", len(t["Partitions"]))
            data += b"".join(struct.pack(">i", p) for p in t["Partitions"])
        return data + struct.pack(">i", -1)

    given = g.get("assignments", {})
    return {
        **_member(g, n),
        "ProtocolType": g.get("protocol_type"),
        "ProtocolName": g.get("protocol_name"),
        "Assignments": [{"MemberId": m, "Assignment": assignment(ps)} for m, ps in given.items()],
    }


def leave_group(g: Fields, n: Names, version: int) -> Fields:
    members = [{"MemberId": m["member_id"], "GroupInstanceId": n.out(m.get("group_instance_id"))} for m in g["members"]]
    n.groups.add(g["group_id"])
    if version < 3:
        return {"GroupId": n.out(g["group_id"]), "MemberId": members[0]["MemberId"]}
    return {"GroupId": n.out(g["group_id"]), "Members": members}


def offset_delete(g: Fields, n: Names, version: int) -> Fields:
    rows = n.by_topic(g["partitions"], "Partitions", lambda p: {"index": "PartitionIndex"})
    return {"GroupId": n.out(g["group_id"]), "Topics": rows}


def create_topics(g: Fields, n: Names, version: int) -> Fields:
    topics = [
        {
            "Name": t["name"] if t["name"].startswith(("__", ".")) else n.out(t["name"]),
            "NumPartitions": t.get("num_partitions", -1),
            "ReplicationFactor": t.get("replication_factor", -1),
        }
        for t in g["topics"]
    ]
    return {"Topics": topics, "timeoutMs": 10_000, "validateOnly": g.get("validate_only", False)}


def describe_configs(g: Fields, n: Names, version: int) -> Fields:
    resources = [
        {
            "ResourceType": r["resource_type"],
            "ResourceName": n.out(r["resource_name"]) if r["resource_name"].isalpha() else r["resource_name"],
            "ConfigurationKeys": r.get("configuration_keys"),
        }
        for r in g["resources"]
    ]
    return {"Resources": resources, "IncludeSynonyms": g.get("include_synonyms", False)}


def list_groups(g: Fields, n: Names, version: int) -> Fields:
    return {"StatesFilter": g.get("states_filter", []), "TypesFilter": g.get("types_filter", [])}


def describe_topic_partitions(g: Fields, n: Names, version: int) -> Fields:
    def with_prefix(name: str) -> str | None:
        return n.out(name) if name.isalpha() else name

    at = g.get("cursor")
    return {
        "Topics": [{"Name": with_prefix(t["name"])} for t in g["topics"]],
        "ResponsePartitionLimit": g.get("response_partition_limit", 2_000),
        "Cursor": at and {"TopicName": with_prefix(at["topic_name"]), "PartitionIndex": at["partition_index"]},
    }


def api_versions(g: Fields, n: Names, version: int) -> Fields:
    place = {}
    if "cluster_id" in g:
        cluster = running_kafka.CLUSTER_ID if g["cluster_id"] == CLUSTER_ID else g["cluster_id"]
        place = {"ClusterId": cluster, "NodeId": int(g["node_id"].removeprefix("b") or -1)}
    return {"ClientSoftwareName": g.get("client_software_name", "oracle"), "ClientSoftwareVersion": "1", **place}


REQUESTS: dict[str, Callable[[Fields, Names, int], Fields]] = {
    "InitProducerId": init_producer_id,
    "AddPartitionsToTxn": add_partitions,
    "AddOffsetsToTxn": add_offsets,
    "EndTxn": end_txn,
    "Produce": produce,
    "TxnOffsetCommit": txn_offset_commit,
    "OffsetCommit": offset_commit,
    "OffsetFetch": offset_fetch,
    "Fetch": fetch,
    "ListOffsets": list_offsets,
    "DeleteRecords": delete_records,
    "DescribeTransactions": describe_transactions,
    "ListTransactions": list_transactions,
    "DescribeProducers": describe_producers,
    "WriteTxnMarkers": write_txn_markers,
    "FindCoordinator": find_coordinator,
    "JoinGroup": join_group,
    "SyncGroup": sync_group,
    "Heartbeat": lambda g, n, version: _member(g, n),
    "LeaveGroup": leave_group,
    "ConsumerGroupHeartbeat": consumer_heartbeat,
    "ConsumerGroupDescribe": lambda g, n, version: {"GroupIds": [n.out(group) for group in g["group_ids"]]},
    "DescribeGroups": lambda g, n, version: {"Groups": [n.out(group) for group in g["groups"]]},
    "DeleteGroups": lambda g, n, version: {"GroupsNames": [n.out(group) for group in g["groups"]]},
    "OffsetDelete": offset_delete,
    "CreateTopics": create_topics,
    "DescribeCluster": lambda g, n, version: {},
    "DescribeConfigs": describe_configs,
    "ListGroups": list_groups,
    "DescribeTopicPartitions": describe_topic_partitions,
    "ApiVersions": api_versions,
}
