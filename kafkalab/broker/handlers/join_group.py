"""JoinGroup: a consumer asks to be a member; answered when the join phase ends (`classicGroupJoinToClassicGroup`)."""

from __future__ import annotations

from kafkalab.broker.effects import Effects, Respond, Spawn
from kafkalab.broker.group_coordinator.consumer.records import tombstones
from kafkalab.broker.group_coordinator.group import ClassicGroup, Member
from kafkalab.broker.group_coordinator.guards import check_join, check_join_request
from kafkalab.broker.group_coordinator.log import (
    append_group,
    find_consumer_group,
    group_note,
    new_group,
    write_group,
    write_records,
)
from kafkalab.broker.group_coordinator.rebalance import (
    JOIN,
    answer,
    hold,
    joined_response,
    maybe_complete_join,
    prepare,
    renew_session,
    watch_pending,
)
from kafkalab.broker.state import BrokerState
from kafkalab.protocol.api import Header
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.join_group import JoinGroup, JoinGroupResponse
from kafkalab.protocol.messages.sync_group import SyncGroupResponse
from kafkalab.protocol.transition_tables.group import GroupAsk, GroupState, Move, Wait
from kafkalab.protocol.transition_tables.outcomes import Refuse, Same

MEMBER_ID_FIRST, SKIPS_ASSIGNMENT = 4, 9


def handle(broker: BrokerState, request: JoinGroup, header: Header) -> Effects[JoinGroupResponse | None]:
    """Held until the join phase ends. From version 4 on a new dynamic member is first given an id to come back with."""
    group = check_join_request(broker, request, header)
    if isinstance(group, Error):
        return _refusal(request, group)
    created = None
    if group is None:
        consumers = find_consumer_group(broker, request.group_id)
        if consumers is not None:
            yield Spawn(write_records(broker, request.group_id, tombstones(consumers)))
        group = broker.groups[request.group_id] = new_group(broker, request.group_id)
        created = group.entry()
    error = check_join(broker, group, request)
    if error is not Error.NONE:
        return _refusal(request, error)
    if request.member_id != "":
        return (yield from _known_member(broker, group, request, header))
    yield from _new_member(broker, group, request, header)
    if created is not None:
        yield from write_group(broker, request.group_id, created)
    return None


def _refusal(request: JoinGroup, error: Error) -> JoinGroupResponse:
    """Return the error with the member's id, which nobody learns who may not ask (`JoinGroupRequest`)."""
    forbidden = error is Error.GROUP_AUTHORIZATION_FAILED
    return JoinGroupResponse(error=error, member_id="" if forbidden else request.member_id)


def _new_member(broker: BrokerState, group: ClassicGroup, request: JoinGroup, header: Header) -> Effects[None]:
    instance, timeout_ms = request.group_instance_id, request.session_timeout_ms
    member_id = group.new_member_id(header.sender, instance)
    if instance is not None and instance in group.statics:
        yield from _replace(broker, group, request, member_id, header)
    elif instance is None and header.version >= MEMBER_ID_FIRST:
        group.pending[member_id] = broker.now + timeout_ms
        yield Respond(JoinGroupResponse(error=Error.MEMBER_ID_REQUIRED, member_id=member_id))
        yield Spawn(watch_pending(broker, group.group, member_id, timeout_ms))
    else:
        yield from _add(broker, group, request, member_id, header)


def _add(
    broker: BrokerState, group: ClassicGroup, request: JoinGroup, member_id: str, header: Header
) -> Effects[None]:
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
    yield Spawn(hold(broker, JOIN, group, member))
    yield from renew_session(broker, group, member, broker.config.group_new_member_join_timeout_ms)
    yield from _rebalance(broker, group, GroupAsk.JOIN)


def _rebalance(broker: BrokerState, group: ClassicGroup, question: GroupAsk) -> Effects[None]:
    """A join phase begins, or goes on with one member more."""
    if isinstance(group.ask(question), Move):
        yield from prepare(broker, group)
    else:
        yield from maybe_complete_join(broker, group)


