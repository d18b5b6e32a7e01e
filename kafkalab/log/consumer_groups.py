"""Consumer groups of KIP-848, as they follow from `__consumer_offsets` (`ConsumerGroup`)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from kafkalab.protocol.consumer_group_records import (
    CurrentAssignment,
    GroupEpoch,
    GroupRecord,
    MemberState,
    MemberSubscription,
    TargetAssignment,
    TargetEpoch,
)

FIRST_EPOCH, LEFT = 1, -2
"""The epochs of a new group, and that of a static member that left for a while."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerMember:
    """A member: its subscription, and its current assignment with the epochs of its partitions."""

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

    def subscription_record(self, group: str) -> MemberSubscription:
        """Return the record of who the member is and what it wants."""
        return MemberSubscription(
            group=group,
            member_id=self.member_id,
            instance_id=self.instance_id,
            rack_id=self.rack_id,
            client_id=self.client_id,
            subscribed_topic_names=self.subscribed_topic_names,
            subscribed_topic_regex=self.subscribed_topic_regex,
            rebalance_timeout_ms=self.rebalance_timeout_ms,
            server_assignor=self.server_assignor,
        )

    def current_record(self, group: str) -> CurrentAssignment:
        """Return the record of what the member has."""
        return CurrentAssignment(
            group=group,
            member_id=self.member_id,
            member_epoch=self.member_epoch,
            previous_member_epoch=self.previous_member_epoch,
            state=self.state,
            assigned=self.assigned,
            pending_revocation=self.pending_revocation,
        )


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
            case MemberSubscription():
                self._subscribe(record)
            case CurrentAssignment():
                self.members[record.member_id] = replace(
                    self._member(record.member_id),
                    member_epoch=record.member_epoch,
                    previous_member_epoch=record.previous_member_epoch,
                    state=record.state,
                    assigned=record.assigned,
                    pending_revocation=record.pending_revocation,
                )

    def _member(self, member_id: str) -> ConsumerMember:
        return self.members.get(member_id) or ConsumerMember(member_id=member_id)

    def _subscribe(self, record: MemberSubscription) -> None:
        self.members[record.member_id] = replace(
            self._member(record.member_id),
            instance_id=record.instance_id,
            rack_id=record.rack_id,
            client_id=record.client_id,
            subscribed_topic_names=record.subscribed_topic_names,
            subscribed_topic_regex=record.subscribed_topic_regex,
            rebalance_timeout_ms=record.rebalance_timeout_ms,
            server_assignor=record.server_assignor,
        )

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
