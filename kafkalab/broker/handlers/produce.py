"""Produce: the leader verifies, checks, appends, and answers once all in-sync replicas have the batch (facts 3)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from kafkalab.broker.authorization import may_not_be_idempotent
from kafkalab.broker.effects import Append, Appended, AwaitDurable, Effect, Respond, SetTimer, Then
from kafkalab.broker.state import BrokerState
from kafkalab.broker.verification import ADD, OLD_VERIFY, VERIFY, ask_coordinator, guards_for
from kafkalab.log.producer_state.append import NO_GUARD, Origin
from kafkalab.log.producer_state.entry import CachedBatch
from kafkalab.protocol.acls import TOPIC, TRANSACTIONAL_ID, WRITE
from kafkalab.protocol.api import Header
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.produce import PartitionProduced, Produce, ProduceResponse
from kafkalab.protocol.partitions import INTERNAL_TOPICS, topic_of
from kafkalab.protocol.records import Batch, OtherRecords
from kafkalab.protocol.rules import TOPIC_WRITE_SUFFICES

ACKS_ALL = -1


ACKS = (ACKS_ALL, 0, 1)


_RETRIABLE_AT_COORDINATOR = (
    Error.NETWORK_EXCEPTION,
    Error.COORDINATOR_LOAD_IN_PROGRESS,
    Error.COORDINATOR_NOT_AVAILABLE,
    Error.NOT_COORDINATOR,
)


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
    """Verify what must be verified, then append; every partition has its own answer, all in one response."""
    mode = ADD if header.version >= 12 else VERIFY if header.version == 11 else OLD_VERIFY
    work = _Work(request, mode, header.version, now, {}, {})
    refused = _request_error(broker, request, header)
    if refused is not Error.NONE:
        return _refuse(work, dict.fromkeys(request.batches, refused))
    errors = {p: _records_error(broker, p, batch, header) for p, batch in request.batches.items()}
    _refuse(work, {p: error for p, error in errors.items() if error is not Error.NONE})
    sound = {p: batch for p, batch in request.batches.items() if p not in work.answers}
    if len(dict.fromkeys((b.producer_id, b.producer_epoch) for b in sound.values() if _of_transaction(b))) > 1:
        return _refuse(work, dict.fromkeys(request.batches, Error.INVALID_PRODUCER_ID_MAPPING))
    if request.transactional_id is not None:
        work.guards, early = guards_for(broker, sound, mode, now)
        _refuse(work, early)
    effects: list[Effect] = []
    if work.guards:
        effects += _verify(broker, work, tuple(work.guards))
    unguarded = [p for p in sound if p not in work.guards and p not in work.answers]
    return effects + _append(broker, work, unguarded, now)


def _of_transaction(batch: Batch) -> bool:
    return batch.transactional and batch.producer_id >= 0


def _request_error(broker: BrokerState, request: Produce, header: Header) -> Error:
    """Why nothing of the request is looked at: no right to write under the id, or transactional records of nobody.

    Up to 2.7 idempotent records needed IDEMPOTENT_WRITE here too.
    """
    tid, batches = request.transactional_id, request.batches.values()
    if tid is not None and not broker.acls:
        return Error.NONE
    if any(b.transactional for b in batches):
        denied = tid is None or broker.denies(header.sender, WRITE, TRANSACTIONAL_ID, tid)
        return Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED if denied else Error.NONE
    asked = not broker.rules.on(TOPIC_WRITE_SUFFICES) and any(b.producer_id >= 0 for b in batches)
    denied = asked and may_not_be_idempotent(broker, header)
    return Error.CLUSTER_AUTHORIZATION_FAILED if denied else Error.NONE


def _records_error(broker: BrokerState, partition: str, batch: Batch, header: Header) -> Error:
    """Why a partition's part is not even verified (`KafkaApis`, `ProduceRequest.validateRecords`)."""
    if broker.acls and broker.denies(header.sender, WRITE, TOPIC, topic_of(partition)):
        return Error.TOPIC_AUTHORIZATION_FAILED
    if partition not in broker.metadata.partitions:
        return Error.UNKNOWN_TOPIC_OR_PARTITION
    return Error.INVALID_RECORD if isinstance(batch, OtherRecords) else Error.NONE


