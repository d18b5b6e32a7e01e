"""LeaveGroup: members go at once instead of by their session's end (`classicGroupLeaveToClassicGroup`)."""

from __future__ import annotations

from kafkalab.broker.effects import Effect, Respond
from kafkalab.broker.group_coordinator.group import ClassicGroup
from kafkalab.broker.group_coordinator.guards import find_group, group_refusal
from kafkalab.broker.group_coordinator.rebalance import maybe_complete_join, removed
from kafkalab.broker.group_coordinator.transition_table import GroupAsk, GroupState
from kafkalab.broker.state import BrokerState
from kafkalab.broker.transaction_coordinator.transition_table import Refuse
from kafkalab.protocol.api import Header
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.leave_group import LeaveGroup, LeaveGroupResponse, LeavingMember


def handle(broker: BrokerState, request: LeaveGroup, now: int, header: Header) -> list[Effect]:
    """Each member that is one is removed; the others share its partitions."""
    error = group_refusal(broker, header, request.group_id)
    group = find_group(broker, request.group_id) if error is Error.NONE else None
    dead = group.ask(GroupAsk.HEARTBEAT) if group is not None and group.state is GroupState.DEAD else None
    if isinstance(dead, Refuse):
        error = dead.error
    if error is not Error.NONE:
        return [Respond(LeaveGroupResponse(error=error))]
    errors: dict[str, Error] = {}
    effects: list[Effect] = []
    for leaving in request.members:
        name = leaving.member_id or leaving.group_instance_id or ""
        errors[name] = Error.UNKNOWN_MEMBER_ID if group is None else _refusal(group, leaving)
        if group is not None and errors[name] is Error.NONE:
            effects += _leave(broker, group, leaving, now)
    return [Respond(LeaveGroupResponse(errors=errors)), *effects]


def _refusal(group: ClassicGroup, leaving: LeavingMember) -> Error:
    if leaving.member_id == "":
        known = leaving.group_instance_id is not None and leaving.group_instance_id in group.statics
        return Error.NONE if known else Error.UNKNOWN_MEMBER_ID
    if leaving.member_id in group.pending:
        return Error.NONE
    return group.member_error(leaving.member_id, leaving.group_instance_id)


def _leave(broker: BrokerState, group: ClassicGroup, leaving: LeavingMember, now: int) -> list[Effect]:
    if leaving.member_id in group.pending:
        del group.pending[leaving.member_id]
        return maybe_complete_join(broker, group, now)
    member_id = leaving.member_id or group.statics[leaving.group_instance_id or ""]
    return removed(broker, group, group.members[member_id], now)
