"""Produce: the leader verifies, checks, appends, and answers once all in-sync replicas have the batch
(docs/protocol.md#produce)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from kafkalab.broker.authorization import may_not_be_idempotent
from kafkalab.broker.effects import Append, AppendResult, AwaitDurable, Effects, Readmit, Sleep, all_of
from kafkalab.broker.state import BrokerState
from kafkalab.broker.verification import ADD, OLD_VERIFY, VERIFY, ask_coordinator, guards_for
from kafkalab.log.producer_state.append import NO_GUARD, Origin
from kafkalab.log.producer_state.entry import CachedBatch
from kafkalab.protocol.acls import TOPIC, TRANSACTIONAL_ID, WRITE
from kafkalab.protocol.api import Header
from kafkalab.protocol.batch_bytes import ZSTD
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.produce import PartitionProduced, Produce, ProduceResponse
from kafkalab.protocol.partitions import INTERNAL_TOPICS, topic_of
from kafkalab.protocol.records import Batch, OtherRecords
from kafkalab.protocol.rules import INVALID_RECORD_CODE, TOPIC_WRITE_SUFFICES

ACKS_ALL = -1
ZSTD_SINCE = 7
"""The first version in which a request may use the newest codec (KIP-110)."""
ACKS = (ACKS_ALL, 0, 1)
_RETRIABLE_AT_COORDINATOR = (
    Error.NETWORK_EXCEPTION,
    Error.COORDINATOR_LOAD_IN_PROGRESS,
    Error.COORDINATOR_NOT_AVAILABLE,
    Error.NOT_COORDINATOR,
)
_BEFORE_THE_LOG = (
    Error.INVALID_REQUIRED_ACKS,
    Error.INVALID_TOPIC_EXCEPTION,
    Error.UNKNOWN_TOPIC_OR_PARTITION,
    Error.NOT_LEADER_OR_FOLLOWER,
    Error.MESSAGE_TOO_LARGE,
    Error.CORRUPT_MESSAGE,
)
"""The errors that are answered without the log's start offset (`ReplicaManager.appendToLocalLog`)."""


@dataclass(slots=True)
class _Work:
    """One request under way: the guards of its verification, its answers so far, the batches as they are appended."""

    request: Produce
    guards: dict[str, int]
    answers: dict[str, PartitionProduced]
    validated: dict[str, Batch]

    def refuse(self, errors: dict[str, Error]) -> None:
        """Answer these partitions with their errors."""
        for partition, error in errors.items():
            if error is not Error.NONE:
                self.answers[partition] = PartitionProduced(error=error)

    def response(self) -> ProduceResponse | None:
        """Return what every partition has got; nothing for a producer that does not wait for it."""
        if self.request.acks == 0:
            return None
        return ProduceResponse(partitions={p: self.answers[p] for p in self.request.batches})


def handle(broker: BrokerState, request: Produce, header: Header) -> Effects[ProduceResponse | None]:
    """Verify what is part of a transaction, then append all that is not refused; answer every partition at once.

    Nothing of the request is appended before the coordinator has answered (`ReplicaManager.handleProduceAppend`).
    """
    work = _Work(request, {}, {}, {})
    refused = _request_error(broker, request, header)
    if refused is not Error.NONE:
        work.refuse(dict.fromkeys(request.batches, refused))
        return work.response()
    errors = {p: _records_error(broker, p, batch, header) for p, batch in request.batches.items()}
    if Error.UNKNOWN_SERVER_ERROR in errors.values():  # Kafka has not foreseen this exception: it ends the request
        errors = dict.fromkeys(errors, Error.UNKNOWN_SERVER_ERROR)
    work.refuse(errors)
    sound = {p: batch for p, batch in request.batches.items() if p not in work.answers}
    in_transaction = {p: batch for p, batch in sound.items() if batch.in_transaction}
    if len(dict.fromkeys((b.producer_id, b.producer_epoch) for b in in_transaction.values())) > 1:
        work.refuse(dict.fromkeys(request.batches, Error.INVALID_PRODUCER_ID_MAPPING))
        return work.response()
    if request.transactional_id is not None and in_transaction:
        yield from _verify(broker, work, request.transactional_id, in_transaction, header.version)
    yield from _append(broker, work, [p for p in sound if p not in work.answers])
    return work.response()


def _request_error(broker: BrokerState, request: Produce, header: Header) -> Error:
    """Return why the whole request is refused: no right to write under the id, or transactional records without an id.

    The search for transactional records reads the first batch of each partition, and ends at the first that is corrupt
    (`RequestUtils.hasTransactionalRecords`). Up to 2.7 idempotent records needed IDEMPOTENT_WRITE here too.
    """
    tid, batches = request.transactional_id, request.batches.values()
    for batch in batches:
        if isinstance(batch, OtherRecords) and batch.corrupt and not batch.batch_count:
            return Error.CORRUPT_MESSAGE
        if batch.transactional:
            denied = tid is None or broker.denies(header.sender, WRITE, TRANSACTIONAL_ID, tid)
            return Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED if denied else Error.NONE
    asked = not broker.rules.on(TOPIC_WRITE_SUFFICES) and any(b.producer_id >= 0 for b in batches)
    denied = asked and may_not_be_idempotent(broker, header)
    return Error.CLUSTER_AUTHORIZATION_FAILED if denied else Error.NONE


