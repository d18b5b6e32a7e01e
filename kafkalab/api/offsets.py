"""OffsetCommit and OffsetFetch: a group's committed offsets outside a transaction (facts 6.5)."""

from __future__ import annotations

from dataclasses import dataclass, field

from kafkalab.api.api import Api, Header
from kafkalab.api.authorisation import unreadable
from kafkalab.api.group_coordinator import commit_error, find_group, group_error, offsets_append_error, offsets_of
from kafkalab.api.offset_records import offsets_batch, too_large, unknown_partitions
from kafkalab.api.rebalance import heard_of
from kafkalab.core.acls import DESCRIBE, GROUP, READ
from kafkalab.core.broker_state import BrokerState
from kafkalab.core.effects import Append, Appended, Effect, Reply, Then
from kafkalab.core.errors import Error
from kafkalab.core.group_table import GroupState
from kafkalab.core.partitions import offsets_partition
from kafkalab.rules import STABLE_OFFSETS

GROUP_NOT_FOUND, INSTANCE_IDS, REQUIRES_STABLE = 9, 7, 7
RETENTION_TIME = range(2, 5)


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetCommit:
    """`generation_id` -1 and no member: a consumer that does not share a group with others."""

    group_id: str
    offsets: dict[str, int]
    generation_id: int = -1
    member_id: str = ""
    group_instance_id: str | None = None
    metadata: dict[str, str] = field(default_factory=dict)
    leader_epochs: dict[str, int] = field(default_factory=dict)
    retention_time_ms: int = -1
    """How long the offsets shall be kept, -1 for as long as the broker says; travels in versions 2 to 4 only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetCommitReply:
    errors: dict[str, Error]


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetFetch:
    """With `require_stable` a partition with a pending commit answers UNSTABLE_OFFSET_COMMIT (KIP-447).

    `partitions` None asks for all that the group has.
    """

    group_id: str
    partitions: tuple[str, ...] | None
    require_stable: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetFetchReply:
    """`offsets` holds -1 where nothing is committed, and with every error; `metadata` and `leader_epochs` likewise."""

    error: Error = Error.NONE
    offsets: dict[str, int]
    errors: dict[str, Error]
    metadata: dict[str, str] = field(default_factory=dict)
    leader_epochs: dict[str, int] = field(default_factory=dict)


def handle_commit(broker: BrokerState, request: OffsetCommit, now: int, header: Header) -> list[Effect]:
    """A plain batch in the group's partition; it counts at once when it is replicated.

    A member that commits has been heard of, while the group is stable or prepares a rebalance.
    """
    if broker.denies(header.sender, READ, GROUP, request.group_id):
        return [Reply(OffsetCommitReply(errors=dict.fromkeys(request.offsets, Error.GROUP_AUTHORIZATION_FAILED)))]
    refused = {**unknown_partitions(broker, request), **unreadable(broker, header, request.offsets)}
    if len(refused) == len(request.offsets):
        return [Reply(OffsetCommitReply(errors=refused))]
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
    return [Reply(OffsetCommitReply(errors={p: refused.get(p, error) for p in request.offsets}))]


def handle_fetch(broker: BrokerState, request: OffsetFetch, now: int, header: Header) -> list[Effect]:
    """The last committed offsets below the high watermark."""
    if broker.denies(header.sender, DESCRIBE, GROUP, request.group_id):
        return [Reply(OffsetFetchReply(error=Error.GROUP_AUTHORIZATION_FAILED, offsets={}, errors={}))]
    error = group_error(broker, request.group_id, may_be_empty=True)
    if error is not Error.NONE:
        return [Reply(OffsetFetchReply(error=error, offsets={}, errors={}))]
    group, known = request.group_id, offsets_of(broker, request.group_id)
    stable = request.require_stable and header.version >= REQUIRES_STABLE and broker.rules.on(STABLE_OFFSETS)
    asked = known.offsets_of(group) if request.partitions is None else request.partitions
    reply = OffsetFetchReply(offsets={}, errors={})
    for partition in asked:
        stored = known.committed.get((group, partition))
        unstable = stable and known.is_unstable(group, partition)
        reply.errors[partition] = Error.UNSTABLE_OFFSET_COMMIT if unstable else Error.NONE
        given = None if unstable else stored
        reply.offsets[partition] = given.offset if given else -1
        reply.metadata[partition] = given.metadata if given else ""
        reply.leader_epochs[partition] = given.leader_epoch if given else -1
    return [Reply(reply)]


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
