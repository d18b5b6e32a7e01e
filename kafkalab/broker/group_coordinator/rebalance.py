"""The rebalance of a classic group: sessions, the join phase, generations (`GroupMetadataManager`, the classic part).

Timers are background: they do not keep a run going.
"""

from __future__ import annotations

from kafkalab.broker.effects import Effects, Respond, Resume, Sleep, Spawn, Suspend, Suspension
from kafkalab.broker.group_coordinator.group import ClassicGroup, Member
from kafkalab.broker.group_coordinator.log import append_group, group_note, write_group
from kafkalab.broker.state import BrokerState
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.join_group import JoinedMember, JoinGroupResponse
from kafkalab.protocol.messages.sync_group import SyncGroupResponse
from kafkalab.protocol.transition_tables.group import GroupAsk, GroupState, Move

# requests that wait for the group

JOIN, SYNC = "join", "sync"


def hold(broker: BrokerState, kind: str, group: ClassicGroup, member: Member) -> Effects[None]:
    """Hold a member's JoinGroup or SyncGroup until `answer`; one held before is never answered. To be spawned."""
    place = broker.held[f"{kind} {group.group} {member.member_id}"] = Suspension()
    yield Respond((yield Suspend(place)))


def answer(
    broker: BrokerState, group: ClassicGroup, member: Member, response: JoinGroupResponse | SyncGroupResponse
) -> Effects[None]:
    """Answer the request of this kind that the member waits for, if there is one."""
    kind = JOIN if isinstance(response, JoinGroupResponse) else SYNC
    place = broker.held.pop(f"{kind} {group.group} {member.member_id}", None)
    if place is not None:
        yield Resume(place, response)


# sessions


def renew_session(broker: BrokerState, group: ClassicGroup, member: Member, timeout_ms: int = -1) -> Effects[None]:
    """End the member's session `timeout_ms` from now (its session timeout if -1), unless it is renewed before."""
    timeout = member.session_timeout_ms if timeout_ms < 0 else timeout_ms
    watched, member.deadline_ms = member.deadline_ms, broker.now + timeout
    if not broker.now < watched <= member.deadline_ms:  # else the timer that is set looks again
        member.watch += 1
        yield Spawn(_watch_session(broker, group.group, member.member_id, member.watch, timeout))


def _watch_session(
    broker: BrokerState, group_id: str, member_id: str, watch: int, delay_ms: int
) -> Effects[None]:
    """Remove the member if it gives no sign of life in time; members that wait for the group are excused."""
    while True:
        yield Sleep(delay_ms, background=True)
        group = broker.groups.get(group_id)
        member = group.members.get(member_id) if group else None
        if group is None or member is None or member.watch != watch:
            return
        delay_ms = member.deadline_ms - broker.now
        if delay_ms <= 0:
            break
    if member.is_new or not (member.awaiting_join or member.awaiting_sync):
        yield from remove(broker, group, member)


def watch_pending(broker: BrokerState, group_id: str, member_id: str, timeout_ms: int) -> Effects[None]:
    """Forget a member that was given an id and does not come back with it in time."""
    yield Sleep(timeout_ms, background=True)
    group = broker.groups.get(group_id)
    if group is not None and group.pending.pop(member_id, None) is not None:
        yield from maybe_complete_join(broker, group)


def remove(broker: BrokerState, group: ClassicGroup, member: Member) -> Effects[None]:
    """The member is gone; its requests that wait are answered, and the others share its partitions."""
    group.remove(member.member_id)
    yield from answer(broker, group, member, JoinGroupResponse(error=Error.UNKNOWN_MEMBER_ID))
    yield from answer(broker, group, member, SyncGroupResponse(error=Error.UNKNOWN_MEMBER_ID))
    if isinstance(group.ask(GroupAsk.LEAVE), Move):
        yield from prepare(broker, group)
    else:
        yield from maybe_complete_join(broker, group)


def resign(broker: BrokerState, groups: list[ClassicGroup]) -> Effects[None]:
    """This broker no longer coordinates the groups: who waits for one must look for the new coordinator."""
    for group in groups:
        for member in group.members.values():
            yield from answer(broker, group, member, JoinGroupResponse(error=Error.NOT_COORDINATOR))
            yield from answer(broker, group, member, SyncGroupResponse(error=Error.NOT_COORDINATOR))


# the join phase


def prepare(broker: BrokerState, group: ClassicGroup) -> Effects[None]:
    """A join phase begins: who waits for its assignment must join again; a first one waits for more members."""
    if group.state is GroupState.COMPLETING_REBALANCE:
        yield from reset_assignments(broker, group, Error.REBALANCE_IN_PROGRESS)
    first = group.state is GroupState.EMPTY
    group.pending_sync.clear()
    group.move(GroupState.PREPARING_REBALANCE, broker.now)
    yield group_note(group)
    if first:
        yield Spawn(_first_join_phase(broker, group))
    elif group.all_joined():
        yield from complete_join(broker, group)
    else:
        yield Spawn(_join_phase(broker, group))


