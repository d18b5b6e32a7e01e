"""SyncGroup: the leader hands the assignment in, every member gets its part (`classicGroupSyncToClassicGroup`)."""

from __future__ import annotations

from kafkalab.broker.effects import Effects, Respond, Spawn
from kafkalab.broker.group_coordinator.guards import check_sync
from kafkalab.broker.group_coordinator.rebalance import SYNC, assign, hold, renew_session, synced_response
from kafkalab.broker.state import BrokerState
from kafkalab.protocol.api import Header
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.sync_group import SyncGroup, SyncGroupResponse
from kafkalab.protocol.transition_tables.group import GroupAsk
from kafkalab.protocol.transition_tables.outcomes import Same


def handle(broker: BrokerState, request: SyncGroup, header: Header) -> Effects[SyncGroupResponse | None]:
    """Held until the leader's assignment is replicated; in a stable group the assignment at once."""
    group = check_sync(broker, request, header)
    if isinstance(group, Error):
        return SyncGroupResponse(error=group)
    member = group.members[request.member_id]
    group.pending_sync.pop(member.member_id, None)
    if isinstance(group.ask(GroupAsk.SYNC), Same):
        yield Respond(synced_response(group, member))
        yield from renew_session(broker, group, member)
        return None
    member.awaiting_sync = True
    yield Spawn(hold(broker, SYNC, group, member))
    if group.leader == member.member_id:
        yield from assign(broker, group, {m: request.assignments.get(m, ()) for m in group.members})
    return None
