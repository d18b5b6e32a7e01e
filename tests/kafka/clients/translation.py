"""Between Kafka's messages, as dicts in any version, and kafkalab's messages."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from typing import Any

from kafkalab.protocol import batch_bytes
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.join_group import JoinGroup
from kafkalab.protocol.messages.leave_group import LeaveGroup, LeavingMember
from kafkalab.protocol.messages.registry import BY_NAME
from tests.kafka.clients.scripted_broker import NEWEST
from tests.kafka.schema import Reader

HOST = "127.0.0.1"
NODE_NUMBER = 1


def topic_id(name: str) -> bytes:
    """Return the id that stands for a topic."""
    return name.encode().ljust(16, b"\0")


def topic_name(row: dict[str, Any]) -> str:
    """Return the topic of a row that names it, or has its id."""
    name: str = row.get("Name", row.get("Topic")) or row["TopicId"].rstrip(b"\0").decode()
    return name


def by_topic(partitions: Iterable[str], rows: Callable[[str, int], Any]) -> list[tuple[str, list[Any]]]:
    """Group rows of partitions such as "in-0" by topic."""
    found: dict[str, list[Any]] = {}
    for partition in partitions:
        topic, _, index = partition.rpartition("-")
        found.setdefault(topic, []).append(rows(partition, int(index)))
    return list(found.items())


# requests


def request(api: str, values: dict[str, Any]) -> Any:
    """Return kafkalab's request."""
    return READERS[api](values)


def _transactional(v: dict[str, Any]) -> dict[str, Any]:
    return {
        "transactional_id": v["TransactionalId"],
        "producer_id": v.get("ProducerId", -1),
        "producer_epoch": v.get("ProducerEpoch", -1),
    }


def _offsets(v: dict[str, Any]) -> dict[str, Any]:
    rows = [(f"{topic_name(t)}-{p['PartitionIndex']}", p) for t in v["Topics"] for p in t["Partitions"]]
    return {
        "offsets": {name: p["CommittedOffset"] for name, p in rows},
        "metadata": {name: p["CommittedMetadata"] for name, p in rows if p["CommittedMetadata"]},
        "leader_epochs": {n: p["CommittedLeaderEpoch"] for n, p in rows if p.get("CommittedLeaderEpoch", -1) >= 0},
    }


def _member(v: dict[str, Any]) -> dict[str, Any]:
    return {
        "group_id": v["GroupId"],
        "generation_id": v.get("GenerationId", v.get("GenerationIdOrMemberEpoch", -1)),
        "member_id": v.get("MemberId", ""),
        "group_instance_id": v.get("GroupInstanceId"),
    }


def _add_partitions(v: dict[str, Any]) -> Any:
    partitions = tuple(f"{t['Name']}-{p}" for t in v["V3AndBelowTopics"] for p in t["Partitions"])
    return _new(
        "AddPartitionsToTxn",
        transactional_id=v["V3AndBelowTransactionalId"],
        producer_id=v["V3AndBelowProducerId"],
        producer_epoch=v["V3AndBelowProducerEpoch"],
        partitions=partitions,
    )


def _produce(v: dict[str, Any]) -> Any:
    batches = {
        f"{topic_name(t)}-{p['Index']}": batch_bytes.decode(p["Records"])
        for t in v["TopicData"]
        for p in t["PartitionData"]
    }
    return _new(
        "Produce",
        transactional_id=v["TransactionalId"],
        acks=v["Acks"],
        timeout_ms=v["TimeoutMs"],
        batches=batches,
    )


def _fetch(v: dict[str, Any]) -> Any:
    positions = {f"{topic_name(t)}-{p['Partition']}": p["FetchOffset"] for t in v["Topics"] for p in t["Partitions"]}
    level = "read_committed" if v["IsolationLevel"] else "read_uncommitted"
    return _new(
        "Fetch", isolation_level=level, positions=positions, max_wait_ms=v["MaxWaitMs"], min_bytes=v["MinBytes"]
    )


