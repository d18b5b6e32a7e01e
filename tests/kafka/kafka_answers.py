"""For each API: what is compared of Kafka's response, by the names of kafkalab/protocol/messages."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from operator import itemgetter
from typing import Any

from tests.kafka.batches import batches_of
from tests.kafka.kafka_names import Names
from tests.kafka.schema import Reader
from tests.kafka.script import HERE

Fields = dict[str, Any]
ERRORS: dict[int, str] = {int(code): name for code, name in json.loads((HERE / "errors.json").read_text()).items()}


def _error(row: Fields) -> str:
    return ERRORS[row["ErrorCode"]]


def _sort(parts: list[Fields], *keys: str) -> Fields:
    return {"parts": sorted(parts, key=lambda p: [p[k] for k in keys or ("partition",)])}


def _identity(r: Fields, n: Names) -> Fields:
    return {
        "error": _error(r),
        "producer_id": r.get("ProducerId", -1),
        "producer_epoch": r.get("ProducerEpoch", -1),
    }


def _errors_of(topics: list[Fields], n: Names) -> Fields:
    rows = [(n.partition(t, p["PartitionIndex"]), p) for t in topics for p in t["Partitions"]]
    return _sort([{"partition": name, "error": _error(p)} for name, p in rows])


def added_partitions(r: Fields, n: Names) -> Fields:
    several = r.get("ResultsByTransaction", ())
    topics = r.get("ResultsByTopicV3AndBelow") or [t for x in several for t in x["TopicResults"]]
    parts = [
        {"partition": n.partition(t, p["PartitionIndex"]), "error": ERRORS[p["PartitionErrorCode"]]}
        for t in topics
        for p in t["ResultsByPartition"]
    ]
    whole = {"error": _error(r)} if r.get("ErrorCode", 0) else {}
    return {**whole, **(_sort(parts, "partition", "error") if len(several) > 1 else _sort(parts))}


def read_produce(r: Fields, n: Names) -> Fields:
    parts = [
        {
            "partition": n.partition(t, p["Index"]),
            "error": _error(p),
            "base_offset": p["BaseOffset"],
            "log_append_time_ms": p["LogAppendTimeMs"],
            "log_start_offset": p.get("LogStartOffset", -1),
        }
        for t in r["Responses"]
        for p in t["PartitionResponses"]
    ]
    return _sort(parts)


def fetched_offsets(r: Fields, n: Names) -> Fields:
    group = r["Groups"][0] if "Groups" in r else r
    parts = [
        {
            "partition": n.partition(t, p["PartitionIndex"]),
            "error": _error(p),
            "offset": p["CommittedOffset"],
            "metadata": p["Metadata"] or "",
        }
        for t in group["Topics"]
        for p in t["Partitions"]
    ]
    return {"error": ERRORS[group.get("ErrorCode", 0)], **_sort(parts)}


def read_fetch(r: Fields, n: Names) -> Fields:
    def partition(t: Fields, p: Fields) -> Fields:
        aborted = p["AbortedTransactions"]
        return {
            "partition": n.partition(t, p["PartitionIndex"]),
            "error": _error(p),
            "high_watermark": p["HighWatermark"],
            "last_stable_offset": p["LastStableOffset"],
            "log_start_offset": p.get("LogStartOffset", -1),
            "aborted": None
            if aborted is None
            else [{"producer_id": a["ProducerId"], "first_offset": a["FirstOffset"]} for a in aborted],
            **_diverging(p),
            "batches": [
                {**b, "coordinator_epoch": _relative(b["coordinator_epoch"], n)} for b in batches_of(p["Records"])
            ],
        }

    return _sort([partition(t, p) for t in r["Responses"] for p in t["Partitions"]])


def _diverging(p: Fields) -> Fields:
    """Return where the fetcher's log and this one part, if they do."""
    found = p.get("DivergingEpoch") or {"Epoch": -1, "EndOffset": -1}
    return {} if found["Epoch"] < 0 else {"diverging": [found["Epoch"], found["EndOffset"]]}


def _relative(epoch: int, n: Names) -> int:
    return epoch if epoch < 0 else epoch - n.coordinator_epoch


def listed_offsets(r: Fields, n: Names) -> Fields:
    parts = [
        {
            "partition": n.partition(t, p["PartitionIndex"]),
            "error": _error(p),
            "offset": p["Offset"],
            "timestamp_ms": p["Timestamp"],
        }
        for t in r["Topics"]
        for p in t["Partitions"]
    ]
    return _sort(parts)


def deleted_records(r: Fields, n: Names) -> Fields:
    parts = [
        {"partition": n.partition(t, p["PartitionIndex"]), "error": _error(p), "low_watermark": p["LowWatermark"]}
        for t in r["Topics"]
        for p in t["Partitions"]
    ]
    return _sort(parts)


