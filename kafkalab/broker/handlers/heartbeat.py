"""Heartbeat: a member says that it lives, and learns whether the group rebalances (`classicGroupHeartbeat`)."""

from __future__ import annotations

from kafkalab.broker.effects import Effects, Respond
from kafkalab.broker.group_coordinator.guards import check_heartbeat
from kafkalab.broker.group_coordinator.rebalance import renew_session
from kafkalab.broker.state import BrokerState
from kafkalab.protocol.api import Header
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.heartbeat import Heartbeat, HeartbeatResponse
from kafkalab.protocol.transition_tables.group import GroupAsk
from kafkalab.protocol.transition_tables.outcomes import Refuse


def handle(broker: BrokerState, request: Heartbeat, header: Header) -> Effects[HeartbeatResponse | None]:
    """The session goes on; REBALANCE_IN_PROGRESS asks the member to join again. A loading coordinator answers NONE."""
    group = check_heartbeat(broker, request, header)
    if isinstance(group, Error):
        return HeartbeatResponse(error=Error.NONE if group is Error.COORDINATOR_LOAD_IN_PROGRESS else group)
    outcome = group.ask(GroupAsk.HEARTBEAT)
    yield Respond(HeartbeatResponse(error=outcome.error if isinstance(outcome, Refuse) else Error.NONE))
    yield from renew_session(broker, group, group.members[request.member_id])
    return None
