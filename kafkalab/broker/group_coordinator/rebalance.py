"""How a classic group rebalances: sessions, the join phase, generations (`GroupMetadataManager`, the classic part).

Each function returns effects and leaves the group as it is from then on. Timers are background: they do not keep a
run going.
"""

from __future__ import annotations

from kafkalab.broker.effects import Answer, Appended, Effect, SetTimer, Then
from kafkalab.broker.group_coordinator.group import ClassicGroup, Member
from kafkalab.broker.group_coordinator.guards import append_group, group_note, hold_key, offsets_append_error
from kafkalab.broker.group_coordinator.transition_table import GroupAsk, GroupState, Move
from kafkalab.broker.state import BrokerState
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.join_group import JoinedMember, JoinGroupResponse
from kafkalab.protocol.messages.sync_group import SyncGroupResponse

# sessions


def heard_of(group: ClassicGroup, member: Member, now: int, timeout_ms: int = -1) -> list[Effect]:
    """The member's session ends `timeout_ms` from now (its session timeout if -1), unless it is heard of again."""
    timeout = member.session_timeout_ms if timeout_ms < 0 else timeout_ms
    watched, member.deadline_ms = member.deadline_ms, now + timeout
    if now < watched <= member.deadline_ms:
        return []  # the timer that is set looks again
    member.watch += 1
    return [_watch(group, member, timeout)]


def _watch(group: ClassicGroup, member: Member, delay_ms: int) -> Effect:
    then = Then(session_due, (group.group, member.member_id, member.watch))
    return SetTimer(delay_ms, then, background=True)


def session_due(broker: BrokerState, result: None, now: int, group_id: str, member_id: str, watch: int) -> list[Effect]:
    """Remove the member if it was not heard of in time; members that wait for the group are excused."""
    group = broker.groups.get(group_id)
    member = group.members.get(member_id) if group else None
    if group is None or member is None or member.watch != watch:
        return []
    if member.deadline_ms > now:
        return [_watch(group, member, member.deadline_ms - now)]
    if not member.is_new and (member.awaiting_join or member.awaiting_sync):
        return []
    return removed(broker, group, member, now)


def pending_due(broker: BrokerState, result: None, now: int, group_id: str, member_id: str) -> list[Effect]:
    """Who was given a member id did not come back with it."""
    group = broker.groups.get(group_id)
    if group is None or group.pending.pop(member_id, None) is None:
        return []
    return maybe_complete_join(broker, group, now)


def removed(broker: BrokerState, group: ClassicGroup, member: Member, now: int) -> list[Effect]:
    """The member is gone; its requests that wait are answered, and the others share its partitions."""
    waiting: list[Effect] = [
        Answer(hold_key("join", group, member), JoinGroupResponse(error=Error.UNKNOWN_MEMBER_ID)),
        Answer(hold_key("sync", group, member), SyncGroupResponse(error=Error.UNKNOWN_MEMBER_ID)),
    ]
    group.remove(member.member_id)
    if isinstance(group.ask(GroupAsk.LEAVE), Move):
        return [*waiting, *prepare(broker, group, now)]
    return [*waiting, *maybe_complete_join(broker, group, now)]


def resigned(group: ClassicGroup) -> list[Effect]:
    """This broker coordinates the group no more: who waits for it must look for the new coordinator."""
    effects: list[Effect] = []
    for member in group.members.values():
        effects.append(Answer(hold_key("join", group, member), JoinGroupResponse(error=Error.NOT_COORDINATOR)))
        effects.append(Answer(hold_key("sync", group, member), SyncGroupResponse(error=Error.NOT_COORDINATOR)))
    return effects


# the join phase


def prepare(broker: BrokerState, group: ClassicGroup, now: int) -> list[Effect]:
    """A join phase begins: who waits for its assignment must join again; a first one waits for more members."""
    effects: list[Effect] = []
    if group.state is GroupState.COMPLETING_REBALANCE:
        effects += reset_assignments(group, Error.REBALANCE_IN_PROGRESS)
    first = group.state is GroupState.EMPTY
    group.pending_sync.clear()
    group.move(GroupState.PREPARING_REBALANCE, now)
    effects.append(group_note(group))
    if first:
        group.new_member_added = False
        delay = broker.config.group_initial_rebalance_delay_ms
        return [*effects, _initial(group, delay, max(group.rebalance_timeout_ms - delay, 0))]
    if group.all_joined():
        return [*effects, *complete_join(broker, group, now)]
    return [*effects, _join_timer(group)]


def _initial(group: ClassicGroup, delay_ms: int, remaining_ms: int) -> Effect:
    group.join_watch += 1
    then = Then(initial_due, (group.group, group.join_watch, delay_ms, remaining_ms))
    return SetTimer(delay_ms, then, background=True)


def initial_due(
    broker: BrokerState, result: None, now: int, group_id: str, watch: int, delay_ms: int, remaining_ms: int
) -> list[Effect]:
    """End the first join phase, or wait once more as long if somebody came (group.initial.rebalance.delay.ms)."""
    group = broker.groups.get(group_id)
    if group is None or group.join_watch != watch or group.state is not GroupState.PREPARING_REBALANCE:
        return []
    if group.new_member_added and remaining_ms > 0:
        group.new_member_added = False
        delay = min(broker.config.group_initial_rebalance_delay_ms, remaining_ms)
        return [_initial(group, delay, max(remaining_ms - delay_ms, 0))]
    return complete_join(broker, group, now)


