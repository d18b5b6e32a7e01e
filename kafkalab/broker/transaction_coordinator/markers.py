"""After the decision: markers to every partition, one request per broker, then CompleteX (facts 6.3).

Source: `TransactionMarkerChannelManager`. Its sender thread is a timer here; between two attempts lie 50 ms, Kafka's
reconnect backoff (simplified: Kafka waits only after a disconnect).
"""

from __future__ import annotations

from kafkalab.broker.effects import Effect, Send, SetTimer, Then
from kafkalab.broker.state import BrokerState, MarkerProgress, QueuedMarkers, TxnPartition
from kafkalab.broker.transaction_coordinator.log import append_txn, note
from kafkalab.broker.transaction_coordinator.metadata import PREPARED, Txn, TxnState
from kafkalab.broker.transaction_coordinator.transition_table import Ask, goes_to
from kafkalab.protocol.errors import Error, IllegalStateError
from kafkalab.protocol.messages.write_txn_markers import TxnMarkers, WriteTxnMarkers, WriteTxnMarkersResponse
from kafkalab.protocol.partitions import transaction_partition
from kafkalab.protocol.rules import COMPLETE_REWRITTEN, MARKERS_BY_EPOCH

RETRY_MS = 50
UNKNOWN_BROKER = ""
WRITTEN = (Error.NONE, Error.UNSUPPORTED_FOR_MESSAGE_FORMAT, Error.UNSUPPORTED_VERSION)
AGAIN = (
    Error.UNKNOWN_TOPIC_OR_PARTITION,
    Error.NOT_LEADER_OR_FOLLOWER,
    Error.NOT_ENOUGH_REPLICAS,
    Error.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    Error.REQUEST_TIMED_OUT,
    Error.KAFKA_STORAGE_ERROR,
)
GIVE_UP = (Error.INVALID_PRODUCER_EPOCH, Error.TRANSACTION_COORDINATOR_FENCED)


def complete(broker: BrokerState, owned: TxnPartition, txn: Txn, now: int) -> list[Effect]:
    """PrepareCommit or PrepareAbort is durable: pend the completion and queue every marker."""
    completed = _completed(txn, now)
    owned.pending[txn.transactional_id] = completed.state
    progress = owned.markers.get(txn.transactional_id)
    if progress is not None and not progress.logged and progress.txn == txn:
        progress.logged = True
        return [note(owned, txn), *_maybe_finish(broker, progress, now)]
    progress = MarkerProgress(txn, completed, owned.coordinator_epoch, list(txn.partitions))
    owned.markers[txn.transactional_id] = progress
    return [note(owned, txn), *_queue(broker, progress, txn.partitions, now)]


def send_before_the_decision(broker: BrokerState, owned: TxnPartition, txn: Txn, now: int) -> list[Effect]:
    """What a Kafka without a log of decisions would do: queue the markers while the decision is still in the air."""
    progress = MarkerProgress(txn, _completed(txn, now), owned.coordinator_epoch, list(txn.partitions), logged=False)
    owned.markers[txn.transactional_id] = progress
    return _queue(broker, progress, txn.partitions, now)


def _completed(txn: Txn, now: int) -> Txn:
    state = goes_to(txn.client_transaction_version, txn.state, Ask.MARKED)
    if state is None:
        raise IllegalStateError(f"{txn.transactional_id}: {txn.state.label} has no markers to write")
    return txn.completed(now, state)


# the queues


def _queue(broker: BrokerState, progress: MarkerProgress, partitions: tuple[str, ...], now: int) -> list[Effect]:
    """Queue the markers at the leaders' brokers; a partition of a deleted topic is done."""
    by_broker: dict[str, list[str]] = {}
    for partition in partitions:
        if partition in broker.metadata.partitions:
            by_broker.setdefault(_leader(broker, partition), []).append(partition)
    _done(broker, progress, tuple(p for p in partitions if p not in broker.metadata.partitions))
    owner = transaction_partition(progress.txn.transactional_id)
    for name, led in by_broker.items():
        queue = broker.marker_queues.brokers.setdefault(name, {})
        queue.setdefault(owner, []).append(QueuedMarkers(progress, tuple(led)))
    effects: list[Effect] = [SetTimer(0, Then(send_queued))] if set(by_broker) - {UNKNOWN_BROKER} else []
    if UNKNOWN_BROKER in by_broker:
        effects += _look_up_later(broker)
    return [*effects, *_maybe_finish(broker, progress, now)]


def _leader(broker: BrokerState, partition: str) -> str:
    leader = broker.metadata.leader(partition)
    return leader if leader in broker.metadata.alive else UNKNOWN_BROKER


def _look_up_later(broker: BrokerState) -> list[Effect]:
    if broker.marker_queues.looks_up:
        return []
    broker.marker_queues.looks_up = True
    return [SetTimer(RETRY_MS, Then(look_up), background=True)]


def look_up(broker: BrokerState, result: None, now: int) -> list[Effect]:
    """Queue again what had no live leader."""
    broker.marker_queues.looks_up = False
    effects: list[Effect] = []
    for queue in broker.marker_queues.brokers.pop(UNKNOWN_BROKER, {}).values():
        for queued in queue:
            effects += _queue(broker, queued.progress, queued.partitions, now)
    return effects


def send_queued(broker: BrokerState, result: None, now: int) -> list[Effect]:
    """One WriteTxnMarkers per broker with all that is queued for it (`generateRequests`)."""
    queues = broker.marker_queues.brokers
    effects: list[Effect] = []
    for name in [n for n in queues if n != UNKNOWN_BROKER]:
        queued = [q for queue in queues.pop(name).values() for q in queue]
        if queued:
            request = WriteTxnMarkers(markers=tuple(_entry(q) for q in queued))
            effects.append(Send(name, request, Then(answered, (queued,))))
    return effects


