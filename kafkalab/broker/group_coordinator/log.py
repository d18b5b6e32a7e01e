"""A group coordinator's reads and writes of its partition of `__consumer_offsets`: groups, offsets, tombstones."""

from __future__ import annotations

from kafkalab.broker.effects import Append, AppendResult, Effects, Note
from kafkalab.broker.group_coordinator.group import ClassicGroup
from kafkalab.broker.state import BrokerState
from kafkalab.log.consumer_groups import ConsumerGroup
from kafkalab.log.group_offsets import GroupOffsets, group_key, offset_key
from kafkalab.protocol.errors import Error
from kafkalab.protocol.group_record import GroupEntry
from kafkalab.protocol.partitions import offsets_partition
from kafkalab.protocol.records import Batch, Record
from kafkalab.protocol.rules import GROUP_LOG_WAITS
from kafkalab.protocol.transition_tables.group import GroupState


def offsets_of(broker: BrokerState, group: str) -> GroupOffsets:
    """Return what the group's partition of `__consumer_offsets` says, as far as it is replicated."""
    return broker.offsets.get(offsets_partition(group)) or GroupOffsets()


def newest_offsets_of(broker: BrokerState, group: str) -> GroupOffsets:
    """Return the offsets with all that is appended, which every write is decided from (`CoordinatorRuntime`)."""
    return broker.newest_offsets.get(offsets_partition(group)) or GroupOffsets()


def find_consumer_group(broker: BrokerState, group_id: str) -> ConsumerGroup | None:
    """Return the group if it is one of the consumer protocol (KIP-848)."""
    return newest_offsets_of(broker, group_id).consumer_groups.get(group_id)


def find_group(broker: BrokerState, group_id: str) -> ClassicGroup | None:
    """The classic group, if it exists: somebody joined it, or (a simple group) somebody committed an offset for it."""
    group, known = broker.groups.get(group_id), newest_offsets_of(broker, group_id)
    if group is None and group_id in known.groups and group_id not in known.consumer_groups:
        group = broker.groups[group_id] = new_group(broker, group_id)
    return group


def find_any_group(broker: BrokerState, group_id: str) -> ClassicGroup | ConsumerGroup | None:
    """Return the group of either protocol."""
    return find_consumer_group(broker, group_id) or find_group(broker, group_id)


def new_group(broker: BrokerState, group_id: str) -> ClassicGroup:
    """An empty group; the ids that it will give out differ from those of any earlier coordinator."""
    return ClassicGroup(group_id, broker.metadata.partitions[offsets_partition(group_id)].leader_epoch)


def group_note(group: ClassicGroup) -> Note:
    """The state event that pictures and checks read."""
    return Note(
        "group",
        {
            "group": group.group,
            "state": group.state.value,
            "generation": group.generation,
            "leader": group.leader,
            "members": {m.member_id: m.assignment for m in group.members.values()},
        },
    )


def append_group(broker: BrokerState, group_id: str, entry: GroupEntry) -> Effects[Error]:
    """Write the group's record; return how that ended, in a group coordinator's terms."""
    return append_records(broker, group_id, Record(group_key(group_id), entry))


def write_group(broker: BrokerState, group_id: str, entry: GroupEntry) -> Effects[None]:
    """The same, to be spawned: if the record is lost, only the next coordinator knows less."""
    yield from append_group(broker, group_id, entry)


def write_records(broker: BrokerState, group_id: str, records: list[Record]) -> Effects[None]:
    """Append records, to be spawned."""
    yield from append_records(broker, group_id, *records)


def append_tombstones(
    broker: BrokerState, group_id: str, partitions: list[str], with_group: bool = False
) -> Effects[Error]:
    """Delete these offsets of the group, and the group itself if `with_group`; return how that ended."""
    keys = [offset_key(group_id, p) for p in partitions] + ([group_key(group_id)] if with_group else [])
    return append_records(broker, group_id, *(Record(k, None) for k in keys))


def append_records(broker: BrokerState, group_id: str, *records: Record) -> Effects[Error]:
    """One plain batch in the group's partition."""
    return append_batch(broker, group_id, Batch(records=records, timestamp_ms=broker.now))


def append_batch(broker: BrokerState, group_id: str, batch: Batch) -> Effects[Error]:
    """Append to the group's partition; return NONE once that is replicated, or the translated error.

    The append does not look at min.insync.replicas. It waits offsets.commit.timeout.ms for the high watermark; after
    COORDINATOR_NOT_AVAILABLE the record is in the log and may count later (`CoordinatorPartitionWriter`, acks 1).
    """
    partition, timeout_ms = offsets_partition(group_id), broker.config.offsets_commit_timeout_ms
    appended: AppendResult = yield Append(partition, batch, timeout_ms, below_min_isr=broker.rules.on(GROUP_LOG_WAITS))
    return translate_write_error(appended.error)


def declare_dead(broker: BrokerState, group: ClassicGroup) -> Effects[None]:
    """Remove the group; its tombstone is appended next, and the group stays gone if that is replicated too late."""
    group.move(GroupState.DEAD, broker.now)
    del broker.groups[group.group]
    yield group_note(group)


TRANSLATED = {
    Error.NETWORK_EXCEPTION: Error.COORDINATOR_LOAD_IN_PROGRESS,
    Error.UNKNOWN_TOPIC_OR_PARTITION: Error.COORDINATOR_NOT_AVAILABLE,
    Error.NOT_ENOUGH_REPLICAS: Error.COORDINATOR_NOT_AVAILABLE,
    Error.REQUEST_TIMED_OUT: Error.COORDINATOR_NOT_AVAILABLE,
    Error.NOT_LEADER_OR_FOLLOWER: Error.NOT_COORDINATOR,
    Error.KAFKA_STORAGE_ERROR: Error.NOT_COORDINATOR,
    Error.MESSAGE_TOO_LARGE: Error.UNKNOWN_SERVER_ERROR,
    Error.RECORD_LIST_TOO_LARGE: Error.UNKNOWN_SERVER_ERROR,
}
"""The error of a failed write, or of a failed verification before it; any other error stays as it is."""


def translate_write_error(error: Error) -> Error:
    """Return the error in a group coordinator's terms (`CoordinatorOperationExceptionHelper`)."""
    return TRANSLATED.get(error, error)
