"""Consumer groups of KIP-848, as they follow from `__consumer_offsets` (`ConsumerGroup`)."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Any, TypeVar

from kafkalab.protocol.consumer_group_records import (
    CurrentAssignment,
    GroupEpoch,
    GroupRecord,
    MemberState,
    MemberSubscription,
    TargetAssignment,
    TargetEpoch,
)

R = TypeVar("R", MemberSubscription, CurrentAssignment)
FIRST_EPOCH, LEFT = 1, -2
"""The epochs of a new group, and that of a static member that left for a while."""


def _facts_of(kind: type, holder: object) -> dict[str, Any]:
    """Return by name the facts of a member that a record of this kind holds."""
    return {one.name: getattr(holder, one.name) for one in fields(kind) if one.name != "group"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerMember:
    """A member: its subscription, and its current assignment with the epochs of its partitions.

    It has the fields of MemberSubscription and CurrentAssignment, but for the group.
    """

    member_id: str
    member_epoch: int = 0
    previous_member_epoch: int = -1
    state: MemberState = MemberState.STABLE
    instance_id: str | None = None
    rack_id: str | None = None
    client_id: str = ""
    subscribed_topic_names: tuple[str, ...] = ()
    subscribed_topic_regex: str = ""
    rebalance_timeout_ms: int = -1
    server_assignor: str | None = None
    assigned: dict[str, int] = field(default_factory=dict)
    pending_revocation: dict[str, int] = field(default_factory=dict)

    def is_reconciled_to(self, epoch: int) -> bool:
        """Return True if the member has what the target of this epoch gives it."""
        return self.state is MemberState.STABLE and self.member_epoch == epoch

    def with_epoch(self, epoch: int) -> ConsumerMember:
        """Return the member in this epoch; its present one becomes the previous one."""
        return replace(self, member_epoch=epoch, previous_member_epoch=self.member_epoch)

    def as_record(self, kind: type[R], group: str) -> R:
        """Return what a record of this kind says of the member."""
        return kind(group=group, **_facts_of(kind, self))


@dataclass(slots=True)
class ConsumerGroup:
    """One group; it changes by `replay` only, so that a successor of its coordinator knows the same."""

    group: str
    epoch: int = FIRST_EPOCH
    metadata_hash: int = 0
    assignment_epoch: int = FIRST_EPOCH
    assignment_timestamp_ms: int = 0
    members: dict[str, ConsumerMember] = field(default_factory=dict)
    targets: dict[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def state(self) -> str:
        """The state, as Kafka's tools print it (`ConsumerGroup.maybeUpdateGroupState`)."""
        if not self.members:
            return "Empty"
        if self.epoch > self.assignment_epoch:
            return "Assigning"
        reconciled = all(m.is_reconciled_to(self.assignment_epoch) for m in self.members.values())
        return "Stable" if reconciled else "Reconciling"

    def static_member(self, instance_id: str | None) -> ConsumerMember | None:
        """Return the member with this `group.instance.id`, None for none."""
        if instance_id is None:
            return None
        return next((m for m in self.members.values() if m.instance_id == instance_id), None)

    def partition_epoch(self, partition: str) -> int:
        """Return the epoch of the member that has the partition, or must still give it up; -1 if no member has."""
        for member in self.members.values():
            if partition in member.assigned or partition in member.pending_revocation:
                return member.member_epoch
        return -1

    def replay(self, record: GroupRecord) -> None:
        """Take a record into account."""
        match record:
            case GroupEpoch(epoch=epoch, metadata_hash=metadata_hash):
                self.epoch, self.metadata_hash = epoch, metadata_hash
            case TargetEpoch(assignment_epoch=epoch, assignment_timestamp_ms=at_ms):
                self.assignment_epoch, self.assignment_timestamp_ms = epoch, at_ms
            case TargetAssignment(member_id=member_id, partitions=partitions):
                self.targets[member_id] = partitions
            case MemberSubscription() | CurrentAssignment():
                known = self.members.get(record.member_id) or ConsumerMember(member_id=record.member_id)
                self.members[record.member_id] = replace(known, **_facts_of(type(record), record))

    def forget(self, kind: str, member_id: str) -> None:
        """Take a tombstone of a record of this kind into account; that of the group's epoch is the owner's affair."""
        match kind:
            case TargetEpoch.kind:
                self.assignment_epoch, self.assignment_timestamp_ms = -1, 0
            case TargetAssignment.kind:
                self.targets.pop(member_id, None)
            case MemberSubscription.kind:
                self.members.pop(member_id, None)
            case CurrentAssignment.kind if member_id in self.members:
                gone = replace(self.members[member_id], member_epoch=-1, previous_member_epoch=-1)
                self.members[member_id] = replace(gone, assigned={}, pending_revocation={})