def _first_join_phase(broker: BrokerState, group: ClassicGroup) -> Effects[None]:
    """Complete it after group.initial.rebalance.delay.ms, or wait again if a member has come meanwhile."""
    group.new_member_added = False
    longest_ms = delay_ms = broker.config.group_initial_rebalance_delay_ms
    remaining_ms = max(group.rebalance_timeout_ms - delay_ms, 0)
    while (joining := (yield from _sleep_while_joining(broker, group, delay_ms))) is not None:
        group = joining
        if not group.new_member_added or remaining_ms <= 0:
            yield from complete_join(broker, group)
            return
        group.new_member_added = False
        delay_ms, remaining_ms = min(longest_ms, remaining_ms), max(remaining_ms - delay_ms, 0)


def _join_phase(broker: BrokerState, group: ClassicGroup) -> Effects[None]:
    """Complete it after the rebalance timeout: who has not joined is out."""
    joining = yield from _sleep_while_joining(broker, group, group.rebalance_timeout_ms)
    if joining is not None:
        yield from complete_join(broker, joining)


def _sleep_while_joining(broker: BrokerState, group: ClassicGroup, delay_ms: int) -> Effects[ClassicGroup | None]:
    """The group, if its join phase is not over by then and no newer timer is set for it."""
    group.join_watch += 1
    group_id, watch = group.group, group.join_watch
    yield Sleep(delay_ms, background=True)
    found = broker.groups.get(group_id)
    joining = found is not None and found.join_watch == watch and found.state is GroupState.PREPARING_REBALANCE
    return found if joining else None


def maybe_complete_join(broker: BrokerState, group: ClassicGroup) -> Effects[None]:
    """End a join phase that everybody has joined; the first one of a group ends by its timer only."""
    due = group.state is GroupState.PREPARING_REBALANCE and group.previous_state is not GroupState.EMPTY
    if due and group.all_joined():
        yield from complete_join(broker, group)


def complete_join(broker: BrokerState, group: ClassicGroup) -> Effects[None]:
    """A new generation of those who joined. Static members who did not keep their place until their session ends."""
    group.join_watch += 1
    for member in list(group.members.values()):
        if not member.awaiting_join and member.group_instance_id is None:
            group.remove(member.member_id)
    if group.members and not group.elect_joined_leader():
        yield Spawn(_join_phase(broker, group))
        return
    group.next_generation(broker.now)
    if not group.members:
        yield Spawn(write_group(broker, group.group, group.entry()))
        yield group_note(group)
        return
    for member in list(group.members.values()):
        if member.awaiting_join:
            member.awaiting_join, member.is_new = False, False
            yield from answer(broker, group, member, joined_response(group, member))
        yield from renew_session(broker, group, member)
        group.pending_sync[member.member_id] = None
    yield group_note(group)
    yield Spawn(_watch_syncs(broker, group.group, group.generation, group.rebalance_timeout_ms))


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


def _watch_syncs(broker: BrokerState, group_id: str, generation: int, timeout_ms: int) -> Effects[None]:
    """Remove who has joined but has not asked for its assignment within the rebalance timeout."""
    yield Sleep(timeout_ms, background=True)
    group = broker.groups.get(group_id)
    if group is None or group.generation != generation or not group.pending_sync:
        return
    if group.state in (GroupState.COMPLETING_REBALANCE, GroupState.STABLE):
        for member_id in list(group.pending_sync):
            group.remove(member_id)
        yield from prepare(broker, group)


def reset_assignments(broker: BrokerState, group: ClassicGroup, error: Error) -> Effects[None]:
    """Nobody has partitions; who waits for some gets the error."""
    for member in group.members.values():
        member.assignment = ()
    yield from answer_syncs(broker, group, error)


def answer_syncs(broker: BrokerState, group: ClassicGroup, error: Error = Error.NONE) -> Effects[None]:
    """Answer every SyncGroup that waits."""
    for member in list(group.members.values()):
        if member.awaiting_sync:
            member.awaiting_sync = False
            yield from answer(broker, group, member, synced_response(group, member, error))


def synced_response(group: ClassicGroup, member: Member, error: Error = Error.NONE) -> SyncGroupResponse:
    """Return what the member shall read."""
    assignment = member.assignment if error is Error.NONE else ()
    return SyncGroupResponse(
        error=error, protocol_type=group.protocol_type, protocol_name=group.protocol, assignment=assignment
    )


def assign(broker: BrokerState, group: ClassicGroup, assignments: dict[str, tuple[str, ...]]) -> Effects[None]:
    """Write the leader's assignment; once it is replicated the group is stable, and every member gets its part."""
    group_id, generation = group.group, group.generation
    error = yield from append_group(broker, group_id, group.entry(assignments))
    found = broker.groups.get(group_id)
    if found is None or found.generation != generation or not isinstance(found.ask(GroupAsk.ASSIGNED), Move):
        return  # somebody joined meanwhile
    if error is not Error.NONE:
        yield from reset_assignments(broker, found, error)
        yield from prepare(broker, found)
        return
    for member in found.members.values():
        member.assignment = assignments.get(member.member_id, ())
    found.move(GroupState.STABLE, broker.now)
    yield group_note(found)
    yield from answer_syncs(broker, found)
    for member in list(found.members.values()):
        yield from renew_session(broker, found, member)
