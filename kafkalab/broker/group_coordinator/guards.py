"""Every check that a group coordinator makes before it looks into the transition table, in Kafka's order.

Theory of operation
===================

*Who holds which state.* A group belongs to one partition of `__consumer_offsets`, whose leader coordinates it. Two
kinds of state live there. Committed offsets are records, and the coordinator answers from what is replicated
(`GroupOffsets`); an offset of a transaction is pending until the marker is written. A group's members, generation and
assignment are a `ClassicGroup` in memory; its last record holds them as of the last completed rebalance, so a
successor knows the members and gives each a fresh session.

*What is pending.* A rebalance is two waits. In PreparingRebalance every JoinGroup is held until all members have
joined or the rebalance timeout is over; then there is a new *generation*, and all are answered at once. In
CompletingRebalance every SyncGroup is held until the leader's assignment is replicated. A member that was given an id
and has not come back with it is in `pending`: it does not count as a member, and nobody waits for it for long.

*What is decided when.* The generation decides who belongs: whoever names another one missed a rebalance, and must
not commit, since its partitions may belong to somebody else by now. An assignment is valid once its record is
replicated, an offset once its batch is.

*Who is fenced.* A dynamic member is known by its member id. A static member (KIP-345) keeps its place under its
`group.instance.id`; a new process with that name replaces the old one, which gets FENCED_INSTANCE_ID from then on.

Why the guards are in this order
--------------------------------

1. *Rights, group id, coordinator*: `group_refusal`; nobody learns from an error whether a group exists.
2. *The group*: an unknown one has no members. JoinGroup without a member id creates it; a plain commit without a
   generation (a consumer that assigns its partitions itself) is taken without one.
3. *A dead group* answers before its members are looked up: its coordinator is being replaced.
4. *Member id and instance id, then the generation*: UNKNOWN_MEMBER_ID makes a member join as a new one,
   FENCED_INSTANCE_ID is the end of it, ILLEGAL_GENERATION makes it join again under its id. The mildest comes last.
5. *The table*: what is left depends on the state alone, such as REBALANCE_IN_PROGRESS.
"""

from __future__ import annotations

from kafkalab.broker.group_coordinator.group import ClassicGroup
from kafkalab.broker.group_coordinator.log import find_consumer_group, find_group
from kafkalab.broker.state import BrokerState
from kafkalab.protocol.acls import GROUP, READ
from kafkalab.protocol.api import Header
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.heartbeat import Heartbeat
from kafkalab.protocol.messages.join_group import JoinGroup
from kafkalab.protocol.messages.leave_group import LeaveGroup, LeavingMember
from kafkalab.protocol.messages.sync_group import SyncGroup
from kafkalab.protocol.partitions import offsets_partition
from kafkalab.protocol.transition_tables.group import GroupAsk, GroupState
from kafkalab.protocol.transition_tables.outcomes import Refuse


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


# JoinGroup


def check_join_request(broker: BrokerState, request: JoinGroup, header: Header) -> ClassicGroup | Error | None:
    """The group, None if it is to be created, or why nobody joins."""
    config = broker.config
    error = group_refusal(broker, header, request.group_id)
    if error is not Error.NONE:
        return error
    if not config.group_min_session_timeout_ms <= request.session_timeout_ms <= config.group_max_session_timeout_ms:
        return Error.INVALID_SESSION_TIMEOUT
    consumers = find_consumer_group(broker, request.group_id)
    if consumers is not None and consumers.members:
        return Error.INCONSISTENT_GROUP_PROTOCOL  # as with group.consumer.migration.policy=disabled
    group = find_group(broker, request.group_id)
    return Error.UNKNOWN_MEMBER_ID if group is None and request.member_id != "" else group


