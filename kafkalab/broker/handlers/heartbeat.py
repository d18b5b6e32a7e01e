"""Heartbeat: a member says that it lives, and learns whether the group rebalances (`classicGroupHeartbeat`)."""

from __future__ import annotations

from kafkalab.broker.effects import Effect, Respond
from kafkalab.broker.group_coordinator.guards import find_group, group_refusal
from kafkalab.broker.group_coordinator.rebalance import heard_of
from kafkalab.broker.group_coordinator.transition_table import GroupAsk, GroupState
from kafkalab.broker.state import BrokerState
from kafkalab.broker.transaction_coordinator.transition_table import Refuse
from kafkalab.protocol.api import Header
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.heartbeat import Heartbeat, HeartbeatResponse


def handle(broker: BrokerState, request: Heartbeat, now: int, header: Header) -> list[Effect]:
    """The session goes on; REBALANCE_IN_PROGRESS asks the member to join again. A loading coordinator answers NONE."""
    error = group_refusal(broker, header, request.group_id)
    if error is Error.COORDINATOR_LOAD_IN_PROGRESS:
        return [Respond(HeartbeatResponse())]
    group = find_group(broker, request.group_id) if error is Error.NONE else None
    if group is None:
        return [Respond(HeartbeatResponse(error=Error.UNKNOWN_MEMBER_ID if error is Error.NONE else error))]
    answer = group.ask(GroupAsk.HEARTBEAT)
    code = answer.error if isinstance(answer, Refuse) else Error.NONE
    if group.state is GroupState.DEAD:
        return [Respond(HeartbeatResponse(error=code))]
    error = group.generation_error(request.member_id, request.group_instance_id, request.generation_id)
    if error is not Error.NONE:
        return [Respond(HeartbeatResponse(error=error))]
    return [Respond(HeartbeatResponse(error=code)), *heard_of(group, group.members[request.member_id], now)]
