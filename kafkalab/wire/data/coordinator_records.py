"""Records of `__transaction_state` and `__consumer_offsets` as Kafka's bytes, and back
(docs/protocol.md#transaction-state-records, #offset-records)."""

from __future__ import annotations

import io
from struct import Struct
from typing import Any

from kio.serial import entity_reader, entity_writer

from kafkalab.broker.group_coordinator.offsets import OffsetCommit, group_key, offset_key
from kafkalab.broker.transaction_coordinator.metadata import Txn, TxnState
from kafkalab.protocol.group_record import GroupEntry, MemberEntry
from kafkalab.protocol.partitions import index_of, topic_of
from kafkalab.protocol.records import Headers, Record
from kafkalab.wire.data import coordinator_messages as kafka
from kafkalab.wire.values import assignment, assignment_bytes, subscription, subscription_bytes

_VERSION = Struct(">h")
HOST = "/127.0.0.1"
"""The text that is written for a member's host, which the lab does not keep."""


class UnknownRecordError(Exception):
    """A key or value of a type or version that this kafkalab does not write."""


def _bytes(message: Any) -> bytes:
    out = io.BytesIO()
    out.write(_VERSION.pack(message.__version__))
    entity_writer(type(message))(out, message)
    return out.getvalue()


def _message(data: bytes, *types: type) -> Any:
    """Return the message of one of the types, chosen by the version that the bytes begin with."""
    version = _VERSION.unpack_from(data)[0]
    for kind in types:
        if kind.__version__ == version:  # type: ignore[attr-defined]
            return entity_reader(kind)(data, _VERSION.size)[0]
    raise UnknownRecordError(f"version {version} of {types[0].__name__}")


def transaction_record(record: Record) -> tuple[bytes, bytes | None]:
    """Return key and value of a record of `__transaction_state`."""
    key, txn = _bytes(kafka.TransactionLogKey(transactional_id=record.key or "")), record.value
    if txn is None:
        return key, None
    assert isinstance(txn, Txn)
    topics: dict[str, list[int]] = {}
    for partition in txn.partitions:
        topics.setdefault(topic_of(partition), []).append(index_of(partition))
    rows = tuple(kafka.TransactionTopic(topic=t, partition_ids=tuple(ids)) for t, ids in topics.items())
    value = kafka.TransactionLogValue(
        producer_id=txn.producer_id,
        producer_epoch=txn.producer_epoch,
        transaction_timeout_ms=txn.timeout_ms,
        transaction_status=txn.state.id,
        transaction_partitions=None if txn.logged_partitions is None else rows,
        transaction_last_update_timestamp_ms=txn.update_ms,
        transaction_start_timestamp_ms=txn.start_ms,
        previous_producer_id=txn.prev_producer_id,
        next_producer_id=txn.next_producer_id,
        client_transaction_version=txn.client_transaction_version,
    )
    return key, _bytes(value)


def read_transaction_record(key: bytes | None, data: bytes | None, headers: Headers) -> Record:
    """Return the record of `__transaction_state` that these bytes are; UnknownRecordError for another version."""
    transactional_id = _message(key or b"", kafka.TransactionLogKey).transactional_id
    if data is None:
        return Record(transactional_id, None, headers)
    value = _message(data, kafka.TransactionLogValue)
    partitions = (f"{row.topic}-{number}" for row in value.transaction_partitions or () for number in row.partition_ids)
    txn = Txn(
        transactional_id=transactional_id,
        producer_id=value.producer_id,
        producer_epoch=value.producer_epoch,
        state=TxnState.from_id(value.transaction_status),
        timeout_ms=value.transaction_timeout_ms,
        partitions=tuple(sorted(partitions)),
        start_ms=value.transaction_start_timestamp_ms,
        update_ms=value.transaction_last_update_timestamp_ms,
        prev_producer_id=value.previous_producer_id,
        next_producer_id=value.next_producer_id,
        client_transaction_version=value.client_transaction_version,
    )
    return Record(transactional_id, txn, headers)


def group_record(record: Record) -> tuple[bytes, bytes | None]:
    """Return key and value of a record of `__consumer_offsets`."""
    group, _, partition = (record.key or "").rpartition("/")
    value = record.value
    if partition == "":
        return _bytes(kafka.GroupMetadataKey(group=group)), None if value is None else _bytes(_group_value(value))
    key = _bytes(kafka.OffsetCommitKey(group=group, topic=topic_of(partition), partition=index_of(partition)))
    return key, None if value is None else _bytes(_offset_value(value))


def _offset_value(commit: OffsetCommit) -> Any:
    given: dict[str, Any] = {"offset": commit.offset, "metadata": commit.metadata}
    given["commit_timestamp"] = commit.commit_timestamp_ms
    if commit.expire_timestamp_ms >= 0:
        return kafka.ExpiringOffset(**given, expire_timestamp=commit.expire_timestamp_ms)
    return kafka.OffsetCommitValue(**given, leader_epoch=commit.leader_epoch)


def _group_value(entry: GroupEntry) -> kafka.GroupMetadataValue:
    members = tuple(
        kafka.MemberMetadata(
            member_id=m.member_id,
            group_instance_id=m.group_instance_id,
            client_id=m.client_id,
            client_host=HOST,
            rebalance_timeout=m.rebalance_timeout_ms,
            session_timeout=m.session_timeout_ms,
            subscription=subscription_bytes(m.subscription),
            assignment=assignment_bytes(m.assignment),
        )
        for m in entry.members
    )
    return kafka.GroupMetadataValue(
        protocol_type=entry.protocol_type,
        generation=entry.generation,
        protocol=entry.protocol or None,
        leader=entry.leader or None,
        current_state_timestamp=entry.current_state_timestamp_ms,
        members=members,
    )


def read_group_record(key: bytes | None, data: bytes | None, headers: Headers) -> Record:
    """Return the record of `__consumer_offsets` that these bytes are; UnknownRecordError for another version."""
    named = _message(key or b"", kafka.OffsetCommitKey, kafka.GroupMetadataKey)
    if isinstance(named, kafka.GroupMetadataKey):
        return Record(group_key(named.group), None if data is None else _group(named.group, data), headers)
    partition = f"{named.topic}-{named.partition}"
    name = offset_key(named.group, partition)
    if data is None:
        return Record(name, None, headers)
    value = _message(data, kafka.OffsetCommitValue, kafka.ExpiringOffset)
    commit = OffsetCommit(
        group=named.group,
        partition=partition,
        offset=value.offset,
        leader_epoch=getattr(value, "leader_epoch", -1),
        metadata=value.metadata,
        commit_timestamp_ms=value.commit_timestamp,
        expire_timestamp_ms=getattr(value, "expire_timestamp", -1),
    )
    return Record(name, commit, headers)


def _group(name: str, data: bytes) -> GroupEntry:
    value = _message(data, kafka.GroupMetadataValue)
    members = tuple(
        MemberEntry(
            member_id=m.member_id,
            group_instance_id=m.group_instance_id,
            client_id=m.client_id,
            session_timeout_ms=m.session_timeout,
            rebalance_timeout_ms=m.rebalance_timeout,
            subscription=subscription(m.subscription),
            assignment=assignment(m.assignment),
        )
        for m in value.members
    )
    return GroupEntry(
        group=name,
        protocol_type=value.protocol_type,
        generation=value.generation,
        protocol=value.protocol or "",
        leader=value.leader or "",
        current_state_timestamp_ms=value.current_state_timestamp,
        members=members,
    )
