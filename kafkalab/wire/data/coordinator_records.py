"""Records of `__transaction_state` and `__consumer_offsets` as Kafka's bytes, and back
(docs/protocol.md#transaction-state-records, #offset-records)."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from struct import Struct
from typing import Any

from kafkalab.log.group_offsets import OffsetCommit, group_key, offset_key
from kafkalab.protocol.consumer_group_records import (
    KINDS,
    CurrentAssignment,
    GroupEpoch,
    MemberState,
    MemberSubscription,
    TargetAssignment,
    TargetEpoch,
    parse_record_key,
    record_key,
)
from kafkalab.protocol.group_record import GroupEntry
from kafkalab.protocol.partitions import index_of, topic_of
from kafkalab.protocol.records import Headers, Record
from kafkalab.protocol.transaction_metadata import Txn, TxnState
from kafkalab.wire.definitions import message
from kafkalab.wire.names import Names
from kafkalab.wire.primitives import Codec, Sink, Source
from kafkalab.wire.rules import Custom, Is, Partitions, Rows
from kafkalab.wire.shapes import Shape
from kafkalab.wire.structs import Values, raw, versioned_bytes
from kafkalab.wire.values import (
    ASSIGNMENT,
    CLIENT_HOST,
    OR_NULL,
    SUBSCRIPTION,
    Kind,
    by_topic,
    partitions_in,
    write_only,
)

_VERSION = Struct(">h")
TXN_KEY, OFFSET_KEY, GROUP_KEY = "TransactionLogKey", "OffsetCommitKey", "GroupMetadataKey"
CONSUMER_GROUP = {
    GroupEpoch.kind: (3, "ConsumerGroupMetadata"),
    MemberSubscription.kind: (5, "ConsumerGroupMemberMetadata"),
    TargetEpoch.kind: (6, "ConsumerGroupTargetAssignmentMetadata"),
    TargetAssignment.kind: (7, "ConsumerGroupTargetAssignmentMember"),
    CurrentAssignment.kind: (8, "ConsumerGroupCurrentMemberAssignment"),
}
"""The key's number and the name of Kafka's of each kind of record of a consumer group (KIP-848)."""
_KIND_OF = {name: kind for kind, (_, name) in CONSUMER_GROUP.items()}
KEYS = {
    0: OFFSET_KEY, 1: OFFSET_KEY, 2: GROUP_KEY,
    **{number: f"{name}Key" for number, name in CONSUMER_GROUP.values()},
}  # fmt: skip
"""Names of the keys of `__consumer_offsets`, by the number that a key begins with; 0 and 1 are offsets."""
TXN, OFFSET, GROUP = "TransactionLogValue", "OffsetCommitValue", "GroupMetadataValue"
WRITTEN = {TXN: 1, OFFSET: 4, GROUP: 3}
"""The versions that Kafka 4.3 writes; an offset that expires has version 1."""
TOPICS = Names({})
"""The ids of topics, which follow from their names; a topic is known by its id once its name was met."""


class UnknownRecordError(Exception):
    """A key or value of a type or version that this kafkalab does not know."""


def _read_partitions(rows: Any, values: Values, source: Source) -> None:
    values["partitions"] = tuple(sorted(partitions_in(rows or (), numbers="partition_ids")))


def _partitions(txn: Txn, sink: Sink) -> Any:
    return None if txn.logged_partitions is None else by_topic(txn.partitions, numbers="partition_ids")


def learn_topics(partitions: Iterable[str]) -> None:
    """Note the names of topics, so that records which name them by their ids can be read."""
    for topic in dict.fromkeys(map(topic_of, partitions)):
        TOPICS.topic_id(topic)


def _rule_of_epochs(theirs: str, ours: str) -> Custom:
    """Return the rule of a member's partitions with their epochs, which have their own field of the row."""

    def read(rows: Any, values: Values, source: Source) -> None:
        values[ours] = {
            f"{source.names.topic(row['topic_id'])}-{number}": epoch
            for row in rows
            for number, epoch in zip(row["partitions"], row["assignment_epochs"] or (), strict=True)
        }

    def write(current: CurrentAssignment, sink: Sink) -> Any:
        epochs: dict[str, int] = getattr(current, ours)
        return [
            {
                "topic_id": sink.names.topic_id(topic),
                "partitions": [index_of(p) for p in epochs if topic_of(p) == topic],
                "assignment_epochs": [epoch for p, epoch in epochs.items() if topic_of(p) == topic],
            }
            for topic in dict.fromkeys(map(topic_of, epochs))
        ]

    return Custom(theirs, read, write)


