"""TxnOffsetCommit: consumed offsets as records of the transaction, pending until its marker (facts 6.5)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from kafkalab.api.api import Api, Header
from kafkalab.api.authorisation import refused_partitions, with_refused
from kafkalab.api.verification import ADD, OLD_VERIFY, VERIFY, ask_coordinator, guards_for
from kafkalab.core.acls import GROUP, READ, TRANSACTIONAL_ID, WRITE
from kafkalab.core.broker_state import BrokerState
from kafkalab.core.effects import Append, Appended, Effect, Reply, Then
from kafkalab.core.errors import Error
from kafkalab.core.group_offsets import OffsetCommit
from kafkalab.core.partitions import offsets_partition
from kafkalab.core.producer_append import Origin
from kafkalab.core.records import Batch, Record


@dataclass(frozen=True, slots=True, kw_only=True)
class TxnOffsetCommit:
    """`generation_id` -1 and an empty `member_id` mean a consumer outside group management: no fencing by the group."""

    transactional_id: str
    group_id: str
    producer_id: int
    producer_epoch: int
    offsets: dict[str, int]
    generation_id: int = -1
    member_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TxnOffsetCommitReply:
    errors: dict[str, Error]


def handle(broker: BrokerState, request: TxnOffsetCommit, now: int, header: Header) -> list[Effect]:
    """One transactional batch in the group's partition, answered when it is replicated; or one error for all."""
    if broker.denies(header.sender, WRITE, TRANSACTIONAL_ID, request.transactional_id):
        return _answer(request, Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    if broker.denies(header.sender, READ, GROUP, request.group_id):
        return _answer(request, Error.GROUP_AUTHORIZATION_FAILED)
    if denied := refused_partitions(broker, header, READ, request.offsets):
        errors = dict.fromkeys(denied, Error.TOPIC_AUTHORIZATION_FAILED)
        rest = replace(request, offsets={p: o for p, o in request.offsets.items() if p not in denied})
        if not rest.offsets:
            return _answer(request, Error.TOPIC_AUTHORIZATION_FAILED)
        return with_refused(handle(broker, rest, now, header), "errors", errors)
    partition = offsets_partition(request.group_id)
    error = group_error(broker, request.group_id)
    if error is Error.NONE and request.generation_id >= 0:
        error = Error.ILLEGAL_GENERATION  # no managed groups here yet: every group is a simple one
    if error is not Error.NONE:
        return _answer(request, error)
    unknown = [p for p in request.offsets if p not in broker.metadata.partitions]
    if unknown:
        return _answer(request, Error.UNKNOWN_TOPIC_OR_PARTITION)
    batch = offsets_batch(request.group_id, request.offsets, now, request.producer_id, request.producer_epoch)
    mode = ADD if header.version >= 5 else VERIFY if header.version == 4 else OLD_VERIFY
    guards, refused = guards_for(broker, {partition: batch}, mode, now)
    if refused:
        return _answer(request, refused[partition])
    if not guards:
        return _append(broker, request, batch, 0)
    then = Then(_verified, (request, batch, guards[partition]))
    return ask_coordinator(broker, request.transactional_id, batch, (partition,), mode, then)


def group_error(broker: BrokerState, group: str) -> Error:
    """NONE if this broker coordinates the group, else why not."""
    partition = offsets_partition(group)
    if group == "":
        return Error.INVALID_GROUP_ID
    if not broker.leads(partition):
        return Error.NOT_COORDINATOR
    return Error.COORDINATOR_LOAD_IN_PROGRESS if partition in broker.offsets_loading else Error.NONE


def offsets_batch(group: str, offsets: dict[str, int], now: int, producer_id: int = -1, epoch: int = -1) -> Batch:
    """The records of a commit; a transactional one always has sequence 0, and no check looks at it (facts 5.4)."""
    entries = (OffsetCommit(group=group, partition=p, offset=o) for p, o in offsets.items())
    return Batch(
        records=tuple(Record(f"{e.group}/{e.partition}", e) for e in entries),
        timestamp_ms=now,
        producer_id=producer_id,
        producer_epoch=epoch,
        base_sequence=0 if producer_id >= 0 else -1,
        transactional=producer_id >= 0,
    )


def _verified(
    broker: BrokerState, errors: dict[str, Error], now: int, request: TxnOffsetCommit, batch: Batch, guard: int
) -> list[Effect]:
    error = next(iter(errors.values()))
    if error is Error.NETWORK_EXCEPTION:
        error = Error.COORDINATOR_LOAD_IN_PROGRESS
    if error is not Error.NONE:
        return _answer(request, error)
    return _append(broker, request, batch, guard)


def _append(broker: BrokerState, request: TxnOffsetCommit, batch: Batch, guard: int) -> list[Effect]:
    partition = offsets_partition(request.group_id)
    error = group_error(broker, request.group_id)
    if error is Error.NONE:
        producers = broker.log(partition).producers
        error = producers.data_error(batch, Origin.COORDINATOR, guard)
    if error is not Error.NONE:
        return _answer(request, error)
    timeout = broker.config.offsets_commit_timeout_ms
    return [Append(partition, batch, timeout, Then(_appended, (request,)))]


def _appended(broker: BrokerState, result: Appended, now: int, request: TxnOffsetCommit) -> list[Effect]:
    return _answer(request, offsets_append_error(result.error))


def offsets_append_error(error: Error) -> Error:
    """How a group coordinator names a failed append (`OffsetMetadataManager`, as the old `GroupMetadataManager`)."""
    if error in (Error.UNKNOWN_TOPIC_OR_PARTITION, Error.NOT_ENOUGH_REPLICAS, Error.REQUEST_TIMED_OUT):
        return Error.COORDINATOR_NOT_AVAILABLE
    return Error.NOT_COORDINATOR if error is Error.NOT_LEADER_OR_FOLLOWER else error


def _answer(request: TxnOffsetCommit, error: Error) -> list[Effect]:
    return [Reply(TxnOffsetCommitReply(errors=dict.fromkeys(request.offsets, error)))]


API = Api(
    28,
    range(0, 7),
    TxnOffsetCommit,
    TxnOffsetCommitReply,
    handle,
    "transaction",
    "Writes the consumed offsets as records of the transaction. They stay pending until the marker comes.",
)
