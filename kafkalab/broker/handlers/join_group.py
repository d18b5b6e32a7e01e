"""JoinGroup: a consumer asks to be a member; answered when the join phase ends (`classicGroupJoinToClassicGroup`)."""

from __future__ import annotations

from kafkalab.broker.effects import Answer, Appended, Effect, Hold, Respond, SetTimer, Then
from kafkalab.broker.group_coordinator.group import ClassicGroup, Member
from kafkalab.broker.group_coordinator.guards import (
    append_group,
    find_group,
    group_note,
    group_refusal,
    hold_key,
    new_group,
)
from kafkalab.broker.group_coordinator.rebalance import (
    heard_of,
    joined_response,
    maybe_complete_join,
    pending_due,
    prepare,
)
from kafkalab.broker.group_coordinator.transition_table import GroupAsk, GroupState, Move, Wait
from kafkalab.broker.state import BrokerState
from kafkalab.broker.transaction_coordinator.transition_table import Refuse, Same
from kafkalab.protocol.api import Header
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.join_group import JoinGroup, JoinGroupResponse
from kafkalab.protocol.messages.sync_group import SyncGroupResponse

MEMBER_ID_FIRST, SKIPS_ASSIGNMENT = 4, 9


def handle(broker: BrokerState, request: JoinGroup, now: int, header: Header) -> list[Effect]:
    """Held until the join phase ends. From version 4 on a new dynamic member is first given an id to come back with."""
    config = broker.config
    error = group_refusal(broker, header, request.group_id)
    if error is Error.NONE and not (
        config.group_min_session_timeout_ms <= request.session_timeout_ms <= config.group_max_session_timeout_ms
    ):
        error = Error.INVALID_SESSION_TIMEOUT
    group = find_group(broker, request.group_id) if error is Error.NONE else None
    if error is Error.NONE and group is None and request.member_id != "":
        error = Error.UNKNOWN_MEMBER_ID
    if error is not Error.NONE:
        return _refuse(request, error)
    created: list[Effect] = []
    if group is None:
        group = broker.groups[request.group_id] = new_group(broker, request.group_id)
        created = append_group(broker, group, now, Then(_created))
    error = _cannot_join(broker, group, request)
    if error is not Error.NONE:
        return _refuse(request, error)
    if request.member_id == "":
        return [*_new_member(broker, group, request, now, header), *created]
    return _known_member(broker, group, request, now, header)


def _created(broker: BrokerState, result: Appended, now: int) -> list[Effect]:
    """The group exists in the log from now on; nobody waits for that."""
    return []


def _refuse(request: JoinGroup, error: Error) -> list[Effect]:
    return [Respond(JoinGroupResponse(error=error, member_id=request.member_id))]


def _cannot_join(broker: BrokerState, group: ClassicGroup, request: JoinGroup) -> Error:
    answer = group.ask(GroupAsk.JOIN)
    if isinstance(answer, Refuse):
        return answer.error
    if not _accepts(group, request.member_id, broker.config.group_max_size):
        group.remove(request.member_id)
        return Error.GROUP_MAX_SIZE_REACHED
    if not group.supports(request.protocol_type, request.protocols):
        return Error.INCONSISTENT_GROUP_PROTOCOL
    return Error.NONE


def _accepts(group: ClassicGroup, member_id: str, most: int) -> bool:
    """Whether group.max.size has room: in a join phase, among those who have joined already."""
    member = group.members.get(member_id)
    if group.state is GroupState.EMPTY:
        return True
    if group.state is GroupState.PREPARING_REBALANCE:
        joined = sum(m.awaiting_join for m in group.members.values())
        return (member is not None and member.awaiting_join) or joined < most
    return member is not None or len(group.members) < most


def _new_member(broker: BrokerState, group: ClassicGroup, request: JoinGroup, now: int, header: Header) -> list[Effect]:
    instance = request.group_instance_id
    member_id = group.new_member_id(header.sender, instance)
    if instance is not None and instance in group.statics:
        return _replace(broker, group, request, member_id, now, header)
    if instance is None and header.version >= MEMBER_ID_FIRST:
        group.pending[member_id] = now + request.session_timeout_ms
        due = Then(pending_due, (group.group, member_id))
        response = JoinGroupResponse(error=Error.MEMBER_ID_REQUIRED, member_id=member_id)
        return [Respond(response), SetTimer(request.session_timeout_ms, due, background=True)]
    return _add(broker, group, request, member_id, now, header)