_RULES: dict[str, tuple[Any, ...]] = {
    MemberSubscription.kind: (Is("client_host", "client_id", write_only(lambda *_: CLIENT_HOST)),),
    TargetAssignment.kind: (Partitions("topic_partitions", "partitions"),),
    CurrentAssignment.kind: (
        Is("state", "state", Kind(lambda number, _: MemberState(number), lambda state, _: state.value)),
        _rule_of_epochs("assigned_partitions", "assigned"),
        _rule_of_epochs("partitions_pending_revocation", "pending_revocation"),
    ),
}
VALUES: dict[str, tuple[type, tuple[Any, ...]]] = {
    TXN: (Txn, (
        Is("transaction_timeout_ms", "timeout_ms"),
        Is("transaction_status", "state", Kind(lambda id, _: TxnState.from_id(id), lambda state, _: state.id)),
        Custom("transaction_partitions", _read_partitions, _partitions),
        Is("transaction_last_update_timestamp_ms", "update_ms"),
        Is("transaction_start_timestamp_ms", "start_ms"),
        Is("previous_producer_id", "prev_producer_id"),
    )),
    OFFSET: (OffsetCommit, ()),
    GROUP: (GroupEntry, (
        Is("protocol", "protocol", OR_NULL),
        Is("leader", "leader", OR_NULL),
        Rows("members", "members", (
            Is("client_host", "client_id", write_only(lambda *_: CLIENT_HOST)),
            Is("subscription", "subscription", SUBSCRIPTION),
            Is("assignment", "assignment", ASSIGNMENT),
        )),
    )),
    **{f"{name}Value": (KINDS[kind], _RULES.get(kind, ())) for kind, (_, name) in CONSUMER_GROUP.items()},
}  # fmt: skip
"""Our class of a value, and what does not follow from the names of its fields."""


@cache
def _codec(name: str, version: int) -> Codec:
    try:
        shape = Shape(*message(name, version), *VALUES[name])
    except LookupError as error:
        raise UnknownRecordError(str(error)) from None
    return shape.codec(shape.unsaid)


def _read(name: str, data: bytes | None, **key: str) -> Any:
    """Return what a value and the fields of its key say; None for no value."""
    if data is None:
        return None
    source = Source(data, names=TOPICS)
    values = _codec(name, source.unpack(_VERSION)[0]).read(source)
    return VALUES[name][0](**{**values, **key})


def _encode(name: str, value: object, version: int) -> bytes | None:
    if value is None:
        return None
    sink = Sink(_VERSION.pack(version))
    sink.names = TOPICS
    _codec(name, version).write(sink, value)
    return bytes(sink)


def _key(kind: int, name: str, **values: object) -> bytes:
    return _VERSION.pack(kind) + versioned_bytes(name, 0, values)[_VERSION.size :]


def _read_key(key: bytes | None, kinds: dict[int, str]) -> tuple[str, Values]:
    """Return what a key is of, and its fields."""
    kind = _VERSION.unpack_from(key or b"")[0]
    if kind not in kinds:
        raise UnknownRecordError(f"a key of type {kind}")
    return kinds[kind], raw(kinds[kind], 0).read(Source(key or b"", _VERSION.size))


def transaction_record(record: Record) -> tuple[bytes, bytes | None]:
    """Return key and value of a record of `__transaction_state`."""
    return _key(0, TXN_KEY, transactional_id=record.key or ""), _encode(TXN, record.value, WRITTEN[TXN])


def read_transaction_record(key: bytes | None, data: bytes | None, headers: Headers) -> Record:
    """Return the record of `__transaction_state` that these bytes are; UnknownRecordError for another version."""
    _, named = _read_key(key, {0: TXN_KEY})
    return Record(named["transactional_id"], _read(TXN, data, **named), headers)


def group_record(record: Record) -> tuple[bytes, bytes | None]:
    """Return key and value of a record of `__consumer_offsets`."""
    named = parse_record_key(record.key or "")
    if named is not None:
        return _consumer_group_record(*named, record.value)
    group, _, partition = (record.key or "").rpartition("/")
    value = record.value
    if partition == "":
        return _key(2, GROUP_KEY, group=group), _encode(GROUP, value, WRITTEN[GROUP])
    key = _key(1, OFFSET_KEY, group=group, topic=topic_of(partition), partition=index_of(partition))
    expires = value is not None and value.expire_timestamp_ms >= 0
    return key, _encode(OFFSET, value, 1 if expires else WRITTEN[OFFSET])


def _consumer_group_record(kind: str, group: str, member_id: str, value: object) -> tuple[bytes, bytes | None]:
    number, name = CONSUMER_GROUP[kind]
    fields = {"group_id": group, "member_id": member_id}
    return _key(number, f"{name}Key", **fields), _encode(f"{name}Value", value, 0)


def _read_consumer_group_record(kind: str, data: bytes | None, headers: Headers, named: Values) -> Record:
    given = {"group": named["group_id"], **({"member_id": named["member_id"]} if "member_id" in named else {})}
    value = _read(f"{CONSUMER_GROUP[kind][1]}Value", data, **given)
    return Record(record_key(kind, named["group_id"], named.get("member_id", "")), value, headers)


def read_group_record(key: bytes | None, data: bytes | None, headers: Headers) -> Record:
    """Return the record of `__consumer_offsets` that these bytes are; UnknownRecordError for another version."""
    kind, named = _read_key(key, KEYS)
    if kind.removesuffix("Key") in _KIND_OF:
        return _read_consumer_group_record(_KIND_OF[kind.removesuffix("Key")], data, headers, named)
    group = named["group"]
    if kind == GROUP_KEY:
        return Record(group_key(group), _read(GROUP, data, group=group), headers)
    partition = f"{named['topic']}-{named['partition']}"
    return Record(offset_key(group, partition), _read(OFFSET, data, group=group, partition=partition), headers)
