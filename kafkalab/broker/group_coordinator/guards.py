"""What the APIs of a group coordinator have in common: whose group it is, who may commit, how a group is written."""

from __future__ import annotations

from kafkalab.broker.effects import Append, Effect, Note, Then
from kafkalab.broker.group_coordinator.group import ClassicGroup, Member
from kafkalab.broker.group_coordinator.offsets import GroupOffsets, group_key
from kafkalab.broker.group_coordinator.transition_table import GroupAsk, GroupState
from kafkalab.broker.state import BrokerState
from kafkalab.broker.transaction_coordinator.transition_table import Refuse
from kafkalab.protocol.acls import GROUP, READ
from kafkalab.protocol.api import Header
from kafkalab.protocol.errors import Error
from kafkalab.protocol.partitions import offsets_partition
from kafkalab.protocol.records import Batch, Record


def group_error(broker: BrokerState, group: str, may_be_empty: bool = False) -> Error:
    """NONE if this broker coordinates the group, else why not. Plain commits and fetches take the group "" as ever."""
    if group == "" and not may_be_empty:
        return Error.INVALID_GROUP_ID
    partition = offsets_partition(group)
    if not broker.leads(partition):
        return Error.NOT_COORDINATOR
    return Error.COORDINATOR_LOAD_IN_PROGRESS if partition in broker.offsets_loading else Error.NONE


def group_refusal(broker: BrokerState, header: Header, group: str) -> Error:
    """The same for a member, who needs READ on the group."""
    denied = broker.denies(header.sender, READ, GROUP, group)
    return Error.GROUP_AUTHORIZATION_FAILED if denied else group_error(broker, group)


def offsets_of(broker: BrokerState, group: str) -> GroupOffsets:
    """What the group's partition of `__consumer_offsets` says, as far as it is replicated."""
    return broker.offsets.get(offsets_partition(group)) or GroupOffsets()


def find_group(broker: BrokerState, group_id: str) -> ClassicGroup | None:
    """The group, if it exists: somebody joined it, or (a simple group) somebody committed an offset for it."""
    group = broker.groups.get(group_id)
    if group is None and group_id in offsets_of(broker, group_id).groups:
        group = broker.groups[group_id] = new_group(broker, group_id)
    return group


def new_group(broker: BrokerState, group_id: str) -> ClassicGroup:
    """An empty group; the ids that it will give out differ from those of any earlier coordinator."""
    return ClassicGroup(group_id, broker.metadata.partitions[offsets_partition(group_id)].leader_epoch)


def commit_error(
    group: ClassicGroup | None, member_id: str, instance_id: str | None, generation: int, transactional: bool, old: bool
) -> Error:
    """NONE if this member of this generation may commit offsets (KIP-447, facts 6.5; `validateOffsetCommit`).

    `old` is an API version in which an unknown group is called ILLEGAL_GENERATION.
    """
    if group is None:
        unknown = Error.ILLEGAL_GENERATION if old else Error.GROUP_ID_NOT_FOUND
        return Error.NONE if generation < 0 else unknown
    answer = group.ask(GroupAsk.TXN_COMMIT if transactional else GroupAsk.COMMIT)
    if group.state is GroupState.DEAD and isinstance(answer, Refuse):
        return answer.error
    if generation < 0 and group.state is GroupState.EMPTY:
        return Error.NONE
    if generation >= 0 or member_id != "" or instance_id is not None:
        error = group.generation_error(member_id, instance_id, generation)
        if error is not Error.NONE:
            return error
    elif not transactional:
        return Error.UNKNOWN_MEMBER_ID  # a group with members takes plain commits from members only
    return answer.error if isinstance(answer, Refuse) else Error.NONE


def offsets_append_error(error: Error) -> Error:
    """How a group coordinator names a failed append (`CoordinatorOperationExceptionHelper`)."""
    if error in (Error.UNKNOWN_TOPIC_OR_PARTITION, Error.NOT_ENOUGH_REPLICAS, Error.REQUEST_TIMED_OUT):
        return Error.COORDINATOR_NOT_AVAILABLE
    if error in (Error.NOT_LEADER_OR_FOLLOWER, Error.KAFKA_STORAGE_ERROR):
        return Error.NOT_COORDINATOR
    return error


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


def append_group(
    broker: BrokerState,
    group: ClassicGroup,
    now: int,
    then: Then,
    assignments: dict[str, tuple[str, ...]] | None = None,
) -> list[Effect]:
    """Write the group's record; `then` is called with how that ended."""
    batch = Batch(records=(Record(group_key(group.group), group.entry(assignments)),), timestamp_ms=now)
    return [Append(offsets_partition(group.group), batch, broker.config.offsets_commit_timeout_ms, then)]


def hold_key(kind: str, group: ClassicGroup, member: Member) -> str:
    """Under which name a member's JoinGroup or SyncGroup waits."""
    return f"{kind} {group.group} {member.member_id}"