def _known_member(
    broker: BrokerState, group: ClassicGroup, request: JoinGroup, header: Header
) -> Effects[JoinGroupResponse | None]:
    if request.member_id in group.pending:
        yield from _add(broker, group, request, request.member_id, header)
        return None
    error = group.member_error(request.member_id, request.group_instance_id)
    if error is not Error.NONE:
        return _refusal(request, error)
    member = group.members[request.member_id]
    question = _question(group, member, request)
    outcome = group.ask(question)
    if isinstance(outcome, Refuse):
        return _refusal(request, outcome.error)
    if isinstance(outcome, Same):
        return joined_response(group, member)
    yield from _join_again(broker, group, member, request)
    yield from _rebalance(broker, group, question)
    return None


def _question(group: ClassicGroup, member: Member, request: JoinGroup) -> GroupAsk:
    """A stable group rebalances if its leader joins again, any other if somebody wants something else."""
    same = list(member.protocols.items()) == list(request.protocols.items())
    leads = group.state is GroupState.STABLE and group.leader == member.member_id
    return GroupAsk.REJOIN if same and not leads else GroupAsk.CHANGE


def _join_again(broker: BrokerState, group: ClassicGroup, member: Member, request: JoinGroup) -> Effects[None]:
    member.protocols = dict(request.protocols)
    member.session_timeout_ms = request.session_timeout_ms
    member.rebalance_timeout_ms = request.rebalance_timeout_ms
    member.awaiting_join = True
    yield Spawn(hold(broker, JOIN, group, member))


def _replace(
    broker: BrokerState, group: ClassicGroup, request: JoinGroup, member_id: str, header: Header
) -> Effects[None]:
    """A static member comes back as another process: the old one is fenced, its place and partitions stay.

    If the record of that is not replicated in time, the old member id counts again.
    """
    instance = request.group_instance_id
    assert instance is not None
    leader, old = group.leader, group.members[group.statics[instance]]
    old_id, wanted = old.member_id, (old.protocols, old.session_timeout_ms, old.rebalance_timeout_ms)
    fenced = JoinGroupResponse(error=Error.FENCED_INSTANCE_ID, member_id=old_id)
    yield from answer(broker, group, old, fenced)
    yield from answer(broker, group, old, SyncGroupResponse(error=Error.FENCED_INSTANCE_ID))
    member = group.replace_static(instance, member_id)
    member.deadline_ms = -1
    yield from renew_session(broker, group, member)
    yield from _join_again(broker, group, member, request)
    unchanged = group.protocol != "" and group.select_protocol() == group.protocol
    question = GroupAsk.REPLACE if unchanged else GroupAsk.CHANGE
    if not isinstance(group.ask(question), Same):
        assert isinstance(group.ask(question), Move | Wait), "a group with a static member is not empty"
        yield from _rebalance(broker, group, question)
        return
    member.awaiting_join = False
    yield group_note(group)
    error = yield from append_group(broker, group.group, group.entry())
    if error is Error.NONE:
        yield from _answer_replaced(broker, request.group_id, member_id, leader, header.version)
        return
    found = broker.groups.get(request.group_id)
    if found is not None and found.statics.get(instance) == member_id:
        yield from answer(broker, found, member, JoinGroupResponse(error=error))
        member.protocols, member.session_timeout_ms, member.rebalance_timeout_ms = wanted
        yield from renew_session(broker, found, found.replace_static(instance, old_id))


def _answer_replaced(
    broker: BrokerState, group_id: str, member_id: str, leader: str, version: int
) -> Effects[None]:
    """Nothing changed but a name: the group goes on without a rebalance (KIP-345)."""
    group = broker.groups.get(group_id)
    member = group.members.get(member_id) if group else None
    if group is None or member is None or member.awaiting_join:
        return
    if version >= SKIPS_ASSIGNMENT:
        response = joined_response(group, member, skip_assignment=True)
    else:
        response = JoinGroupResponse(
            generation_id=group.generation,
            protocol_type=group.protocol_type,
            protocol_name=group.protocol,
            leader=leader,
            member_id=member_id,
        )
    yield from answer(broker, group, member, response)
