"""SyncGroup: the leader hands the assignment in, every member gets its part (`classicGroupSyncToClassicGroup`)."""

from __future__ import annotations

from dataclasses import dataclass, field

from kafkalab.api.api import Api, Header
from kafkalab.api.group_coordinator import append_group, find_group, group_refusal, hold_key
from kafkalab.api.group_replies import SyncGroupReply
from kafkalab.api.rebalance import assigned, heard_of, synced_reply
from kafkalab.core.broker_state import BrokerState
from kafkalab.core.effects import Effect, Hold, Reply, Then
from kafkalab.core.errors import Error
from kafkalab.core.group import ClassicGroup
from kafkalab.core.group_table import GroupAsk
from kafkalab.core.txn_table import Refuse, Same


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncGroup:
    """`assignments` maps every member id to its partitions; only the leader sends any."""

    group_id: str
    generation_id: int
    member_id: str
    group_instance_id: str | None = None
    protocol_type: str | None = None
    protocol_name: str | None = None
    assignments: dict[str, tuple[str, ...]] = field(default_factory=dict)


def handle(broker: BrokerState, request: SyncGroup, now: int, header: Header) -> list[Effect]:
    """Held until the leader's assignment is replicated; in a stable group the assignment at once."""
    error = group_refusal(broker, header, request.group_id)
    group = find_group(broker, request.group_id) if error is Error.NONE else None
    if error is Error.NONE:
        error = Error.UNKNOWN_MEMBER_ID if group is None else _refusal(group, request)
    if group is None or error is not Error.NONE:
        return [Reply(SyncGroupReply(error=error))]
    member = group.members[request.member_id]
    group.pending_sync.pop(member.member_id, None)
    if isinstance(group.ask(GroupAsk.SYNC), Same):
        return [Reply(synced_reply(group, member)), *heard_of(group, member, now)]
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


API = Api(
    14,
    range(0, 6),
    SyncGroup,
    SyncGroupReply,
    handle,
    "transaction",
    "Asks for the partitions of this member in the new generation; the leader sends everybody's along.",
)
