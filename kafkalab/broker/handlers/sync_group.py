"""SyncGroup: the leader hands the assignment in, every member gets its part (`classicGroupSyncToClassicGroup`)."""

from __future__ import annotations

from kafkalab.broker.effects import Effect, Hold, Respond, Then
from kafkalab.broker.group_coordinator.group import ClassicGroup
from kafkalab.broker.group_coordinator.guards import append_group, find_group, group_refusal, hold_key
from kafkalab.broker.group_coordinator.rebalance import assigned, heard_of, synced_response
from kafkalab.broker.group_coordinator.transition_table import GroupAsk
from kafkalab.broker.state import BrokerState
from kafkalab.broker.transaction_coordinator.transition_table import Refuse, Same
from kafkalab.protocol.api import Header
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.sync_group import SyncGroup, SyncGroupResponse


def handle(broker: BrokerState, request: SyncGroup, now: int, header: Header) -> list[Effect]:
    """Held until the leader's assignment is replicated; in a stable group the assignment at once."""
    error = group_refusal(broker, header, request.group_id)
    group = find_group(broker, request.group_id) if error is Error.NONE else None
    if error is Error.NONE:
        error = Error.UNKNOWN_MEMBER_ID if group is None else _refusal(group, request)
    if group is None or error is not Error.NONE:
        return [Respond(SyncGroupResponse(error=error))]
    member = group.members[request.member_id]
    group.pending_sync.pop(member.member_id, None)
    if isinstance(group.ask(GroupAsk.SYNC), Same):
        return [Respond(synced_response(group, member)), *heard_of(group, member, now)]
    member.awaiting_sync = True
    effects: list[Effect] = [Hold(hold_key("sync", group, member))]
    if group.leader == member.member_id:
        assignments = {m: request.assignments.get(m, ()) for m in group.members}
        then = Then(assigned, (group.group, group.generation, assignments))
        effects += append_group(broker, group, now, then, assignments)
    return effects


def _refusal(group: ClassicGroup, request: SyncGroup) -> Error:
    answer = group.ask(GroupAsk.SYNC)
    if not group.members and isinstance(answer, Refuse):
        return answer.error
    error = group.generation_error(request.member_id, request.group_instance_id, request.generation_id)
    if error is not Error.NONE:
        return error
    for asked, known in ((request.protocol_type, group.protocol_type), (request.protocol_name, group.protocol)):
        if asked is not None and known != "" and asked != known:
            return Error.INCONSISTENT_GROUP_PROTOCOL
    return answer.error if isinstance(answer, Refuse) else Error.NONE
