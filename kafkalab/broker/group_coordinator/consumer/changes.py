"""A change of a consumer group: the records that say so, appended as one batch, and what follows."""

from __future__ import annotations

from dataclasses import replace

from kafkalab.broker.effects import AppendResult, AwaitDurable, Effects, Note
from kafkalab.broker.group_coordinator.consumer import records
from kafkalab.broker.group_coordinator.consumer.topics import metadata_hash
from kafkalab.broker.group_coordinator.log import (
    append_records,
    find_consumer_group,
    newest_offsets_of,
    translate_write_error,
)
from kafkalab.broker.state import BrokerState
from kafkalab.log.consumer_groups import LEFT, ConsumerGroup, ConsumerMember
from kafkalab.log.group_offsets import offset_key
from kafkalab.protocol.errors import Error
from kafkalab.protocol.partitions import offsets_partition
from kafkalab.protocol.records import Record


def append_changes(broker: BrokerState, group_id: str, changes: list[Record]) -> Effects[Error]:
    """Append the records, which the group follows at once; return NONE when they are replicated.

    Without records wait for what others have appended: the answer tells of it (`CoordinatorRuntime`).
    """
    if not changes:
        return (yield from _await_others(broker, group_id))
    error = yield from append_records(broker, group_id, *changes)
    group = find_consumer_group(broker, group_id)
    if group is not None:
        yield group_note(group)
    return error


def _await_others(broker: BrokerState, group_id: str) -> Effects[Error]:
    log = broker.log(offsets_partition(group_id))
    if log.high_watermark >= log.log_end_offset:
        return Error.NONE
    newest = AwaitDurable(log.partition, log.batches[-1], broker.config.offsets_commit_timeout_ms)
    appended: AppendResult = yield newest
    return translate_write_error(appended.error)


def group_note(group: ConsumerGroup) -> Note:
    """The state event that pictures and checks read."""
    members = {m.member_id: tuple(m.assigned) for m in group.members.values()}
    data = {"state": group.state, "generation": group.epoch, "leader": "", "members": members}
    return Note("group", {"group": group.group, **data})


def delete_group(broker: BrokerState, group: ConsumerGroup, offsets: list[str] | None = None) -> Effects[Error]:
    """Remove an empty group with these offsets, or all it has."""
    gone = newest_offsets_of(broker, group.group).partitions_of(group.group) if offsets is None else offsets
    keys = [offset_key(group.group, partition) for partition in gone]
    changes = [*(Record(key, None) for key in keys), *records.tombstones(group)]
    error = yield from append_records(broker, group.group, *changes)
    yield Note("group", {"group": group.group, "state": "Dead", "generation": group.epoch, "leader": "", "members": {}})
    return error


def fence(broker: BrokerState, group: ConsumerGroup, member: ConsumerMember) -> Effects[Error]:
    """Remove the member; the group goes into its next epoch (`consumerGroupFenceMember`)."""
    others = [m for m in group.members.values() if m.member_id != member.member_id]
    epoch = group.epoch + 1
    changes = records.removal(group.group, member.member_id)
    changes.append(records.group_epoch(group.group, epoch, metadata_hash(broker, others)))
    if not others:
        changes.append(records.target_epoch(group.group, epoch, 0))
    return append_changes(broker, group.group, changes)


def leave_for_a_while(broker: BrokerState, group: ConsumerGroup, member: ConsumerMember) -> Effects[Error]:
    """Keep a static member's place and partitions until it comes back under another member id."""
    left = replace(member, member_epoch=LEFT, assigned=dict.fromkeys(member.assigned, 0), pending_revocation={})
    return append_changes(broker, group.group, [records.current(group.group, left)])
