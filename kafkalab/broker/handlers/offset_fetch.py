"""OffsetFetch: where a group's members go on reading (docs/protocol.md#transactional-offsets)."""

from __future__ import annotations

from kafkalab.broker.authorization import refused_partitions
from kafkalab.broker.effects import AppendResult, AwaitDurable, Effects
from kafkalab.broker.group_coordinator.guards import group_error
from kafkalab.broker.group_coordinator.log import newest_offsets_of, offsets_of
from kafkalab.broker.state import BrokerState
from kafkalab.log.group_offsets import GroupOffsets
from kafkalab.protocol.acls import DESCRIBE, GROUP
from kafkalab.protocol.api import Header
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.offset_fetch import OffsetFetch, OffsetFetchResponse
from kafkalab.protocol.partitions import offsets_partition
from kafkalab.protocol.rules import STABLE_OFFSETS

GROUP_ERROR = 2


def handle(broker: BrokerState, request: OffsetFetch, header: Header) -> Effects[OffsetFetchResponse]:
    """Return the last committed offsets as of the high watermark.

    With `require_stable` (version 7 on) they are read from all that is appended: UNSTABLE_OFFSET_COMMIT where a
    transaction is undecided. The response waits offsets.commit.timeout.ms until that is below the high watermark, else
    it is NOT_COORDINATOR (`GroupCoordinatorService.fetchOffsets`).
    """
    if broker.denies(header.sender, DESCRIBE, GROUP, request.group_id):
        return _refuse(request, Error.GROUP_AUTHORIZATION_FAILED, header)
    error = group_error(broker, request.group_id, may_be_empty=True)
    if error is not Error.NONE:
        return _refuse(request, error, header)
    error = _member_error(broker, request)
    if error is not Error.NONE:
        return _refuse(request, error, header)
    if not (request.require_stable and broker.rules.on(STABLE_OFFSETS)):
        return _response(broker, request, header, offsets_of(broker, request.group_id), stable=False)
    response = _response(broker, request, header, newest_offsets_of(broker, request.group_id), stable=True)
    log = broker.log(offsets_partition(request.group_id))
    if log.high_watermark < log.log_end_offset:
        newest = AwaitDurable(log.partition, log.batches[-1], broker.config.offsets_commit_timeout_ms)
        appended: AppendResult = yield newest
        if appended.error is not Error.NONE:
            return _refuse(request, Error.NOT_COORDINATOR, header)
    return response


def _member_error(broker: BrokerState, request: OffsetFetch) -> Error:
    """NONE unless the request names a member that its consumer group does not have, or has in another epoch
    (`ConsumerGroup.validateOffsetFetch`)."""
    group = offsets_of(broker, request.group_id).consumer_groups.get(request.group_id)
    if group is None or (request.member_id is None and request.member_epoch is None):
        return Error.NONE
    member = group.members.get(request.member_id or "")
    if member is None:
        return Error.UNKNOWN_MEMBER_ID
    return Error.NONE if member.member_epoch == request.member_epoch else Error.STALE_MEMBER_EPOCH


def _response(
    broker: BrokerState, request: OffsetFetch, header: Header, known: GroupOffsets, stable: bool
) -> OffsetFetchResponse:
    """Return the offset of each partition that the request names, or of all that have one.

    Of a topic that the sender may not describe, a named partition is refused and any other one left out. A group that
    does not exist has no offsets, whatever the log holds of it (`OffsetMetadataManager.fetchOffsets`,
    failAllPartitions).
    """
    group = request.group_id
    known = known if group in known.groups else GroupOffsets()
    response = OffsetFetchResponse(offsets={}, errors={})
    asked = known.offsets_of(group) if request.partitions is None else request.partitions
    hidden = refused_partitions(broker, header, DESCRIBE, asked)
    for partition in asked:
        if partition in hidden and request.partitions is None:
            continue
        unstable = stable and known.is_unstable(group, partition)
        error = Error.UNSTABLE_OFFSET_COMMIT if unstable else Error.NONE
        error = Error.TOPIC_AUTHORIZATION_FAILED if partition in hidden else error
        given = None if error is not Error.NONE else known.committed.get((group, partition))
        response.errors[partition] = error
        response.offsets[partition] = given.offset if given else -1
        response.metadata[partition] = given.metadata if given else ""
        response.leader_epochs[partition] = given.leader_epoch if given else -1
    return response


def _refuse(request: OffsetFetch, error: Error, header: Header) -> OffsetFetchResponse:
    """Return the group's error; before version 2 it is repeated for each partition."""
    if header.version >= GROUP_ERROR:
        return OffsetFetchResponse(error=error, offsets={}, errors={})
    named = request.partitions or ()
    none = dict.fromkeys(named, -1)
    return OffsetFetchResponse(
        offsets=none, errors=dict.fromkeys(named, error), metadata=dict.fromkeys(named, ""), leader_epochs=dict(none)
    )
