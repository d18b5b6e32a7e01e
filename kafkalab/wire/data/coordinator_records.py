"""Records of `__transaction_state` and `__consumer_offsets` as Kafka's bytes, and back
(docs/protocol.md#transaction-state-records, #offset-records)."""

from __future__ import annotations

from struct import Struct
from typing import Any

from kafkalab.broker.group_coordinator.offsets import OffsetCommit, group_key, offset_key
from kafkalab.broker.transaction_coordinator.metadata import Txn, TxnState
from kafkalab.protocol.group_record import GroupEntry, MemberEntry
from kafkalab.protocol.partitions import index_of, topic_of
from kafkalab.protocol.records import Headers, Record
from kafkalab.wire.primitives import Source
from kafkalab.wire.structs import Values, raw, read_versioned, versioned_bytes
from kafkalab.wire.values import (
    assignment,
    assignment_bytes,
    by_topic,
    partitions_in,
    subscription,
    subscription_bytes,
)

_KIND = Struct(">h")
OFFSET, GROUP = 1, 2
KEYS = {0: "OffsetCommitKey", OFFSET: "OffsetCommitKey", GROUP: "GroupMetadataKey"}
"""What a key of `__consumer_offsets` is of, by the number that it begins with; 0 is the oldest offsets'."""
EXPIRING = 1
"""The version of the value of an offset that expires; Kafka 4.3 writes version 4 of the others, and 3 of groups."""
HOST = "/127.0.0.1"
"""The text that is written for a member's host, which the lab does not keep."""


class UnknownRecordError(Exception):
    """A key or value of a type or version that this kafkalab does not know."""


def _values(name: str, data: bytes) -> Values:
    try:
        return read_versioned(name, data)
    except LookupError as error:
        raise UnknownRecordError(str(error)) from None


def transaction_record(record: Record) -> tuple[bytes, bytes | None]:
    """Return key and value of a record of `__transaction_state`."""
    key, txn = versioned_bytes("TransactionLogKey", 0, {"transactional_id": record.key or ""}), record.value
    if txn is None:
        return key, None
    assert isinstance(txn, Txn)
    rows = by_topic(txn.partitions, numbers="partition_ids")
    value = {
        "producer_id": txn.producer_id,
        "producer_epoch": txn.producer_epoch,
        "transaction_timeout_ms": txn.timeout_ms,
        "transaction_status": txn.state.id,
        "transaction_partitions": None if txn.logged_partitions is None else rows,
        "transaction_last_update_timestamp_ms": txn.update_ms,
        "transaction_start_timestamp_ms": txn.start_ms,
        "previous_producer_id": txn.prev_producer_id,
        "next_producer_id": txn.next_producer_id,
        "client_transaction_version": txn.client_transaction_version,
    }
    return key, versioned_bytes("TransactionLogValue", 1, value)


def read_transaction_record(key: bytes | None, data: bytes | None, headers: Headers) -> Record:
    """Return the record of `__transaction_state` that these bytes are; UnknownRecordError for another version."""
    transactional_id = _values("TransactionLogKey", key or b"")["transactional_id"]
    if data is None:
        return Record(transactional_id, None, headers)
    value = _values("TransactionLogValue", data)
    txn = Txn(
        transactional_id=transactional_id,
        producer_id=value["producer_id"],
        producer_epoch=value["producer_epoch"],
        state=TxnState.from_id(value["transaction_status"]),
        timeout_ms=value["transaction_timeout_ms"],
        partitions=tuple(sorted(partitions_in(value["transaction_partitions"] or (), numbers="partition_ids"))),
        start_ms=value["transaction_start_timestamp_ms"],
        update_ms=value["transaction_last_update_timestamp_ms"],
        prev_producer_id=value.get("previous_producer_id", -1),
        next_producer_id=value.get("next_producer_id", -1),
        client_transaction_version=value.get("client_transaction_version", 0),
    )
    return Record(transactional_id, txn, headers)