def _refuse(work: _Work, errors: dict[str, Error]) -> list[Effect]:
    """Answer these partitions with their errors; the response, if it is complete."""
    work.answers.update({p: PartitionProduced(error=error) for p, error in errors.items()})
    return _respond_if_complete(work)


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
    longest = min(broker.config.add_partitions_retry_backoff_max_ms, broker.config.request_timeout_ms)
    return work.mode == ADD and now - work.started_ms < longest


def _verify_again(
    broker: BrokerState, result: None, now: int, work: _Work, partitions: tuple[str, ...]
) -> list[Effect]:
    """A marker may have come meanwhile and taken the guards away: begin anew."""
    batches = {p: work.request.batches[p] for p in partitions}
    guards, refused = guards_for(broker, batches, work.mode, now)
    _refuse(work, refused)
    work.guards.update({p: guards.get(p, NO_GUARD) for p in partitions})
    effects = _verify(broker, work, tuple(guards)) if guards else []
    return effects + _append(broker, work, [p for p in partitions if p not in guards and p not in refused], now)


def _append(broker: BrokerState, work: _Work, partitions: list[str], now: int) -> list[Effect]:
    effects: list[Effect] = []
    for partition in partitions:
        batch = work.request.batches[partition]
        found = _analyze(broker, work, partition, batch)
        then = Then(_appended, (partition, work, found))
        timeout = work.request.timeout_ms
        if isinstance(found, CachedBatch):
            original = replace(batch, base_offset=found.first_offset)
            effects.append(AwaitDurable(partition, original, timeout, then, work.request.acks))
        elif found is Error.NONE:
            effects.append(Append(partition, batch, timeout, then, work.request.acks))
        else:
            work.answers[partition] = PartitionProduced(error=found)
    return effects or _respond_if_complete(work)


def _analyze(broker: BrokerState, work: _Work, partition: str, batch: Batch) -> Error | CachedBatch:
    """NONE, the batch that this one repeats, or why it is refused, in Kafka's order (facts 3.1)."""
    if work.request.acks not in ACKS:
        return Error.INVALID_REQUIRED_ACKS
    if topic_of(partition) in INTERNAL_TOPICS:
        return Error.INVALID_TOPIC_EXCEPTION
    info = broker.metadata.partitions.get(partition)
    if info is None:
        return Error.UNKNOWN_TOPIC_OR_PARTITION
    if info.leader != broker.name:
        return Error.NOT_LEADER_OR_FOLLOWER
    if work.request.acks == ACKS_ALL and broker.is_under_min_isr(partition):
        return Error.NOT_ENOUGH_REPLICAS
    if not _is_valid(batch):
        return Error.INVALID_RECORD
    guard = work.guards.get(partition, NO_GUARD)
    return broker.log(partition).producers.analyze(batch, Origin.CLIENT, guard)


def _is_valid(batch: Batch) -> bool:
    """Whether a client may write such a batch (`LogValidator`): its records count as its offsets say; no marker."""
    if not batch.records or batch.offset_delta != len(batch.records) - 1 or batch.control is not None:
        return False
    return batch.producer_id < 0 or batch.base_sequence >= 0


def _appended(
    broker: BrokerState, result: Appended, now: int, partition: str, work: _Work, found: Error | CachedBatch
) -> list[Effect]:
    if result.error is not Error.NONE or result.batch is None:
        return _refuse(work, {partition: result.error})
    if work.request.acks == ACKS_ALL and broker.is_under_min_isr(partition):
        return _refuse(work, {partition: Error.NOT_ENOUGH_REPLICAS_AFTER_APPEND})
    work.answers[partition] = PartitionProduced(
        error=Error.NONE,
        base_offset=result.batch.base_offset,
        log_append_time_ms=found.timestamp_ms if isinstance(found, CachedBatch) else -1,
        log_start_offset=broker.log(partition).log_start_offset,
    )
    return _respond_if_complete(work)


def _respond_if_complete(work: _Work) -> list[Effect]:
    if len(work.answers) < len(work.request.batches) or work.request.acks == 0:
        return []
    return [Respond(ProduceResponse(partitions={p: work.answers[p] for p in work.request.batches}))]
