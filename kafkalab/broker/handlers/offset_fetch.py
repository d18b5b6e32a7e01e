"""OffsetCommit and OffsetFetch: a group's committed offsets outside a transaction
(docs/protocol.md#transactional-offsets)."""

from __future__ import annotations

from kafkalab.broker.group_coordinator.guards import group_error
from kafkalab.broker.group_coordinator.log import offsets_of
from kafkalab.broker.state import BrokerState
from kafkalab.protocol.acls import DESCRIBE, GROUP
from kafkalab.protocol.api import Header
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.offset_fetch import OffsetFetch, OffsetFetchResponse
from kafkalab.protocol.rules import STABLE_OFFSETS

GROUP_ERROR = 2


def handle(broker: BrokerState, request: OffsetFetch, header: Header) -> OffsetFetchResponse:
    """The last committed offsets below the high watermark."""
    if broker.denies(header.sender, DESCRIBE, GROUP, request.group_id):
        return _refused(request, Error.GROUP_AUTHORIZATION_FAILED, header)
    error = group_error(broker, request.group_id, may_be_empty=True)
    if error is not Error.NONE:
        return _refused(request, error, header)
    group, known = request.group_id, offsets_of(broker, request.group_id)
    stable = request.require_stable and broker.rules.on(STABLE_OFFSETS)
    asked = known.offsets_of(group) if request.partitions is None else request.partitions
    response = OffsetFetchResponse(offsets={}, errors={})
    for partition in asked:
        stored = known.committed.get((group, partition))
        unstable = stable and known.is_unstable(group, partition)
        response.errors[partition] = Error.UNSTABLE_OFFSET_COMMIT if unstable else Error.NONE
        given = None if unstable else stored
        response.offsets[partition] = given.offset if given else -1
        response.metadata[partition] = given.metadata if given else ""
        response.leader_epochs[partition] = given.leader_epoch if given else -1
    return response


def _refused(request: OffsetFetch, error: Error, header: Header) -> OffsetFetchResponse:
    """The group's error; before version 2 there is a place for it at each partition only."""
    if header.version >= GROUP_ERROR:
        return OffsetFetchResponse(error=error, offsets={}, errors={})
    named = request.partitions or ()
    none = dict.fromkeys(named, -1)
    return OffsetFetchResponse(
        offsets=none, errors=dict.fromkeys(named, error), metadata=dict.fromkeys(named, ""), leader_epochs=dict(none)
    )
