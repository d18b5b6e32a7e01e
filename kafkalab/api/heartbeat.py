"""Heartbeat: a member says that it lives, and learns whether the group rebalances (`classicGroupHeartbeat`)."""

from __future__ import annotations

from dataclasses import dataclass

from kafkalab.api.api import Api, Header
from kafkalab.api.group_coordinator import find_group, group_refusal
from kafkalab.api.rebalance import heard_of
from kafkalab.core.broker_state import BrokerState
from kafkalab.core.effects import Effect, Reply
from kafkalab.core.errors import Error
from kafkalab.core.group_table import GroupAsk, GroupState
from kafkalab.core.txn_table import Refuse


@dataclass(frozen=True, slots=True, kw_only=True)
class Heartbeat:
    group_id: str
    generation_id: int
    member_id: str
    group_instance_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HeartbeatReply:
    error: Error = Error.NONE


def handle(broker: BrokerState, request: Heartbeat, now: int, header: Header) -> list[Effect]:
    """The session goes on; REBALANCE_IN_PROGRESS asks the member to join again. A loading coordinator answers NONE."""
    error = group_refusal(broker, header, request.group_id)
    if error is Error.COORDINATOR_LOAD_IN_PROGRESS:
        return [Reply(HeartbeatReply())]
    group = find_group(broker, request.group_id) if error is Error.NONE else None
    if group is None:
        return [Reply(HeartbeatReply(error=Error.UNKNOWN_MEMBER_ID if error is Error.NONE else error))]
    answer = group.ask(GroupAsk.HEARTBEAT)
    code = answer.error if isinstance(answer, Refuse) else Error.NONE
    if group.state is GroupState.DEAD:
        return [Reply(HeartbeatReply(error=code))]
    error = group.generation_error(request.member_id, request.group_instance_id, request.generation_id)
    if error is not Error.NONE:
        return [Reply(HeartbeatReply(error=error))]
    return [Reply(HeartbeatReply(error=code)), *heard_of(group, group.members[request.member_id], now)]


API = Api(
    12,
    range(0, 5),
    Heartbeat,
    HeartbeatReply,
    handle,
    "metadata",
    "Says that the member lives, and asks whether the group rebalances.",
)
