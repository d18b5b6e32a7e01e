"""The records that a change of a consumer group is made of (`GroupCoordinatorRecordHelpers`)."""

from __future__ import annotations

from kafkalab.log.consumer_groups import ConsumerGroup, ConsumerMember
from kafkalab.protocol.consumer_group_records import (
    CurrentAssignment,
    GroupEpoch,
    MemberSubscription,
    TargetAssignment,
    TargetEpoch,
    record_key,
)
from kafkalab.protocol.records import Record


def group_epoch(group_id: str, epoch: int, metadata_hash: int) -> Record:
    """Return the record of the group's epoch."""
    value = GroupEpoch(group=group_id, epoch=epoch, metadata_hash=metadata_hash)
    return Record(record_key(GroupEpoch.kind, group_id), value)


def target_epoch(group_id: str, epoch: int, timestamp_ms: int) -> Record:
    """Return the record of the epoch that the targets are for, computed at `timestamp_ms`."""
    value = TargetEpoch(group=group_id, assignment_epoch=epoch, assignment_timestamp_ms=timestamp_ms)
    return Record(record_key(TargetEpoch.kind, group_id), value)


def target(group_id: str, member_id: str, partitions: tuple[str, ...]) -> Record:
    """Return the record of what the member is to have."""
    value = TargetAssignment(group=group_id, member_id=member_id, partitions=partitions)
    return Record(record_key(TargetAssignment.kind, group_id, member_id), value)


def current(group_id: str, member: ConsumerMember) -> Record:
    """Return the record of what the member has."""
    value = member.as_record(CurrentAssignment, group_id)
    return Record(record_key(CurrentAssignment.kind, group_id, member.member_id), value)


def subscription(group_id: str, member: ConsumerMember) -> Record:
    """Return the record of who the member is and what it wants."""
    value = member.as_record(MemberSubscription, group_id)
    return Record(record_key(MemberSubscription.kind, group_id, member.member_id), value)


def removal(group_id: str, member_id: str) -> list[Record]:
    """Return the tombstones of a member."""
    kinds = (CurrentAssignment.kind, TargetAssignment.kind, MemberSubscription.kind)
    return [Record(record_key(kind, group_id, member_id), None) for kind in kinds]


def tombstones(group: ConsumerGroup) -> list[Record]:
    """Return the tombstones of a whole group (`ConsumerGroup.createGroupTombstoneRecords`)."""
    name, ids = group.group, list(group.members)
    keys = [
        *(record_key(CurrentAssignment.kind, name, member_id) for member_id in ids),
        *(record_key(TargetAssignment.kind, name, member_id) for member_id in ids),
        record_key(TargetEpoch.kind, name),
        *(record_key(MemberSubscription.kind, name, member_id) for member_id in ids),
        record_key(GroupEpoch.kind, name),
    ]
    return [Record(key, None) for key in keys]