def _records_error(broker: BrokerState, partition: str, batch: Batch, header: Header) -> Error:
    """Return why a partition's part is not even verified (`KafkaApis`, `ProduceRequest.validateRecords`)."""
    if broker.acls and broker.denies(header.sender, WRITE, TOPIC, topic_of(partition)):
        return Error.TOPIC_AUTHORIZATION_FAILED
    if partition not in broker.metadata.partitions:
        return Error.UNKNOWN_TOPIC_OR_PARTITION
    if not isinstance(batch, OtherRecords):
        if batch.codec < ZSTD or header.version >= ZSTD_SINCE:
            return Error.NONE
        return Error.UNSUPPORTED_COMPRESSION_TYPE if batch.codec == ZSTD else Error.UNKNOWN_SERVER_ERROR
    if batch.unreadable:
        return Error.UNKNOWN_SERVER_ERROR
    return Error.CORRUPT_MESSAGE if batch.corrupt else _invalid_record(broker)


def _invalid_record(broker: BrokerState) -> Error:
    return Error.INVALID_RECORD if broker.rules.on(INVALID_RECORD_CODE) else Error.CORRUPT_MESSAGE


def _verify(
    broker: BrokerState, work: _Work, transactional_id: str, batches: dict[str, Batch], version: int
) -> Effects[None]:
    """Have the partitions that are new to the transaction verified or added; refuse the others
    (docs/protocol.md#verification).

    From Produce 12, while the previous transaction is being completed, begin again with all partitions after
    `add_partitions_retry_backoff_ms`: a marker may have come meanwhile and taken guards away.
    """
    mode = ADD if version >= 12 else VERIFY if version == 11 else OLD_VERIFY
    longest = min(broker.config.add_partitions_retry_backoff_max_ms, broker.config.request_timeout_ms)
    until_ms = broker.now + longest if mode == ADD else 0
    while True:
        work.guards, errors = guards_for(broker, batches, mode)
        if work.guards:
            asked = batches[next(iter(work.guards))]
            errors.update((yield from ask_coordinator(broker, transactional_id, asked, tuple(work.guards), mode)))
        if broker.now >= until_ms or Error.CONCURRENT_TRANSACTIONS not in errors.values():
            break
        yield Sleep(broker.config.add_partitions_retry_backoff_ms)
    work.refuse({p: _as_producers_retry(e, mode) for p, e in errors.items()})


def _as_producers_retry(error: Error, mode: str) -> Error:
    """Return NOT_ENOUGH_REPLICAS for an error that an older producer would not retry (KAFKA-16386)."""
    if error in _RETRIABLE_AT_COORDINATOR or (error is Error.CONCURRENT_TRANSACTIONS and mode != ADD):
        return Error.NOT_ENOUGH_REPLICAS
    return error


def _append(broker: BrokerState, work: _Work, partitions: list[str]) -> Effects[None]:
    """Append what the log accepts, and wait until all of it is durable."""
    found = {p: _analyze(broker, work, p, work.request.batches[p]) for p in partitions}
    for partition, error in found.items():
        if isinstance(error, Error) and error is not Error.NONE:
            start = -1 if error in _BEFORE_THE_LOG else broker.log(partition).log_start_offset
            work.answers[partition] = PartitionProduced(error=error, log_start_offset=start)
            if error is Error.NOT_ENOUGH_REPLICAS:
                yield Readmit(partition)
    yield from all_of(*(_append_one(broker, work, p, f) for p, f in found.items() if p not in work.answers))


def _analyze(broker: BrokerState, work: _Work, partition: str, batch: Batch) -> Error | CachedBatch:
    """NONE, the batch that this one repeats, or why it is refused, in Kafka's order
    (docs/protocol.md#produce-checks)."""
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
    config = broker.config
    validated = batch.validate(config.message_max_bytes, broker.now, config.message_timestamp_after_max_ms)
    if isinstance(validated, Error):
        return _invalid_record(broker) if validated is Error.INVALID_RECORD else validated
    work.validated[partition] = validated
    guard = work.guards.get(partition, NO_GUARD)
    return broker.log(partition).producers.analyze(validated, Origin.CLIENT, guard)


def _append_one(broker: BrokerState, work: _Work, partition: str, found: Error | CachedBatch) -> Effects[None]:
    """Append the batch, or wait for the one that it repeats.

    What fails after that is answered with the batch's offset: it is in the log (`DelayedProduce`).
    """
    request, batch = work.request, work.validated[partition]
    log_start_offset = broker.log(partition).log_start_offset
    if isinstance(found, CachedBatch):
        original = replace(batch, base_offset=found.first_offset)
        appended: AppendResult = yield AwaitDurable(partition, original, request.timeout_ms, request.acks)
    else:
        appended = yield Append(partition, batch, request.timeout_ms, request.acks)
    error = appended.error
    if appended.batch is None:
        work.refuse({partition: error})
        return
    if error is Error.NONE and request.acks == ACKS_ALL and broker.is_under_min_isr(partition):
        error = Error.NOT_ENOUGH_REPLICAS_AFTER_APPEND
    work.answers[partition] = PartitionProduced(
        error=error,
        base_offset=appended.batch.base_offset,
        log_append_time_ms=found.timestamp_ms if isinstance(found, CachedBatch) else -1,
        log_start_offset=log_start_offset,
    )