def _list_offsets(v: dict[str, Any]) -> Any:
    rows = {f"{t['Name']}-{p['PartitionIndex']}": p["Timestamp"] for t in v["Topics"] for p in t["Partitions"]}
    return _new(
        "ListOffsets",
        partitions=tuple(rows),
        timestamp=next(iter(rows.values())),
        isolation_level="read_committed" if v["IsolationLevel"] else "read_uncommitted",
    )


def _offset_fetch(v: dict[str, Any]) -> Any:
    group = v["Groups"][0]
    partitions = None
    if group["Topics"] is not None:
        partitions = tuple(f"{topic_name(t)}-{p}" for t in group["Topics"] for p in t["PartitionIndexes"])
    return _new(
        "OffsetFetch", group_id=group["GroupId"], partitions=partitions, require_stable=v.get("RequireStable", False)
    )


def _topics_of(data: bytes) -> tuple[str, ...]:
    """Return the topics of a member's subscription (`ConsumerProtocol`)."""
    reader = Reader(data)
    reader.number("int16")
    return tuple(reader.take(reader.number("int16")).decode() for _ in range(reader.number("int32")))


def _read_assigned(data: bytes) -> tuple[str, ...]:
    reader = Reader(data)
    reader.number("int16")
    found: list[str] = []
    for _ in range(reader.number("int32")):
        topic = reader.take(reader.number("int16")).decode()
        found += [f"{topic}-{reader.number('int32')}" for _ in range(reader.number("int32"))]
    return tuple(found)


def _join(v: dict[str, Any]) -> Any:
    return JoinGroup(
        group_id=v["GroupId"],
        session_timeout_ms=v["SessionTimeoutMs"],
        rebalance_timeout_ms=v["RebalanceTimeoutMs"],
        member_id=v["MemberId"],
        group_instance_id=v.get("GroupInstanceId"),
        protocol_type=v["ProtocolType"],
        protocols={p["Name"]: _topics_of(p["Metadata"]) for p in v["Protocols"]},
    )


def _sync(v: dict[str, Any]) -> Any:
    assignments = {a["MemberId"]: _read_assigned(a["Assignment"]) for a in v["Assignments"]}
    return _new(
        "SyncGroup",
        **_member(v),
        protocol_type=v.get("ProtocolType"),
        protocol_name=v.get("ProtocolName"),
        assignments=assignments,
    )


def _new(api: str, **values: Any) -> Any:
    return BY_NAME[api].request(**values)


READERS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "ApiVersions": lambda v: _new("ApiVersions"),
    "Metadata": lambda v: _new("Metadata"),
    "FindCoordinator": lambda v: _new("FindCoordinator", key=v["CoordinatorKeys"][0], key_type=v["KeyType"]),
    "InitProducerId": lambda v: _new(
        "InitProducerId", **_transactional(v), transaction_timeout_ms=v["TransactionTimeoutMs"]
    ),
    "AddPartitionsToTxn": _add_partitions,
    "AddOffsetsToTxn": lambda v: _new("AddOffsetsToTxn", **_transactional(v), group_id=v["GroupId"]),
    "TxnOffsetCommit": lambda v: _new("TxnOffsetCommit", **_transactional(v), **_offsets(v), **_member(v)),
    "EndTxn": lambda v: _new("EndTxn", **_transactional(v), committed=v["Committed"]),
    "Produce": _produce,
    "Fetch": _fetch,
    "ListOffsets": _list_offsets,
    "OffsetFetch": _offset_fetch,
    "OffsetCommit": lambda v: _new("OffsetCommit", **_offsets(v), **_member(v)),
    "JoinGroup": _join,
    "SyncGroup": _sync,
    "Heartbeat": lambda v: _new("Heartbeat", **_member(v)),
    "LeaveGroup": lambda v: LeaveGroup(
        group_id=v["GroupId"], members=tuple(LeavingMember(m["MemberId"], m["GroupInstanceId"]) for m in v["Members"])
    ),
}


# responses


def response(api: str, version: int, asked: Any, body: Any, port: int) -> dict[str, Any]:
    """Return the fields of Kafka's response of that version; `asked` is the request, `port` the broker's."""
    writer = WRITERS.get(api)
    return {"ErrorCode": body.error.code} if writer is None else writer(version, asked, body, port)