def check_join(broker: BrokerState, group: ClassicGroup, request: JoinGroup) -> Error:
    """NONE, or why this group does not take this member; one for whom there is no room is removed."""
    outcome = group.ask(GroupAsk.JOIN)
    if isinstance(outcome, Refuse):
        return outcome.error
    if not _has_room(group, request.member_id, broker.config.group_max_size):
        group.remove(request.member_id)
        return Error.GROUP_MAX_SIZE_REACHED
    if not group.supports(request.protocol_type, request.protocols):
        return Error.INCONSISTENT_GROUP_PROTOCOL
    return Error.NONE


def _has_room(group: ClassicGroup, member_id: str, most: int) -> bool:
    """Return True if group.max.size has room: in a join phase, among those who have joined already."""
    member = group.members.get(member_id)
    if group.state is GroupState.EMPTY:
        return True
    if group.state is GroupState.PREPARING_REBALANCE:
        joined = sum(m.awaiting_join for m in group.members.values())
        return (member is not None and member.awaiting_join) or joined < most
    return member is not None or len(group.members) < most


# SyncGroup, Heartbeat, LeaveGroup


def check_sync(broker: BrokerState, request: SyncGroup, header: Header) -> ClassicGroup | Error:
    """The group whose member asks for its assignment."""
    error = group_refusal(broker, header, request.group_id)
    if error is not Error.NONE:
        return error
    group = find_group(broker, request.group_id)
    if group is None:
        return Error.UNKNOWN_MEMBER_ID
    outcome = group.ask(GroupAsk.SYNC)
    if not group.members and isinstance(outcome, Refuse):
        return outcome.error
    error = group.generation_error(request.member_id, request.group_instance_id, request.generation_id)
    if error is not Error.NONE:
        return error
    for given, known in ((request.protocol_type, group.protocol_type), (request.protocol_name, group.protocol)):
        if given is not None and known != "" and given != known:
            return Error.INCONSISTENT_GROUP_PROTOCOL
    return outcome.error if isinstance(outcome, Refuse) else group


def check_heartbeat(broker: BrokerState, request: Heartbeat, header: Header) -> ClassicGroup | Error:
    """The group whose member gives a sign of life, whatever the table makes of it."""
    error = group_refusal(broker, header, request.group_id)
    if error is not Error.NONE:
        return error
    group = find_group(broker, request.group_id)
    if group is None:
        return Error.UNKNOWN_MEMBER_ID
    outcome = group.ask(GroupAsk.HEARTBEAT)
    if group.state is GroupState.DEAD and isinstance(outcome, Refuse):
        return outcome.error
    error = group.generation_error(request.member_id, request.group_instance_id, request.generation_id)
    return group if error is Error.NONE else error


def check_leave_request(broker: BrokerState, request: LeaveGroup, header: Header) -> ClassicGroup | Error | None:
    """The group, None if it does not exist, or why nobody leaves."""
    error = group_refusal(broker, header, request.group_id)
    if error is not Error.NONE:
        return error
    group = find_group(broker, request.group_id)
    if group is not None and group.state is GroupState.DEAD:
        outcome = group.ask(GroupAsk.HEARTBEAT)
        return outcome.error if isinstance(outcome, Refuse) else group
    return group


def check_leave(group: ClassicGroup, leaving: LeavingMember) -> Error:
    """NONE, or why this one does not leave: a static member may be named by its instance id alone."""
    if leaving.member_id == "":
        known = leaving.group_instance_id is not None and leaving.group_instance_id in group.statics
        return Error.NONE if known else Error.UNKNOWN_MEMBER_ID
    if leaving.member_id in group.pending:
        return Error.NONE
    return group.member_error(leaving.member_id, leaving.group_instance_id)


# OffsetCommit, TxnOffsetCommit


def commit_error(
    group: ClassicGroup | None, member_id: str, instance_id: str | None, generation: int, transactional: bool, old: bool
) -> Error:
    """NONE if this member of this generation may commit offsets (KIP-447, docs/protocol.md#transactional-offsets;
    `validateOffsetCommit`).

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