def described_transactions(r: Fields, n: Names) -> Fields:
    return {
        "parts": [
            {
                "transactional_id": n.back(t["TransactionalId"]),
                "error": _error(t),
                "state": t["TransactionState"],
                "timeout_ms": t["TransactionTimeoutMs"],
                "start_ms": t["TransactionStartTimeMs"],
                "producer_id": t["ProducerId"],
                "producer_epoch": t["ProducerEpoch"],
                "partitions": sorted(n.partition(x, p) for x in t["Topics"] for p in x["Partitions"]),
            }
            for t in r["TransactionStates"]
        ]
    }


def listed_transactions(r: Fields, n: Names) -> Fields:
    parts = [
        {
            "transactional_id": n.back(t["TransactionalId"]),
            "producer_id": t["ProducerId"],
            "state": t["TransactionState"],
        }
        for t in r["TransactionStates"] or []
        if t["TransactionalId"].startswith(n.prefix)
    ]
    unknown = sorted(r["UnknownStateFilters"] or [])
    return {"error": _error(r), "unknown_state_filters": unknown, **_sort(parts, "transactional_id")}


def described_producers(r: Fields, n: Names) -> Fields:
    def active(row: Fields) -> Fields:
        return {
            "producer_id": row["ProducerId"],
            "producer_epoch": row["ProducerEpoch"],
            "last_sequence": row["LastSequence"],
            "last_timestamp_ms": row["LastTimestamp"],
            "coordinator_epoch": _relative(row["CoordinatorEpoch"], n),
            "current_txn_start_offset": row["CurrentTxnStartOffset"],
        }

    parts: list[Fields] = [
        {
            "partition": n.partition(t, p["PartitionIndex"]),
            "error": _error(p),
            "active": sorted(map(active, p["ActiveProducers"]), key=itemgetter("producer_id")),
        }
        for t in r["Topics"]
        for p in t["Partitions"]
    ]
    return _sort(parts)


def written_markers(r: Fields, n: Names) -> Fields:
    parts = [
        {
            "producer_id": m["ProducerId"],
            "partition": n.partition(t, p["PartitionIndex"]),
            "error": _error(p),
        }
        for m in r["Markers"]
        for t in m["Topics"]
        for p in t["Partitions"]
    ]
    return _sort(parts, "producer_id", "partition")


def found_coordinator(r: Fields, n: Names) -> Fields:
    return {"error": _error(r["Coordinators"][0] if "Coordinators" in r else r)}


def read_join(r: Fields, n: Names) -> Fields:
    return {
        "error": _error(r),
        "generation_id": r["GenerationId"],
        "protocol_name": r["ProtocolName"] or "",
        "member_id": r["MemberId"],
        "leader": r["Leader"],
        "members": [{"member_id": m["MemberId"]} for m in r["Members"]],
        **({"skip_assignment": True} if r.get("SkipAssignment") else {}),
    }


def read_sync(r: Fields, n: Names) -> Fields:
    """The assignment as the group's leader encoded it; bytes that are empty mean none."""
    reader, partitions = Reader(r["Assignment"]), []
    if r["Assignment"]:
        reader.take(2)
        for _ in range(reader.number("int32")):
            topic = reader.take(reader.number("int16")).decode()
            count = reader.number("int32")
            numbers = struct.unpack(f">{count}i", reader.take(4 * count))
            partitions += [n.partition({"Name": topic}, number) for number in numbers]
    return {"error": _error(r), "assignment": partitions}


def read_leave(r: Fields, n: Names) -> Fields:
    rows = [
        {"member_id": m["MemberId"] or n.back(m["GroupInstanceId"] or ""), "error": _error(m)}
        for m in r.get("Members", ())
    ]
    return {"error": _error(r), **_sort(rows, "error", "member_id")}


def _partitions_of(assignment: Fields | None, n: Names) -> list[str] | None:
    rows = None if assignment is None else assignment["TopicPartitions"]
    return None if rows is None else sorted(n.partition(row, index) for row in rows for index in row["Partitions"])


def consumer_heartbeat(r: Fields, n: Names) -> Fields:
    return {
        "error": _error(r),
        "member_id": r["MemberId"],
        "member_epoch": r["MemberEpoch"],
        "heartbeat_interval": r["HeartbeatIntervalMs"],
        "assignment": _partitions_of(r["Assignment"], n),
    }


def described_consumers(r: Fields, n: Names) -> Fields:
    def member(row: Fields) -> Fields:
        return {
            "member_id": row["MemberId"],
            "instance_id": n.back(row["InstanceId"] or ""),
            "rack_id": row["RackId"],
            "member_epoch": row["MemberEpoch"],
            "topics": sorted(n.back(topic) for topic in row["SubscribedTopicNames"]),
            "assignment": _partitions_of(row["Assignment"], n),
            "target_assignment": _partitions_of(row["TargetAssignment"], n),
            "member_type": row.get("MemberType", -1),
        }

    parts = [
        {
            "group": n.back(g["GroupId"]),
            "error": _error(g),
            "group_state": g["GroupState"],
            "group_epoch": g["GroupEpoch"],
            "assignment_epoch": g["AssignmentEpoch"],
            "assignor_name": g["AssignorName"],
            "members": [member(row) for row in g["Members"]],
        }
        for g in r["Groups"]
    ]
    return {"parts": parts}


