"""A consumer group of KIP-848 as records of `__consumer_offsets` hold it: five kinds of records, one fact each.

Kafka's definitions: `ConsumerGroupMetadataValue` and the four beside it in the group coordinator's resources.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import ClassVar, TypeAlias


class MemberState(Enum):
    """The steps of a member towards its target (`modern.MemberState`)."""

    STABLE = 0
    UNREVOKED_PARTITIONS = 1
    UNRELEASED_PARTITIONS = 2

    def __repr__(self) -> str:
        return f"MemberState.{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupEpoch:
    """The group's epoch, which rises with every change of what members want; `metadata_hash` is of their topics."""

    kind: ClassVar[str] = "epoch"
    group: str
    epoch: int
    metadata_hash: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberSubscription:
    """A member by its names, and the topics that it wants; `subscribed_topic_names` are sorted."""

    kind: ClassVar[str] = "member"
    group: str
    member_id: str
    instance_id: str | None = None
    rack_id: str | None = None
    client_id: str = ""
    subscribed_topic_names: tuple[str, ...] = ()
    subscribed_topic_regex: str = ""
    rebalance_timeout_ms: int = -1
    server_assignor: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetEpoch:
    """The group epoch that the newest target assignment is for, and when it was computed, 0 for never."""

    kind: ClassVar[str] = "target epoch"
    group: str
    assignment_epoch: int
    assignment_timestamp_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetAssignment:
    """The partitions that a member is to have in the end."""

    kind: ClassVar[str] = "target"
    group: str
    member_id: str
    partitions: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CurrentAssignment:
    """The partitions that a member has, and those that it must give up, each with the epoch of its assignment."""

    kind: ClassVar[str] = "current"
    group: str
    member_id: str
    member_epoch: int
    previous_member_epoch: int
    state: MemberState
    assigned: dict[str, int]
    pending_revocation: dict[str, int]


GroupRecord: TypeAlias = GroupEpoch | MemberSubscription | TargetEpoch | TargetAssignment | CurrentAssignment
KINDS = {kind.kind: kind for kind in (GroupEpoch, MemberSubscription, TargetEpoch, TargetAssignment, CurrentAssignment)}
"""The records by the word that ends their key."""


def record_key(kind: str, group: str, member_id: str = "") -> str:
    """Return the key of a record; keys of offsets end with a partition's number, those of classic groups with "/"."""
    return f"{group}/{member_id.replace('%', '%25').replace('/', '%2F')}#{kind}"


def parse_record_key(key: str) -> tuple[str, str, str] | None:
    """Return kind, group and member of a key of `record_key`; None for any other key."""
    named, _, kind = key.rpartition("#")
    if kind not in KINDS:
        return None
    group, _, member_id = named.rpartition("/")
    return kind, group, member_id.replace("%2F", "/").replace("%25", "%")


def describe_record(record: GroupRecord) -> str:
    """Return the record in a line."""
    match record:
        case GroupEpoch(epoch=epoch):
            said = f"epoch {epoch}"
        case MemberSubscription(member_id=member, subscribed_topic_names=topics, subscribed_topic_regex=regex):
            said = f"{member} wants {', '.join(topics) or regex or 'nothing'}"
        case TargetEpoch(assignment_epoch=epoch):
            said = f"targets of epoch {epoch}"
        case TargetAssignment(member_id=member, partitions=partitions):
            said = f"{member} is to have {', '.join(partitions) or 'nothing'}"
        case CurrentAssignment(member_id=member, member_epoch=epoch, assigned=assigned, pending_revocation=revoked):
            said = f"{member} in epoch {epoch} has {', '.join(assigned) or 'nothing'}"
            said += f", must give up {', '.join(revoked)}" if revoked else ""
    return f"group {record.group}, {said}"