def _add(
    broker: BrokerState, group: ClassicGroup, request: JoinGroup, member_id: str, now: int, header: Header
) -> list[Effect]:
    member = Member(
        member_id=member_id,
        group_instance_id=request.group_instance_id,
        client_id=header.sender,
        session_timeout_ms=request.session_timeout_ms,
        rebalance_timeout_ms=request.rebalance_timeout_ms,
        protocols=dict(request.protocols),
        awaiting_join=True,
        is_new=True,
    )
    if group.state is GroupState.PREPARING_REBALANCE and group.previous_state is GroupState.EMPTY:
        group.new_member_added = True
    group.pending.pop(member_id, None)
    group.add(member, request.protocol_type)
    effects: list[Effect] = [Hold(hold_key("join", group, member))]
    effects += heard_of(group, member, now, broker.config.group_new_member_join_timeout_ms)
    return [*effects, *_go_on(broker, group, GroupAsk.JOIN, now)]


def _go_on(broker: BrokerState, group: ClassicGroup, question: GroupAsk, now: int) -> list[Effect]:
    """A join phase begins, or goes on with one member more."""
    if isinstance(group.ask(question), Move):
        return prepare(broker, group, now)
    return maybe_complete_join(broker, group, now)


def _known_member(
    broker: BrokerState, group: ClassicGroup, request: JoinGroup, now: int, header: Header
) -> list[Effect]:
    if request.member_id in group.pending:
        return _add(broker, group, request, request.member_id, now, header)
    error = group.member_error(request.member_id, request.group_instance_id)
    if error is not Error.NONE:
        return _refuse(request, error)
    member = group.members[request.member_id]
    question = _question(group, member, request)
    answer = group.ask(question)
    if isinstance(answer, Refuse):
        return _refuse(request, answer.error)
    if isinstance(answer, Same):
        return [Respond(joined_response(group, member))]
    return [*_join_again(group, member, request), *_go_on(broker, group, question, now)]


def _question(group: ClassicGroup, member: Member, request: JoinGroup) -> GroupAsk:
    """A stable group rebalances if its leader joins again, any other if somebody wants something else."""
    same = list(member.protocols.items()) == list(request.protocols.items())
    leads = group.state is GroupState.STABLE and group.leader == member.member_id
    return GroupAsk.REJOIN if same and not leads else GroupAsk.CHANGE


def _join_again(group: ClassicGroup, member: Member, request: JoinGroup) -> list[Effect]:
    member.protocols = dict(request.protocols)
    member.session_timeout_ms = request.session_timeout_ms
    member.rebalance_timeout_ms = request.rebalance_timeout_ms
    member.awaiting_join = True
    return [Hold(hold_key("join", group, member))]


def _replace(
    broker: BrokerState, group: ClassicGroup, request: JoinGroup, member_id: str, now: int, header: Header
) -> list[Effect]:
    """A static member comes back as another process: the old one is fenced, its place and partitions stay."""
    instance = request.group_instance_id
    assert instance is not None
    leader, old = group.leader, group.members[group.statics[instance]]
    fenced: list[Effect] = [
        Answer(
            hold_key("join", group, old), JoinGroupResponse(error=Error.FENCED_INSTANCE_ID, member_id=old.member_id)
        ),
        Answer(hold_key("sync", group, old), SyncGroupResponse(error=Error.FENCED_INSTANCE_ID)),
    ]
    member = group.replace_static(instance, member_id)
    member.deadline_ms = -1
    effects = [*fenced, *heard_of(group, member, now), *_join_again(group, member, request)]
    unchanged = group.protocol != "" and group.select_protocol() == group.protocol
    question = GroupAsk.REPLACE if unchanged else GroupAsk.CHANGE
    if not isinstance(group.ask(question), Same):
        assert isinstance(group.ask(question), Move | Wait), "a group with a static member is not empty"
        return [*effects, *_go_on(broker, group, question, now)]
    member.awaiting_join = False
    then = Then(_replaced, (group.group, member_id, leader, header.version))
    return [*effects, group_note(group), *append_group(broker, group, now, then)]


def _replaced(
    broker: BrokerState, result: Appended, now: int, group_id: str, member_id: str, leader: str, version: int
) -> list[Effect]:
    """Nothing changed but a name: the group goes on without a rebalance (KIP-345)."""
    group = broker.groups.get(group_id)
    member = group.members.get(member_id) if group else None
    if group is None or member is None or member.awaiting_join:
        return []
    key = hold_key("join", group, member)
    if result.error is not Error.NONE:
        return [Answer(key, JoinGroupResponse(error=Error.UNKNOWN_MEMBER_ID, member_id=member_id))]
    if version >= SKIPS_ASSIGNMENT:
        return [Answer(key, joined_response(group, member, skip_assignment=True))]
    response = JoinGroupResponse(
        generation_id=group.generation,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol,
        leader=leader,
        member_id=member_id,
    )
    return [Answer(key, response)]
