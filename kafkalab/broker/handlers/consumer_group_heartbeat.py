"""ConsumerGroupHeartbeat: a member of a consumer group joins, says that it lives, follows its target, and leaves
(KIP-848, `GroupMetadataManager.consumerGroupHeartbeat`)."""

from __future__ import annotations

from dataclasses import replace

from kafkalab.broker.effects import Effects
from kafkalab.broker.group_coordinator.consumer.changes import append_changes, fence, leave_for_a_while
from kafkalab.broker.group_coordinator.consumer.guards import check_heartbeat, check_instance, check_join, is_full
from kafkalab.broker.group_coordinator.consumer.heartbeat import advance, begin
from kafkalab.broker.group_coordinator.consumer.timers import cancel, renew_session, watch_revocation
from kafkalab.broker.group_coordinator.log import find_consumer_group, find_group
from kafkalab.broker.state import BrokerState
from kafkalab.log.consumer_groups import ConsumerGroup
from kafkalab.log.group_offsets import group_key
from kafkalab.protocol.api import Header
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.consumer_group_heartbeat import (
    JOIN,
    LEAVE,
    LEAVE_FOR_A_WHILE,
    ConsumerGroupHeartbeat,
    ConsumerGroupHeartbeatResponse,
)
from kafkalab.protocol.partitions import offsets_partition
from kafkalab.protocol.records import Record
from kafkalab.protocol.transition_tables.group import GroupState


def handle(
    broker: BrokerState, request: ConsumerGroupHeartbeat, header: Header
) -> Effects[ConsumerGroupHeartbeatResponse]:
    """Answer when everything that the answer tells of is replicated; the session begins anew with each heartbeat."""
    error = check_heartbeat(broker, request, header)
    if error is not Error.NONE:
        return ConsumerGroupHeartbeatResponse(error=error)
    group = find_consumer_group(broker, request.group_id)
    if request.member_epoch in (LEAVE, LEAVE_FOR_A_WHILE):
        return (yield from _leave(broker, group, request))
    changes: list[Record] = []
    if group is None:
        error = _cannot_create(broker, request)
        if error is not Error.NONE:
            return ConsumerGroupHeartbeatResponse(error=error)
        changes = _replace_classic_group(broker, request.group_id)
        group = ConsumerGroup(request.group_id)
    return (yield from _stay(broker, group, _give_member_id(broker, request, header), header, changes))


def _cannot_create(broker: BrokerState, request: ConsumerGroupHeartbeat) -> Error:
    """NONE if a new group takes the member. A classic group with members stays one: the lab's brokers are as those with
    group.consumer.migration.policy=disabled."""
    classic = find_group(broker, request.group_id)
    in_use = classic is not None and classic.state is not GroupState.EMPTY
    return Error.GROUP_ID_NOT_FOUND if request.member_epoch != JOIN or in_use else Error.NONE


def _replace_classic_group(broker: BrokerState, group_id: str) -> list[Record]:
    """Forget an empty classic group of that id; its offsets stay."""
    return [Record(group_key(group_id), None)] if broker.groups.pop(group_id, None) is not None else []


def _give_member_id(broker: BrokerState, request: ConsumerGroupHeartbeat, header: Header) -> ConsumerGroupHeartbeat:
    """Return the request with a member id: up to version 0 the coordinator gives one to a member that has none."""
    if request.member_id != "":
        return request
    end = broker.log(offsets_partition(request.group_id)).log_end_offset
    return replace(request, member_id=f"{header.sender}-{end}")


def _stay(
    broker: BrokerState, group: ConsumerGroup, request: ConsumerGroupHeartbeat, header: Header, changes: list[Record]
) -> Effects[ConsumerGroupHeartbeatResponse]:
    error = check_join(group, request, broker.config.group_consumer_max_size)
    step = begin(broker, group, request, header.sender) if error is Error.NONE else error
    if isinstance(step, Error):
        return ConsumerGroupHeartbeatResponse(error=step)
    if step.replaces:
        cancel(broker, group.group, step.replaces)
    advance(step, request)
    yield from renew_session(broker, group.group, step.after.member_id)
    if step.moved:
        yield from watch_revocation(broker, group.group, step.after)
    error = yield from append_changes(broker, group.group, [*changes, *step.changes])
    if error is not Error.NONE:
        return ConsumerGroupHeartbeatResponse(error=error)
    tells = request.member_epoch == JOIN or is_full(request) or step.before.assigned != step.after.assigned
    return ConsumerGroupHeartbeatResponse(
        member_id=step.after.member_id,
        member_epoch=step.after.member_epoch,
        heartbeat_interval_ms=broker.config.group_consumer_heartbeat_interval_ms,
        assignment=tuple(step.after.assigned) if tells else None,
    )


def _leave(
    broker: BrokerState, group: ConsumerGroup | None, request: ConsumerGroupHeartbeat
) -> Effects[ConsumerGroupHeartbeatResponse]:
    """Remove the member; a static one may keep its place (epoch -2)."""
    if group is None:
        return ConsumerGroupHeartbeatResponse(error=Error.GROUP_ID_NOT_FOUND)
    error = Error.NONE if request.member_id in group.members else Error.UNKNOWN_MEMBER_ID
    if request.instance_id is not None:
        error = check_instance(group, request.instance_id, request.member_id)
    if error is not Error.NONE:
        return ConsumerGroupHeartbeatResponse(error=error)
    member = group.members[request.member_id]
    if request.member_epoch == LEAVE_FOR_A_WHILE:
        error = yield from leave_for_a_while(broker, group, member)
    else:
        cancel(broker, group.group, member.member_id)
        error = yield from fence(broker, group, member)
    if error is not Error.NONE:
        return ConsumerGroupHeartbeatResponse(error=error)
    return ConsumerGroupHeartbeatResponse(member_id=request.member_id, member_epoch=request.member_epoch)
