"""OffsetCommit and OffsetFetch: a group's committed offsets outside a transaction (facts 6.5)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from kafkalab.api.api import Api, Header
from kafkalab.api.authorisation import refused_partitions, with_refused
from kafkalab.api.txn_offset_commit import group_error, offsets_append_error, offsets_batch
from kafkalab.core.acls import DESCRIBE, GROUP, READ
from kafkalab.core.broker_state import BrokerState
from kafkalab.core.effects import Append, Appended, Effect, Reply, Then
from kafkalab.core.errors import Error
from kafkalab.core.group_offsets import GroupOffsets
from kafkalab.core.partitions import offsets_partition
from kafkalab.rules import STABLE_OFFSETS


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetCommit:
    group_id: str
    offsets: dict[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetCommitReply:
    errors: dict[str, Error]


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetFetch:
    """With `require_stable` a partition with a pending commit answers UNSTABLE_OFFSET_COMMIT (KIP-447)."""

    group_id: str
    partitions: tuple[str, ...]
    require_stable: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetFetchReply:
    """`offsets` holds -1 where nothing is committed, and with every error."""

    error: Error = Error.NONE
    offsets: dict[str, int]
    errors: dict[str, Error]


def handle_commit(broker: BrokerState, request: OffsetCommit, now: int, header: Header) -> list[Effect]:
    """A plain batch in the group's partition; it counts at once when it is replicated."""
    if broker.denies(header.sender, READ, GROUP, request.group_id):
        errors = dict.fromkeys(request.offsets, Error.GROUP_AUTHORIZATION_FAILED)
        return [Reply(OffsetCommitReply(errors=errors))]
    if denied := refused_partitions(broker, header, READ, request.offsets):
        errors = dict.fromkeys(denied, Error.TOPIC_AUTHORIZATION_FAILED)
        rest = replace(request, offsets={p: o for p, o in request.offsets.items() if p not in denied})
        if not rest.offsets:
            return [Reply(OffsetCommitReply(errors=errors))]
        return with_refused(handle_commit(broker, rest, now, header), "errors", errors)
    error = group_error(broker, request.group_id)
    if error is not Error.NONE:
        return _committed(broker, Appended(error), now, request)
    batch = offsets_batch(request.group_id, request.offsets, now)
    timeout = broker.config.offsets_commit_timeout_ms
    return [Append(offsets_partition(request.group_id), batch, timeout, Then(_committed, (request,)))]


def _committed(broker: BrokerState, result: Appended, now: int, request: OffsetCommit) -> list[Effect]:
    error = offsets_append_error(result.error)
    return [Reply(OffsetCommitReply(errors=dict.fromkeys(request.offsets, error)))]


def handle_fetch(broker: BrokerState, request: OffsetFetch, now: int, header: Header) -> list[Effect]:
    """The last committed offsets below the high watermark."""
    if broker.denies(header.sender, DESCRIBE, GROUP, request.group_id):
        return [Reply(OffsetFetchReply(error=Error.GROUP_AUTHORIZATION_FAILED, offsets={}, errors={}))]
    error = group_error(broker, request.group_id)
    if error is not Error.NONE:
        return [Reply(OffsetFetchReply(error=error, offsets={}, errors={}))]
    known = broker.offsets.get(offsets_partition(request.group_id)) or GroupOffsets()
    offsets: dict[str, int] = {}
    errors: dict[str, Error] = {}
    for partition in request.partitions:
        stored = known.committed.get((request.group_id, partition))
        unstable = request.require_stable and broker.rules.on(STABLE_OFFSETS)
        if unstable and known.is_unstable(request.group_id, partition):
            offsets[partition], errors[partition] = -1, Error.UNSTABLE_OFFSET_COMMIT
        else:
            offsets[partition], errors[partition] = (stored.offset if stored else -1), Error.NONE
    return [Reply(OffsetFetchReply(offsets=offsets, errors=errors))]


COMMIT_API = Api(
    8,
    range(2, 11),
    OffsetCommit,
    OffsetCommitReply,
    handle_commit,
    "transaction",
    "Commits consumed offsets outside any transaction.",
)
FETCH_API = Api(
    9,
    range(1, 11),
    OffsetFetch,
    OffsetFetchReply,
    handle_fetch,
    "transaction",
    "Asks the group coordinator where the group had got to.",
)
