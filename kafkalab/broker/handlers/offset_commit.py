"""OffsetCommit and OffsetFetch: a group's committed offsets outside a transaction
(docs/protocol.md#transactional-offsets)."""

from __future__ import annotations

from kafkalab.broker.authorization import unreadable
from kafkalab.broker.effects import Effects
from kafkalab.broker.group_coordinator.consumer.guards import check_commit
from kafkalab.broker.group_coordinator.guards import commit_error, group_error
from kafkalab.broker.group_coordinator.log import append_batch, find_consumer_group, find_group
from kafkalab.broker.group_coordinator.offset_records import offsets_batch, too_large, unknown_partitions
from kafkalab.broker.group_coordinator.rebalance import renew_session
from kafkalab.broker.state import BrokerState
from kafkalab.protocol.acls import GROUP, READ
from kafkalab.protocol.api import Header
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.offset_commit import OffsetCommit, OffsetCommitResponse
from kafkalab.protocol.transition_tables.group import GroupState

GROUP_NOT_FOUND = 9


def handle(broker: BrokerState, request: OffsetCommit, header: Header) -> Effects[OffsetCommitResponse]:
    """A plain batch in the group's partition; it counts at once when it is replicated."""
    if broker.denies(header.sender, READ, GROUP, request.group_id):
        return OffsetCommitResponse(errors=dict.fromkeys(request.offsets, Error.GROUP_AUTHORIZATION_FAILED))
    refused = {**unknown_partitions(broker, request), **unreadable(broker, header, request.offsets)}
    if len(refused) == len(request.offsets):
        return OffsetCommitResponse(errors=refused)
    error = yield from _commit(broker, request, refused, header.version)
    return OffsetCommitResponse(errors={p: refused.get(p, error) for p in request.offsets})


def _check_classic(broker: BrokerState, request: OffsetCommit, version: int) -> Effects[Error]:
    """NONE if the member of a classic group may commit, which renews its session."""
    group = find_group(broker, request.group_id)
    member_id, instance, old = request.member_id, request.group_instance_id, version < GROUP_NOT_FOUND
    error = commit_error(group, member_id, instance, request.generation_id, transactional=False, old=old)
    member = group.members.get(request.member_id) if group else None
    if error is not Error.NONE or group is None or member is None:
        return error
    if group.state in (GroupState.STABLE, GroupState.PREPARING_REBALANCE):
        yield from renew_session(broker, group, member)
    return Error.NONE


def _commit(broker: BrokerState, request: OffsetCommit, refused: dict[str, Error], version: int) -> Effects[Error]:
    """Check the member, append; return one error for every partition that is not in `refused`.

    A commit renews the member's session while the group is stable or prepares a rebalance.
    """
    error = group_error(broker, request.group_id, may_be_empty=True)
    if error is not Error.NONE:
        return error
    long_texts = too_large(broker, request)
    consumers = find_consumer_group(broker, request.group_id)
    if consumers is not None:
        error = check_commit(consumers, request, {**refused, **long_texts}, version, transactional=False)
    else:
        error = yield from _check_classic(broker, request, version)
    if error is not Error.NONE:
        return error
    refused.update(long_texts)
    retention = request.retention_time_ms
    batch = offsets_batch(request, refused, broker.now, expires_ms=broker.now + retention if retention >= 0 else -1)
    return (yield from append_batch(broker, request.group_id, batch)) if batch.records else Error.NONE
