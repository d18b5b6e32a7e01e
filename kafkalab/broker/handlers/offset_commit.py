"""OffsetCommit and OffsetFetch: a group's committed offsets outside a transaction (facts 6.5)."""

from __future__ import annotations

from kafkalab.broker.authorization import unreadable
from kafkalab.broker.effects import Append, Appended, Effect, Respond, Then
from kafkalab.broker.group_coordinator.guards import commit_error, find_group, group_error, offsets_append_error
from kafkalab.broker.group_coordinator.offset_records import offsets_batch, too_large, unknown_partitions
from kafkalab.broker.group_coordinator.rebalance import heard_of
from kafkalab.broker.group_coordinator.transition_table import GroupState
from kafkalab.broker.state import BrokerState
from kafkalab.protocol.acls import GROUP, READ
from kafkalab.protocol.api import Header
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.offset_commit import OffsetCommit, OffsetCommitResponse
from kafkalab.protocol.partitions import offsets_partition

GROUP_NOT_FOUND, INSTANCE_IDS, REQUIRES_STABLE = 9, 7, 7


RETENTION_TIME = range(2, 5)


def handle(broker: BrokerState, request: OffsetCommit, now: int, header: Header) -> list[Effect]:
    """A plain batch in the group's partition; it counts at once when it is replicated.

    A member that commits has been heard of, while the group is stable or prepares a rebalance.
    """
    if broker.denies(header.sender, READ, GROUP, request.group_id):
        return [Respond(OffsetCommitResponse(errors=dict.fromkeys(request.offsets, Error.GROUP_AUTHORIZATION_FAILED)))]
    refused = {**unknown_partitions(broker, request), **unreadable(broker, header, request.offsets)}
    if len(refused) == len(request.offsets):
        return [Respond(OffsetCommitResponse(errors=refused))]
    error = group_error(broker, request.group_id, may_be_empty=True)
    group = find_group(broker, request.group_id) if error is Error.NONE else None
    if error is Error.NONE:
        instance = request.group_instance_id if header.version >= INSTANCE_IDS else None
        old = header.version < GROUP_NOT_FOUND
        error = commit_error(group, request.member_id, instance, request.generation_id, transactional=False, old=old)
    if error is not Error.NONE:
        return _committed(broker, Appended(error), now, request, refused)
    effects: list[Effect] = []
    member = group.members.get(request.member_id) if group else None
    lively = (GroupState.STABLE, GroupState.PREPARING_REBALANCE)
    if group is not None and member is not None and group.state in lively:
        effects += heard_of(group, member, now)
    refused = {**refused, **too_large(broker, request)}
    retention = request.retention_time_ms if header.version in RETENTION_TIME else -1
    batch = offsets_batch(request, refused, now, expires_ms=now + retention if retention >= 0 else -1)
    if not batch.records:
        return [*effects, *_committed(broker, Appended(Error.NONE), now, request, refused)]
    then = Then(_committed, (request, refused))
    partition, timeout = offsets_partition(request.group_id), broker.config.offsets_commit_timeout_ms
    return [*effects, Append(partition, batch, timeout, then)]


def _committed(
    broker: BrokerState, result: Appended, now: int, request: OffsetCommit, refused: dict[str, Error]
) -> list[Effect]:
    error = offsets_append_error(result.error)
    return [Respond(OffsetCommitResponse(errors={p: refused.get(p, error) for p in request.offsets}))]