def _name_topic(topic: str, with_id: bool, field: str = "Name") -> dict[str, Any]:
    return {"TopicId": topic_id(topic)} if with_id else {field: topic}


def _api_versions(version: int, asked: Any, body: Any, port: int) -> dict[str, Any]:
    keys = []
    for api in (BY_NAME[name] for name in READERS):
        newest = NEWEST.get(api.name, api.versions[-1])
        keys.append({"ApiKey": api.key, "MinVersion": api.versions[0], "MaxVersion": newest})
    feature = {"Name": "transaction.version", "MaxVersionLevel": body.transaction_version}
    return {
        "ErrorCode": 0,
        "ApiKeys": keys,
        "SupportedFeatures": [{"Name": "transaction.version", "MinVersion": 0, "MaxVersion": 2}],
        "FinalizedFeaturesEpoch": 1,
        "FinalizedFeatures": [{**feature, "MinVersionLevel": body.transaction_version}],
    }


def _metadata(version: int, asked: Any, body: Any, port: int) -> dict[str, Any]:
    def partition(name: str, index: int) -> dict[str, Any]:
        nodes = [NODE_NUMBER]
        return {
            "ErrorCode": 0, "PartitionIndex": index, "LeaderId": NODE_NUMBER, "LeaderEpoch": 0, "ReplicaNodes": nodes,
            "IsrNodes": nodes,
        }  # fmt: skip

    topics = by_topic(body.metadata.partitions, partition)
    return {
        "Brokers": [{"NodeId": NODE_NUMBER, "Host": HOST, "Port": port}],
        "ClusterId": "scripted",
        "ControllerId": NODE_NUMBER,
        "Topics": [{"ErrorCode": 0, "Name": t, "TopicId": topic_id(t), "Partitions": ps} for t, ps in topics],
    }


def _find_coordinator(version: int, asked: Any, body: Any, port: int) -> dict[str, Any]:
    found = body.error is Error.NONE
    place = {"NodeId": NODE_NUMBER, "Host": HOST, "Port": port} if found else {"NodeId": -1, "Host": "", "Port": -1}
    text = None if found else body.error.message
    row = {"Key": asked.key, **place, "ErrorCode": body.error.code, "ErrorMessage": text}
    return {"Coordinators": [row]}


def _init_producer_id(version: int, asked: Any, body: Any, port: int) -> dict[str, Any]:
    return {"ErrorCode": body.error.code, "ProducerId": body.producer_id, "ProducerEpoch": body.producer_epoch}


def _end_txn(version: int, asked: Any, body: Any, port: int) -> dict[str, Any]:
    identity = {"ProducerId": body.producer_id, "ProducerEpoch": body.producer_epoch} if version >= 5 else {}
    return {"ErrorCode": body.error.code, **identity}


def _partitions_added(version: int, asked: Any, body: Any, port: int) -> dict[str, Any]:
    topics = by_topic(
        body.errors, lambda p, i: {"PartitionIndex": i, "PartitionErrorCode": body.errors[p].code}
    )
    return {"ResultsByTopicV3AndBelow": [{"Name": t, "ResultsByPartition": ps} for t, ps in topics]}


def _offsets_committed(version: int, asked: Any, body: Any, port: int) -> dict[str, Any]:
    topics = by_topic(body.errors, lambda p, i: {"PartitionIndex": i, "ErrorCode": body.errors[p].code})
    with_id = version >= 10
    return {"Topics": [{**_name_topic(t, with_id), "Partitions": ps} for t, ps in topics]}


def _translate_produce(version: int, asked: Any, body: Any, port: int) -> dict[str, Any]:
    def row(name: str, index: int) -> dict[str, Any]:
        p = body.partitions[name]
        return {
            "Index": index, "ErrorCode": p.error.code, "BaseOffset": p.base_offset,
            "LogAppendTimeMs": p.log_append_time_ms, "LogStartOffset": p.log_start_offset,
        }  # fmt: skip

    topics = by_topic(body.partitions, row)
    return {"Responses": [{**_name_topic(t, version >= 13), "PartitionResponses": ps} for t, ps in topics]}