def described_groups(r: Fields, n: Names) -> Fields:
    return {
        "parts": [
            {
                "group": n.back(g["GroupId"]),
                "error": _error(g),
                "state": g["GroupState"],
                "protocol_type": g["ProtocolType"],
                "protocol": g["ProtocolData"],
                "members": [{"member_id": m["MemberId"]} for m in g["Members"]],
            }
            for g in r["Groups"]
        ]
    }


def described_configs(r: Fields, n: Names) -> Fields:
    def entry(row: Fields) -> Fields:
        return {
            "name": row["Name"],
            "value": row["Value"],
            "read_only": row["ReadOnly"],
            "config_source": row["ConfigSource"],
            "is_sensitive": row["IsSensitive"],
            "config_type": row.get("ConfigType", 0),
            "synonyms": [[s["Name"], s["Value"], s["Source"]] for s in row["Synonyms"]],
        }

    parts = [
        {
            "resource_type": row["ResourceType"],
            "resource_name": n.back(row["ResourceName"]),
            "error": _error(row),
            "configs": sorted(map(entry, row["Configs"]), key=itemgetter("name")),
        }
        for row in r["Results"]
    ]
    return {"parts": parts}


def listed_groups(r: Fields, n: Names) -> Fields:
    parts = [
        {
            "group": n.back(g["GroupId"]),
            "protocol_type": g["ProtocolType"],
            "group_state": g.get("GroupState", ""),
            "group_type": g.get("GroupType", ""),
        }
        for g in r["Groups"]
        if g["GroupId"].startswith(n.prefix)
    ]
    return {"error": _error(r), **_sort(parts, "group")}


def described_topic_partitions(r: Fields, n: Names) -> Fields:
    def partition(row: Fields) -> Fields:
        same = {"error": _error(row), "partition_index": row["PartitionIndex"]}
        lists = {"isr": "IsrNodes", "elr": "EligibleLeaderReplicas", "last_known": "LastKnownElr"}
        return {**same, "replicas": len(row["ReplicaNodes"]), **{k: len(row[v] or ()) for k, v in lists.items()}}

    parts = [
        {
            "topic": n.back(t["Name"]),
            "error": _error(t),
            "has_id": any(t["TopicId"]),
            "is_internal": t["IsInternal"],
            "operations": t["TopicAuthorizedOperations"],
            "partitions": list(map(partition, t["Partitions"])),
        }
        for t in r["Topics"]
    ]
    cursor = r["NextCursor"]
    return {"cursor": cursor and [n.back(cursor["TopicName"]), cursor["PartitionIndex"]], **_sort(parts, "topic")}


def _level(r: Fields, n: Names) -> Fields:
    features = {f["Name"]: f["MaxVersionLevel"] for f in r.get("FinalizedFeatures", ())}
    return {"error": _error(r), "transaction_version": features.get("transaction.version", 0)}


def _plain(r: Fields, n: Names) -> Fields:
    return {"error": _error(r)}


ANSWERS: dict[str, Callable[[Fields, Names], Fields]] = {
    "InitProducerId": _identity,
    "AddPartitionsToTxn": added_partitions,
    "AddOffsetsToTxn": _plain,
    "EndTxn": _identity,
    "Produce": read_produce,
    "TxnOffsetCommit": lambda r, n: _errors_of(r["Topics"], n),
    "OffsetCommit": lambda r, n: _errors_of(r["Topics"], n),
    "OffsetFetch": fetched_offsets,
    "Fetch": read_fetch,
    "ListOffsets": listed_offsets,
    "DeleteRecords": deleted_records,
    "DescribeTransactions": described_transactions,
    "ListTransactions": listed_transactions,
    "DescribeProducers": described_producers,
    "WriteTxnMarkers": written_markers,
    "FindCoordinator": found_coordinator,
    "JoinGroup": read_join,
    "SyncGroup": read_sync,
    "Heartbeat": _plain,
    "LeaveGroup": read_leave,
    "ConsumerGroupHeartbeat": consumer_heartbeat,
    "ConsumerGroupDescribe": described_consumers,
    "DescribeGroups": described_groups,
    "DeleteGroups": lambda r, n: _sort(
        [{"group": n.back(g["GroupId"]), "error": _error(g)} for g in r["Results"]], "group"
    ),
    "OffsetDelete": lambda r, n: {"error": _error(r), **_errors_of(r["Topics"], n)},
    "CreateTopics": lambda r, n: _sort(
        [{"topic": n.back(t["Name"]), "error": _error(t)} for t in r["Topics"]], "topic"
    ),
    "DescribeCluster": lambda r, n: {"error": _error(r), "brokers": len(r["Brokers"])},
    "DescribeConfigs": described_configs,
    "ListGroups": listed_groups,
    "DescribeTopicPartitions": described_topic_partitions,
    "ApiVersions": _level,
}