def group_record(record: Record) -> tuple[bytes, bytes | None]:
    """Return key and value of a record of `__consumer_offsets`."""
    group, _, partition = (record.key or "").rpartition("/")
    value = record.value
    if partition == "":
        return _key(GROUP, group=group), None if value is None else _group_value(value)
    key = _key(OFFSET, group=group, topic=topic_of(partition), partition=index_of(partition))
    return key, None if value is None else _offset_value(value)


def _key(kind: int, **values: Any) -> bytes:
    """Return a key: the number in front says what it is of."""
    return _KIND.pack(kind) + versioned_bytes(KEYS[kind], 0, values)[_KIND.size :]


def _offset_value(commit: OffsetCommit) -> bytes:
    value = {
        "offset": commit.offset,
        "leader_epoch": commit.leader_epoch,
        "metadata": commit.metadata,
        "commit_timestamp": commit.commit_timestamp_ms,
        "expire_timestamp": commit.expire_timestamp_ms,
    }
    return versioned_bytes("OffsetCommitValue", EXPIRING if commit.expire_timestamp_ms >= 0 else 4, value)


def _group_value(entry: GroupEntry) -> bytes:
    members = [
        {
            "member_id": m.member_id,
            "group_instance_id": m.group_instance_id,
            "client_id": m.client_id,
            "client_host": HOST,
            "rebalance_timeout": m.rebalance_timeout_ms,
            "session_timeout": m.session_timeout_ms,
            "subscription": subscription_bytes(m.subscription),
            "assignment": assignment_bytes(m.assignment),
        }
        for m in entry.members
    ]
    value = {
        "protocol_type": entry.protocol_type,
        "generation": entry.generation,
        "protocol": entry.protocol or None,
        "leader": entry.leader or None,
        "current_state_timestamp": entry.current_state_timestamp_ms,
        "members": members,
    }
    return versioned_bytes("GroupMetadataValue", 3, value)


def read_group_record(key: bytes | None, data: bytes | None, headers: Headers) -> Record:
    """Return the record of `__consumer_offsets` that these bytes are; UnknownRecordError for another version."""
    kind = _KIND.unpack_from(key or b"")[0]
    if kind not in KEYS:
        raise UnknownRecordError(f"a key of type {kind}")
    named = raw(KEYS[kind], 0).read(Source(key or b"", _KIND.size))
    if kind == GROUP:
        return Record(group_key(named["group"]), None if data is None else _group(named["group"], data), headers)
    partition = f"{named['topic']}-{named['partition']}"
    name = offset_key(named["group"], partition)
    if data is None:
        return Record(name, None, headers)
    value = _values("OffsetCommitValue", data)
    commit = OffsetCommit(
        group=named["group"],
        partition=partition,
        offset=value["offset"],
        leader_epoch=value.get("leader_epoch", -1),
        metadata=value["metadata"],
        commit_timestamp_ms=value["commit_timestamp"],
        expire_timestamp_ms=value.get("expire_timestamp", -1),
    )
    return Record(name, commit, headers)


def _group(name: str, data: bytes) -> GroupEntry:
    value = _values("GroupMetadataValue", data)
    members = tuple(
        MemberEntry(
            member_id=m["member_id"],
            group_instance_id=m.get("group_instance_id"),
            client_id=m["client_id"],
            session_timeout_ms=m["session_timeout"],
            rebalance_timeout_ms=m.get("rebalance_timeout", m["session_timeout"]),
            subscription=subscription(m["subscription"]),
            assignment=assignment(m["assignment"]),
        )
        for m in value["members"]
    )
    return GroupEntry(
        group=name,
        protocol_type=value["protocol_type"],
        generation=value["generation"],
        protocol=value["protocol"] or "",
        leader=value["leader"] or "",
        current_state_timestamp_ms=value.get("current_state_timestamp", -1),
        members=members,
    )
