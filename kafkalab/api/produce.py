"""Produce: the leader verifies, checks, appends, and answers once all in-sync replicas have the batch (facts 3)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from kafkalab.api.api import Api, Header
from kafkalab.api.authorisation import may_not_be_idempotent, refused_partitions, with_refused
from kafkalab.api.verification import ADD, OLD_VERIFY, VERIFY, ask_coordinator, guards_for
from kafkalab.core.acls import TRANSACTIONAL_ID, WRITE
from kafkalab.core.broker_state import BrokerState
from kafkalab.core.effects import Append, Appended, AwaitDurable, Effect, Reply, SetTimer, Then
from kafkalab.core.errors import Error
from kafkalab.core.records import Batch
from kafkalab.rules import DEDUPLICATION, TOPIC_WRITE_SUFFICES

ACKS_ALL = -1
_RETRIABLE_AT_COORDINATOR = (
    Error.NETWORK_EXCEPTION,
    Error.COORDINATOR_LOAD_IN_PROGRESS,
    Error.COORDINATOR_NOT_AVAILABLE,
    Error.NOT_COORDINATOR,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Produce:
    """One batch per partition."""

    transactional_id: str | None
    acks: int
    timeout_ms: int
    batches: dict[str, Batch]


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionProduced:
    error: Error
    base_offset: int = -1
    log_start_offset: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class ProduceReply:
    partitions: dict[str, PartitionProduced]


@dataclass(slots=True)
class _Work:
    """One request under way: its answers so far, and when the retries at the coordinator began."""

    request: Produce
    mode: str
    version: int
    started_ms: int
    guards: dict[str, int]
    answers: dict[str, PartitionProduced]


def handle(broker: BrokerState, request: Produce, now: int, header: Header) -> list[Effect]:
    """Verify what must be verified, then append; every partition has its own answer, all in one reply."""
    if (refused_all := _refused(broker, request, header)) is not Error.NONE:
        answers = dict.fromkeys(request.batches, PartitionProduced(error=refused_all))
        return [Reply(ProduceReply(partitions=answers))] if request.acks else []
    if denied := refused_partitions(broker, header, WRITE, request.batches):
        rest = replace(request, batches={p: b for p, b in request.batches.items() if p not in denied})
        answers = dict.fromkeys(denied, PartitionProduced(error=Error.TOPIC_AUTHORIZATION_FAILED))
        return with_refused(handle(broker, rest, now, header), "partitions", answers)
    mode = ADD if header.version >= 12 else VERIFY if header.version == 11 else OLD_VERIFY
    guards: dict[str, int] = {}
    refused: dict[str, Error] = {}
    if request.transactional_id is not None:
        guards, refused = guards_for(broker, request.batches, mode)
    answers = {p: PartitionProduced(error=e) for p, e in refused.items()}
    work = _Work(request, mode, header.version, now, guards, answers)
    effects: list[Effect] = []
    unguarded = [p for p in request.batches if p not in guards and p not in refused]
    if guards:
        effects += _verify(broker, work, tuple(guards))
    return effects + _append(broker, work, unguarded, now)


def _refused(broker: BrokerState, request: Produce, header: Header) -> Error:
    """For the whole request (facts 3.1): transactional records need the right to write under their id.

    Up to 2.7 idempotent records needed IDEMPOTENT_WRITE here too.
    """
    tid = request.transactional_id
    if tid is None or broker.acls:
        if any(b.transactional for b in request.batches.values()):
            denied = tid is None or broker.denies(header.sender, WRITE, TRANSACTIONAL_ID, tid)
            return Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED if denied else Error.NONE
        idempotent = any(b.producer_id >= 0 for b in request.batches.values())
        if idempotent and not broker.rules.on(TOPIC_WRITE_SUFFICES) and may_not_be_idempotent(broker, header):
            return Error.CLUSTER_AUTHORIZATION_FAILED
    return Error.NONE


def _verify(broker: BrokerState, work: _Work, partitions: tuple[str, ...]) -> list[Effect]:
    assert work.request.transactional_id is not None
    batch = work.request.batches[partitions[0]]
    then = Then(_verified, (work,))
    return ask_coordinator(broker, work.request.transactional_id, batch, partitions, work.mode, then)


def _verified(broker: BrokerState, errors: dict[str, Error], now: int, work: _Work) -> list[Effect]:
    """Append what is in the transaction; translate the rest (facts 3.6); wait a little for a completing transaction."""
    good, again = [], []
    for partition, error in errors.items():
        if error is Error.NONE:
            good.append(partition)
        elif error is Error.CONCURRENT_TRANSACTIONS and _may_wait(broker, work, now):
            again.append(partition)
        else:
            if error in _RETRIABLE_AT_COORDINATOR or (error is Error.CONCURRENT_TRANSACTIONS and work.version < 12):
                error = Error.NOT_ENOUGH_REPLICAS
            work.answers[partition] = PartitionProduced(error=error)
    effects = _append(broker, work, good, now)
    if again:
        delay = broker.config.add_partitions_retry_backoff_ms
        effects.append(SetTimer(delay, Then(_verify_again, (work, tuple(again)))))
    return effects


def _may_wait(broker: BrokerState, work: _Work, now: int) -> bool:
    return work.mode == ADD and now - work.started_ms < broker.config.add_partitions_retry_backoff_max_ms


def _verify_again(
    broker: BrokerState, result: None, now: int, work: _Work, partitions: tuple[str, ...]
) -> list[Effect]:
    return _verify(broker, work, partitions)


def _append(broker: BrokerState, work: _Work, partitions: list[str], now: int) -> list[Effect]:
    effects: list[Effect] = []
    for partition in partitions:
        batch = work.request.batches[partition]
        duplicate = _duplicate(broker, partition, batch)
        error = Error.NONE if duplicate else _refusal(broker, work, partition, batch)
        if error is not Error.NONE:
            work.answers[partition] = PartitionProduced(error=error)
            continue
        then = Then(_appended, (partition, work))
        timeout = work.request.timeout_ms
        if duplicate:
            effects.append(AwaitDurable(partition, duplicate, timeout, then))
        else:
            effects.append(Append(partition, batch, timeout, then, work.request.acks))
    return effects or _reply_if_complete(work)


def _duplicate(broker: BrokerState, partition: str, batch: Batch) -> Batch | None:
    """The batch in the log that this one repeats, if the leader recognises it."""
    if not broker.leads(partition) or batch.producer_id < 0 or not broker.rules.on(DEDUPLICATION):
        return None
    log = broker.log(partition)
    offset = log.producers.duplicate_of(batch)
    return None if offset is None else log.read(offset, offset + 1)[0]


def _refusal(broker: BrokerState, work: _Work, partition: str, batch: Batch) -> Error:
    info = broker.metadata.partitions.get(partition)
    if info is None:
        return Error.UNKNOWN_TOPIC_OR_PARTITION
    if info.leader != broker.name:
        return Error.NOT_LEADER_OR_FOLLOWER
    if work.request.acks == ACKS_ALL and len(info.isr) < broker.min_isr(partition):
        return Error.NOT_ENOUGH_REPLICAS
    if batch.control is not None or (batch.producer_id >= 0 and batch.base_sequence < 0):
        return Error.INVALID_RECORD
    if batch.producer_id < 0:
        return Error.NONE
    producers = broker.log(partition).producers
    return producers.check_data(batch, broker.rules, from_client=True, guard=work.guards.get(partition, 0))


def _appended(broker: BrokerState, result: Appended, now: int, partition: str, work: _Work) -> list[Effect]:
    base = result.batch.base_offset if result.batch and result.error is Error.NONE else -1
    work.answers[partition] = PartitionProduced(error=result.error, base_offset=base)
    return _reply_if_complete(work)


def _reply_if_complete(work: _Work) -> list[Effect]:
    if len(work.answers) < len(work.request.batches) or work.request.acks == 0:
        return []
    return [Reply(ProduceReply(partitions={p: work.answers[p] for p in work.request.batches}))]


API = Api(
    0,
    range(3, 14),
    Produce,
    ProduceReply,
    handle,
    "transaction",
    "Writes one batch per partition, with producer id, epoch and sequence. The leader answers when all in-sync "
    "replicas have it.",
)