def _translate_fetch(version: int, asked: Any, body: Any, port: int) -> dict[str, Any]:
    def row(name: str, index: int) -> dict[str, Any]:
        p = body.partitions[name]
        aborted = p.aborted_transactions
        return {
            "PartitionIndex": index, "ErrorCode": p.error.code, "HighWatermark": p.high_watermark,
            "LastStableOffset": p.last_stable_offset, "LogStartOffset": p.log_start_offset,
            "AbortedTransactions": None if aborted is None else [
                {"ProducerId": a.producer_id, "FirstOffset": a.first_offset} for a in aborted
            ],
            "Records": b"".join(batch_bytes.encode(b) for b in p.batches),
        }  # fmt: skip

    topics = by_topic(body.partitions, row)
    return {"Responses": [{**_name_topic(t, version >= 13, "Topic"), "Partitions": ps} for t, ps in topics]}


def _offsets_listed(version: int, asked: Any, body: Any, port: int) -> dict[str, Any]:
    def row(name: str, index: int) -> dict[str, Any]:
        return {"PartitionIndex": index, "ErrorCode": body.errors[name].code, "Offset": body.offsets[name]}

    return {"Topics": [{"Name": t, "Partitions": ps} for t, ps in by_topic(body.errors, row)]}


def _offsets_fetched(version: int, asked: Any, body: Any, port: int) -> dict[str, Any]:
    def row(name: str, index: int) -> dict[str, Any]:
        code, offset = body.errors[name].code, body.offsets[name]
        return {"PartitionIndex": index, "ErrorCode": code, "CommittedOffset": offset, "Metadata": ""}

    topics = [{**_name_topic(t, version >= 10), "Partitions": ps} for t, ps in by_topic(body.errors, row)]
    return {"Groups": [{"GroupId": asked.group_id, "Topics": topics, "ErrorCode": body.error.code}]}


def _text(value: str) -> bytes:
    return struct.pack(">h", len(value)) + value.encode()


def _translate_join(version: int, asked: Any, body: Any, port: int) -> dict[str, Any]:
    def subscription(topics: tuple[str, ...]) -> bytes:
        return struct.pack(">hi", 0, len(topics)) + b"".join(map(_text, topics)) + struct.pack(">i", -1)

    return {
        "ErrorCode": body.error.code, "GenerationId": body.generation_id, "ProtocolType": body.protocol_type or None,
        "ProtocolName": body.protocol_name or None, "Leader": body.leader, "MemberId": body.member_id, "Members": [
            {"MemberId": m.member_id, "GroupInstanceId": m.group_instance_id, "Metadata": subscription(m.topics)}
            for m in body.members
        ],
    }  # fmt: skip


def _translate_sync(version: int, asked: Any, body: Any, port: int) -> dict[str, Any]:
    topics = by_topic(body.assignment, lambda p, i: i)
    data = struct.pack(">hi", 0, len(topics))
    data += b"".join(_text(t) + struct.pack(f">i{len(ps)}i", len(ps), *ps) for t, ps in topics)
    return {
        "ErrorCode": body.error.code, "ProtocolType": body.protocol_type or None,
        "ProtocolName": body.protocol_name or None, "Assignment": data + struct.pack(">i", -1),
    }  # fmt: skip


def _translate_leave(version: int, asked: Any, body: Any, port: int) -> dict[str, Any]:
    members = [{"MemberId": m.member_id, "GroupInstanceId": m.group_instance_id, "ErrorCode": 0} for m in asked.members]
    return {"ErrorCode": body.error.code, "Members": members}


WRITERS: dict[str, Callable[[int, Any, Any, int], dict[str, Any]]] = {
    "ApiVersions": _api_versions,
    "Metadata": _metadata,
    "FindCoordinator": _find_coordinator,
    "InitProducerId": _init_producer_id,
    "AddPartitionsToTxn": _partitions_added,
    "TxnOffsetCommit": _offsets_committed,
    "OffsetCommit": _offsets_committed,
    "EndTxn": _end_txn,
    "Produce": _translate_produce,
    "Fetch": _translate_fetch,
    "ListOffsets": _offsets_listed,
    "OffsetFetch": _offsets_fetched,
    "JoinGroup": _translate_join,
    "SyncGroup": _translate_sync,
    "LeaveGroup": _translate_leave,
}