def _join_timer(group: ClassicGroup) -> Effect:
    group.join_watch += 1
    then = Then(join_due, (group.group, group.join_watch))
    return SetTimer(group.rebalance_timeout_ms, then, background=True)


def join_due(broker: BrokerState, result: None, now: int, group_id: str, watch: int) -> list[Effect]:
    """The rebalance timeout is over: who has not joined is out."""
    group = broker.groups.get(group_id)
    if group is None or group.join_watch != watch or group.state is not GroupState.PREPARING_REBALANCE:
        return []
    return complete_join(broker, group, now)


def maybe_complete_join(broker: BrokerState, group: ClassicGroup, now: int) -> list[Effect]:
    """End a join phase that everybody has joined; the first one of a group ends by its timer only."""
    due = group.state is GroupState.PREPARING_REBALANCE and group.previous_state is not GroupState.EMPTY
    return complete_join(broker, group, now) if due and group.all_joined() else []


def complete_join(broker: BrokerState, group: ClassicGroup, now: int) -> list[Effect]:
    """A new generation of those who joined. Static members who did not keep their place until their session ends."""
    group.join_watch += 1
    for member in list(group.members.values()):
        if not member.awaiting_join and member.group_instance_id is None:
            group.remove(member.member_id)
    if group.members and not group.elect_joined_leader():
        return [_join_timer(group)]
    group.next_generation(now)
    if not group.members:
        return [*append_group(broker, group, now, Then(_emptied)), group_note(group)]
    effects: list[Effect] = []
    for member in group.members.values():
        effects += answer_join(group, member)
        effects += heard_of(group, member, now)
        group.pending_sync[member.member_id] = None
    then = Then(sync_due, (group.group, group.generation))
    return [*effects, group_note(group), SetTimer(group.rebalance_timeout_ms, then, background=True)]


def _emptied(broker: BrokerState, result: Appended, now: int) -> list[Effect]:
    """The record of an empty group only helps the next coordinator: if it was lost, nothing else is."""
    return []


def answer_join(group: ClassicGroup, member: Member) -> list[Effect]:
    """The answer to a member's JoinGroup that waits."""
    if not member.awaiting_join:
        return []
    member.awaiting_join, member.is_new = False, False
    return [Answer(hold_key("join", group, member), joined_response(group, member))]


def joined_response(group: ClassicGroup, member: Member, skip_assignment: bool = False) -> JoinGroupResponse:
    """The present generation; its leader is told who the members are and what they want."""
    leads = group.leader == member.member_id
    members = tuple(
        JoinedMember(m.member_id, m.group_instance_id, m.protocols.get(group.protocol, ()))
        for m in group.members.values()
    )
    return JoinGroupResponse(
        generation_id=group.generation,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol,
        leader=group.leader,
        member_id=member.member_id,
        members=members if leads else (),
        skip_assignment=skip_assignment and leads,
    )


# the sync phase


def sync_due(broker: BrokerState, result: None, now: int, group_id: str, generation: int) -> list[Effect]:
    """Who has joined but did not ask for its assignment within the rebalance timeout is out."""
    group = broker.groups.get(group_id)
    if group is None or group.generation != generation or not group.pending_sync:
        return []
    if group.state not in (GroupState.COMPLETING_REBALANCE, GroupState.STABLE):
        return []
    for member_id in list(group.pending_sync):
        group.remove(member_id)
    return prepare(broker, group, now)


def reset_assignments(group: ClassicGroup, error: Error) -> list[Effect]:
    """Nobody has partitions; who waits for some gets the error."""
    for member in group.members.values():
        member.assignment = ()
    return answer_syncs(group, error)


def answer_syncs(group: ClassicGroup, error: Error = Error.NONE) -> list[Effect]:
    """Answer every SyncGroup that waits."""
    effects: list[Effect] = []
    for member in group.members.values():
        if member.awaiting_sync:
            member.awaiting_sync = False
            effects.append(Answer(hold_key("sync", group, member), synced_response(group, member, error)))
    return effects


def synced_response(group: ClassicGroup, member: Member, error: Error = Error.NONE) -> SyncGroupResponse:
    """What the member shall read."""
    assignment = member.assignment if error is Error.NONE else ()
    return SyncGroupResponse(
        error=error, protocol_type=group.protocol_type, protocol_name=group.protocol, assignment=assignment
    )


def assigned(
    broker: BrokerState,
    result: Appended,
    now: int,
    group_id: str,
    generation: int,
    assignments: dict[str, tuple[str, ...]],
) -> list[Effect]:
    """The leader's assignment is replicated: the group is stable, and every member gets its part."""
    group = broker.groups.get(group_id)
    if group is None or group.generation != generation or not isinstance(group.ask(GroupAsk.ASSIGNED), Move):
        return []  # somebody joined meanwhile
    error = offsets_append_error(result.error)
    if error is not Error.NONE:
        return [*reset_assignments(group, error), *prepare(broker, group, now)]
    for member in group.members.values():
        member.assignment = assignments.get(member.member_id, ())
    group.move(GroupState.STABLE, now)
    effects: list[Effect] = [group_note(group), *answer_syncs(group)]
    for member in group.members.values():
        effects += heard_of(group, member, now)
    return effects
