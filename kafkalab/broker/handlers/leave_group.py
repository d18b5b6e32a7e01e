"""LeaveGroup: members go at once instead of by their session's end (`classicGroupLeaveToClassicGroup`)."""

from __future__ import annotations

from kafkalab.broker.effects import Effects, Respond, Spawn
from kafkalab.broker.group_coordinator.group import ClassicGroup
from kafkalab.broker.group_coordinator.guards import check_leave, check_leave_request
from kafkalab.broker.group_coordinator.rebalance import maybe_complete_join, remove
from kafkalab.broker.state import BrokerState
from kafkalab.protocol.api import Header
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.leave_group import LeaveGroup, LeaveGroupResponse

SEVERAL_MEMBERS = 3
"""The first version of requests with more than one member, each with an error of its own in the answer."""


def handle(broker: BrokerState, request: LeaveGroup, header: Header) -> Effects[LeaveGroupResponse | None]:
    """Each member that is one is removed; the others share its partitions."""
    group = check_leave_request(broker, request, header)
    if isinstance(group, Error):
        return LeaveGroupResponse(error=group)
    errors: dict[str, Error] = {}
    leaving: list[str] = []
    for one in request.members:
        name = one.member_id or one.group_instance_id or ""
        errors[name] = Error.UNKNOWN_MEMBER_ID if group is None else check_leave(group, one)
        if group is not None and errors[name] is Error.NONE:
            member_id = one.member_id or group.statics[one.group_instance_id or ""]
            if member_id in leaving:
                errors[name] = Error.UNKNOWN_MEMBER_ID
            else:
                leaving.append(member_id)
    failed = [error for error in errors.values() if error is not Error.NONE]
    error = failed[0] if failed and header.version < SEVERAL_MEMBERS else Error.NONE
    yield Respond(LeaveGroupResponse(error=error, errors=errors))
    for member_id in leaving:
        if group is not None:
            yield Spawn(_leave(broker, group, member_id))
    return None


def _leave(broker: BrokerState, group: ClassicGroup, member_id: str) -> Effects[None]:
    if member_id in group.pending:
        del group.pending[member_id]
        yield from maybe_complete_join(broker, group)
    else:
        yield from remove(broker, group, group.members[member_id])
