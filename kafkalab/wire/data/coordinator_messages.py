"""Keys and values of the internal topics, for kio's readers and writers (kio itself has Kafka's requests only).

Versions are those that Kafka 4.3 writes; an offset that expires has a value of version 1.
"""

from dataclasses import dataclass, field
from typing import Any, ClassVar

from kio.static.constants import EntityType

INT8, INT16, INT32, INT64 = ({"kafka_type": f"int{bits}"} for bits in (8, 16, 32, 64))
STRING, BYTES = {"kafka_type": "string"}, {"kafka_type": "bytes"}


def tagged(number: int, kind: dict[str, str], default: int) -> Any:
    """Return a field that is written only where it differs from `default`."""
    return field(metadata={**kind, "tag": number}, default=default)


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionLogKey:
    """Version 0."""

    __type__: ClassVar = EntityType.data
    __version__: ClassVar = 0
    __flexible__: ClassVar = False
    transactional_id: str = field(metadata=STRING)


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionTopic:
    """The partitions of one topic that a transaction has written to."""

    __type__: ClassVar = EntityType.nested
    __version__: ClassVar = 1
    __flexible__: ClassVar = True
    topic: str = field(metadata=STRING)
    partition_ids: tuple[int, ...] = field(metadata=INT32)


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionLogValue:
    """Version 1 (KIP-890)."""

    __type__: ClassVar = EntityType.data
    __version__: ClassVar = 1
    __flexible__: ClassVar = True
    producer_id: int = field(metadata=INT64)
    producer_epoch: int = field(metadata=INT16)
    transaction_timeout_ms: int = field(metadata=INT32)
    transaction_status: int = field(metadata=INT8)
    transaction_partitions: tuple[TransactionTopic, ...] | None
    transaction_last_update_timestamp_ms: int = field(metadata=INT64)
    transaction_start_timestamp_ms: int = field(metadata=INT64)
    previous_producer_id: int = tagged(0, INT64, -1)
    next_producer_id: int = tagged(1, INT64, -1)
    client_transaction_version: int = tagged(2, INT16, 0)
    next_producer_epoch: int = tagged(3, INT16, -1)


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetCommitKey:
    """Version 1; the older 0 has the same fields."""

    __type__: ClassVar = EntityType.data
    __version__: ClassVar = 1
    __flexible__: ClassVar = False
    group: str = field(metadata=STRING)
    topic: str = field(metadata=STRING)
    partition: int = field(metadata=INT32)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpiringOffset:
    """Version 1 of `OffsetCommitValue`."""

    __type__: ClassVar = EntityType.data
    __version__: ClassVar = 1
    __flexible__: ClassVar = False
    offset: int = field(metadata=INT64)
    metadata: str = field(metadata=STRING)
    commit_timestamp: int = field(metadata=INT64)
    expire_timestamp: int = field(metadata=INT64)


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetCommitValue:
    """Version 4, without the topic's id."""

    __type__: ClassVar = EntityType.data
    __version__: ClassVar = 4
    __flexible__: ClassVar = True
    offset: int = field(metadata=INT64)
    leader_epoch: int = field(metadata=INT32)
    metadata: str = field(metadata=STRING)
    commit_timestamp: int = field(metadata=INT64)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupMetadataKey:
    """Version 2, which tells it from the key of an offset."""

    __type__: ClassVar = EntityType.data
    __version__: ClassVar = 2
    __flexible__: ClassVar = False
    group: str = field(metadata=STRING)


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberMetadata:
    """A member of a classic group."""

    __type__: ClassVar = EntityType.nested
    __version__: ClassVar = 3
    __flexible__: ClassVar = False
    member_id: str = field(metadata=STRING)
    group_instance_id: str | None = field(metadata=STRING)
    client_id: str = field(metadata=STRING)
    client_host: str = field(metadata=STRING)
    rebalance_timeout: int = field(metadata=INT32)
    session_timeout: int = field(metadata=INT32)
    subscription: bytes = field(metadata=BYTES)
    assignment: bytes = field(metadata=BYTES)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupMetadataValue:
    """Version 3."""

    __type__: ClassVar = EntityType.data
    __version__: ClassVar = 3
    __flexible__: ClassVar = False
    protocol_type: str = field(metadata=STRING)
    generation: int = field(metadata=INT32)
    protocol: str | None = field(metadata=STRING)
    leader: str | None = field(metadata=STRING)
    current_state_timestamp: int = field(metadata=INT64)
    members: tuple[MemberMetadata, ...]