def _entry(queued: QueuedMarkers) -> TxnMarkers:
    txn = queued.progress.txn
    return TxnMarkers(
        producer_id=txn.producer_id,
        producer_epoch=txn.producer_epoch,
        coordinator_epoch=queued.progress.coordinator_epoch,
        committed=txn.state is TxnState.PREPARE_COMMIT,
        partitions=queued.partitions,
        transaction_version=txn.client_transaction_version,
    )


# the answers (`TransactionMarkerRequestCompletionHandler`)


def answered(
    broker: BrokerState, response: WriteTxnMarkersResponse | None, now: int, queued: list[QueuedMarkers]
) -> list[Effect]:
    """What each transaction of the request learns: partitions done, partitions to try again, or the end."""
    effects: list[Effect] = []
    for one in queued:
        if not _owns(broker, one.progress):
            _forget(broker, one.progress)
        elif response is None:
            effects.append(_try_again(one.progress, one.partitions))
        else:
            effects += _answered(broker, response, now, one)
    return effects


def _answered(broker: BrokerState, response: WriteTxnMarkersResponse, now: int, queued: QueuedMarkers) -> list[Effect]:
    progress = queued.progress
    producer_id = progress.txn.producer_id
    if producer_id not in response.markers:
        raise IllegalStateError(f"the answer to WriteTxnMarkers says nothing of producer id {producer_id}")
    errors = {p: response.markers[producer_id][p] for p in queued.partitions}
    for partition, error in errors.items():
        if error in GIVE_UP:
            _forget(broker, progress)
            return []
        if error not in WRITTEN and error not in AGAIN:
            raise IllegalStateError(f"a marker of producer id {producer_id} on {partition} failed with {error.name}")
    _done(broker, progress, tuple(p for p, error in errors.items() if error in WRITTEN))
    again = tuple(p for p, error in errors.items() if error in AGAIN)
    return [_try_again(progress, again)] if again else _maybe_finish(broker, progress, now)


def _done(broker: BrokerState, progress: MarkerProgress, partitions: tuple[str, ...]) -> None:
    """These partitions need no marker any more."""
    progress.remaining = [p for p in progress.remaining if p not in partitions]
    tid = progress.txn.transactional_id
    owned = broker.transactions.get(transaction_partition(tid))
    if partitions and owned is not None and (known := owned.txns.get(tid)) and known.state in PREPARED:
        owned.txns[tid] = known.without(partitions)


def _owns(broker: BrokerState, progress: MarkerProgress) -> bool:
    """Whether this broker still coordinates the transaction, under the coordinator epoch of its markers."""
    tid = progress.txn.transactional_id
    owned = broker.coordinates(tid)
    if isinstance(owned, Error) or owned.coordinator_epoch != progress.coordinator_epoch:
        return False
    if tid not in owned.txns:
        raise IllegalStateError(f"this broker coordinates {tid} and has no metadata of it")
    return True


def _forget(broker: BrokerState, progress: MarkerProgress) -> None:
    """Give this completion up; without rule MARKERS_BY_EPOCH also one of a newer epoch (KAFKA-16352)."""
    tid = progress.txn.transactional_id
    owned = broker.transactions.get(transaction_partition(tid))
    if owned and (owned.markers.get(tid) is progress or not broker.rules.on(MARKERS_BY_EPOCH)):
        owned.markers.pop(tid, None)


def _try_again(progress: MarkerProgress, partitions: tuple[str, ...]) -> Effect:
    return SetTimer(RETRY_MS, Then(_queue_again, (progress, partitions)), background=True)


def _queue_again(
    broker: BrokerState, result: None, now: int, progress: MarkerProgress, partitions: tuple[str, ...]
) -> list[Effect]:
    if _owns(broker, progress):
        return _queue(broker, progress, partitions, now)
    _forget(broker, progress)
    return []


# the completion


def _maybe_finish(broker: BrokerState, progress: MarkerProgress, now: int) -> list[Effect]:
    """Append CompleteX once no partition lacks its marker; whoever takes the entry out of the map does it, once."""
    tid = progress.txn.transactional_id
    owned = broker.transactions.get(transaction_partition(tid))
    if progress.remaining or not progress.logged or owned is None or owned.markers.get(tid) is not progress:
        return []
    del owned.markers[tid]
    return _finish(broker, None, now, owned, progress.completed)


def _finish(broker: BrokerState, result: None, now: int, owned: TxnPartition, completed: Txn) -> list[Effect]:
    retry = broker.rules.on(COMPLETE_REWRITTEN)
    return append_txn(broker, owned, completed, now, Then(_finished, (owned, completed)), retry)


def _finished(broker: BrokerState, error: Error, now: int, owned: TxnPartition, completed: Txn) -> list[Effect]:
    """CompleteX is written, or is written again, or is left to the next coordinator."""
    if error is Error.COORDINATOR_NOT_AVAILABLE:
        if not broker.rules.on(COMPLETE_REWRITTEN):
            return []
        return [SetTimer(RETRY_MS, Then(_finish, (owned, completed)), background=True)]
    if error not in (Error.NONE, Error.NOT_COORDINATOR, Error.COORDINATOR_LOAD_IN_PROGRESS):
        raise IllegalStateError(f"{completed.transactional_id}: {completed.state.label} failed with {error.name}")
    return []
