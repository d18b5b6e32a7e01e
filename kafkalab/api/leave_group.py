"""LeaveGroup: members go at once instead of by their session's end (`classicGroupLeaveToClassicGroup`)."""

from __future__ import annotations

from dataclasses import dataclass, field

from kafkalab.api.api import Api, Header
from kafkalab.api.group_coordinator import find_group, group_refusal
from kafkalab.api.rebalance import maybe_complete_join, removed
from kafkalab.core.broker_state import BrokerState
from kafkalab.core.effects import Effect, Reply
from kafkalab.core.errors import Error
from kafkalab.core.group import ClassicGroup
from kafkalab.core.group_table import GroupAsk, GroupState
from kafkalab.core.txn_table import Refuse


@dataclass(frozen=True, slots=True)
class LeavingMember:
    """An empty `member_id` with an instance id removes the static member, whatever its member id."""

    member_id: str
    group_instance_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaveGroup:
    group_id: str
    members: tuple[LeavingMember, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaveGroupReply:
    """`errors` are per member, by member id, or by instance id where that is empty."""

    error: Error = Error.NONE
    errors: dict[str, Error] = field(default_factory=dict)


def handle(broker: BrokerState, request: LeaveGroup, now: int, header: Header) -> list[Effect]:
    """Each member that is one is removed; the others share its partitions."""
    error = group_refusal(broker, header, request.group_id)
    group = find_group(broker, request.group_id) if error is Error.NONE else None
    dead = group.ask(GroupAsk.HEARTBEAT) if group is not None and group.state is GroupState.DEAD else None
    if isinstance(dead, Refuse):
        error = dead.error
    if error is not Error.NONE:
        return [Reply(LeaveGroupReply(error=error))]
    errors: dict[str, Error] = {}
    effects: list[Effect] = []
    for leaving in request.members:
        name = leaving.member_id or leaving.group_instance_id or ""
        errors[name] = Error.UNKNOWN_MEMBER_ID if group is None else _refusal(group, leaving)
        if group is not None and errors[name] is Error.NONE:
            effects += _leave(broker, group, leaving, now)
    return [Reply(LeaveGroupReply(errors=errors)), *effects]


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


API = Api(
    13,
    range(0, 6),
    LeaveGroup,
    LeaveGroupReply,
    handle,
    "transaction",
    "Says that members leave the group now, so that the others need not wait for their session to end.",
)
