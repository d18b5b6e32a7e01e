"""A classic group as a record of `__consumer_offsets` holds it (Kafka: `GroupMetadataValue`)."""

from __future__ import annotations

from dataclasses import dataclass

from kafkalab.protocol.field_versions import since


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberEntry:
    """A member as it stands in `__consumer_offsets`."""

    member_id: str
    group_instance_id: str | None = since(4, None)
    """In the log always; in an answer to DescribeGroups since version 4."""
    client_id: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    subscription: tuple[str, ...]
    assignment: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupEntry:
    """The decoded value of a group record (key type 2); without members the group is Empty, else Stable."""

    group: str
    protocol_type: str
    generation: int
    protocol: str
    leader: str
    current_state_timestamp_ms: int
    members: tuple[MemberEntry, ...]
