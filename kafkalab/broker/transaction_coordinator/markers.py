"""After the decision: markers to every partition, one request per broker, then CompleteX (docs/protocol.md#markers).

Source: `TransactionMarkerChannelManager`. Its sender thread is a timer here; between two attempts lie 50 ms, Kafka's
reconnect backoff (simplified: Kafka waits only after a disconnect).
"""

from __future__ import annotations

from kafkalab.broker.effects import Effects, Send, Sleep, Spawn
from kafkalab.broker.state import BrokerState, MarkerProgress, QueuedMarkers, TxnPartition
from kafkalab.broker.transaction_coordinator.log import append_txn, note
from kafkalab.protocol.errors import Error, InvariantError
from kafkalab.protocol.messages.write_txn_markers import TxnMarkers, WriteTxnMarkers, WriteTxnMarkersResponse
from kafkalab.protocol.partitions import transaction_partition
from kafkalab.protocol.rules import COMPLETE_REWRITTEN, LEADER_AWAITED, MARKERS_BY_EPOCH
from kafkalab.protocol.transaction_metadata import PREPARED, Txn, TxnState
from kafkalab.protocol.transition_tables.transaction import Ask, goes_to

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


def complete(broker: BrokerState, owned: TxnPartition, txn: Txn) -> Effects[None]:
    """PrepareCommit or PrepareAbort is durable: pend the completion and queue every marker."""
    completed = _complete_txn(txn, broker.now)
    owned.pending[txn.transactional_id] = completed.state
    progress = owned.markers.get(txn.transactional_id)
    if progress is not None and not progress.logged and progress.txn == txn:
        progress.logged = True
        yield note(owned, txn)
        yield from _finish_if_marked(broker, progress)
        return
    progress = MarkerProgress(txn, completed, owned.coordinator_epoch, list(txn.partitions))
    owned.markers[txn.transactional_id] = progress
    yield note(owned, txn)
    yield from _queue(broker, progress, txn.partitions)


def send_before_the_decision(broker: BrokerState, owned: TxnPartition, txn: Txn) -> Effects[None]:
    """Queue the markers before the decision is durable, as a Kafka without a log of decisions would."""
    completed = _complete_txn(txn, broker.now)
    progress = MarkerProgress(txn, completed, owned.coordinator_epoch, list(txn.partitions), logged=False)
    owned.markers[txn.transactional_id] = progress
    yield from _queue(broker, progress, txn.partitions)


def _complete_txn(txn: Txn, now: int) -> Txn:
    state = goes_to(txn.client_transaction_version, txn.state, Ask.MARKED)
    if state is None:
        raise InvariantError(f"{txn.transactional_id}: {txn.state.label} has no markers to write")
    return txn.complete(now, state)


# the queues


def _queue(broker: BrokerState, progress: MarkerProgress, partitions: tuple[str, ...]) -> Effects[None]:
    """Queue the markers at the leaders' brokers; a partition of a deleted topic is done."""
    by_broker: dict[str, list[str]] = {}
    deleted = tuple(p for p in partitions if _is_deleted(broker, p))
    for partition in partitions:
        if partition not in deleted:
            by_broker.setdefault(_leader(broker, partition), []).append(partition)
    _remove_partitions(broker, progress, deleted)
    owner = transaction_partition(progress.txn.transactional_id)
    for name, led in by_broker.items():
        queue = broker.marker_queues.brokers.setdefault(name, {})
        queue.setdefault(owner, []).append(QueuedMarkers(progress, tuple(led)))
    if set(by_broker) - {UNKNOWN_BROKER}:
        yield Spawn(send_queued(broker))
    if UNKNOWN_BROKER in by_broker and not broker.marker_queues.looks_up:
        yield Spawn(_look_up_later(broker))
    yield from _finish_if_marked(broker, progress)


def _is_deleted(broker: BrokerState, partition: str) -> bool:
    """Without rule LEADER_AWAITED a partition that has no leader counts as deleted too (KAFKA-20734)."""
    info = broker.metadata.partitions.get(partition)
    return info is None or not (info.leader or broker.rules.on(LEADER_AWAITED))


def _leader(broker: BrokerState, partition: str) -> str:
    leader = broker.metadata.leader(partition)
    return leader if leader in broker.metadata.alive else UNKNOWN_BROKER


def _look_up_later(broker: BrokerState) -> Effects[None]:
    """After a while, queue again what had no live leader."""
    broker.marker_queues.looks_up = True
    yield Sleep(RETRY_MS, background=True)
    broker.marker_queues.looks_up = False
    for queue in broker.marker_queues.brokers.pop(UNKNOWN_BROKER, {}).values():
        for queued in queue:
            yield Spawn(_queue(broker, queued.progress, queued.partitions))


def send_queued(broker: BrokerState) -> Effects[None]:
    """One WriteTxnMarkers per broker with all that is queued for it by the end of this moment (`generateRequests`)."""
    yield Sleep(0)
    queues = broker.marker_queues.brokers
    for name in [n for n in queues if n != UNKNOWN_BROKER]:
        queued = [q for queue in queues.pop(name).values() for q in queue]
        if queued:
            yield Spawn(_send(broker, name, queued))


def _send(broker: BrokerState, to: str, queued: list[QueuedMarkers]) -> Effects[None]:
    """Send the request; tell its transactions the result: partitions done, partitions to try again, or the end."""
    request = WriteTxnMarkers(markers=tuple(_entry(q) for q in queued))
    response: WriteTxnMarkersResponse | None = yield Send(to, request)
    for one in queued:
        if not _owns(broker, one.progress):
            _forget(broker, one.progress)
        elif response is None:
            yield Spawn(_try_again(broker, one.progress, one.partitions))
        else:
            yield Spawn(_take_answer(broker, response, one))


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


def _take_answer(broker: BrokerState, response: WriteTxnMarkersResponse, queued: QueuedMarkers) -> Effects[None]:
    progress = queued.progress
    producer_id = progress.txn.producer_id
    if producer_id not in response.markers:
        raise InvariantError(f"the answer to WriteTxnMarkers says nothing of producer id {producer_id}")
    errors = {p: response.markers[producer_id][p] for p in queued.partitions}
    for partition, error in errors.items():
        if error not in WRITTEN and error not in AGAIN and error not in GIVE_UP:
            raise InvariantError(f"a marker of producer id {producer_id} on {partition} failed with {error.name}")
    _remove_partitions(broker, progress, tuple(p for p, error in errors.items() if error in WRITTEN))
    again = tuple(p for p, error in errors.items() if error in AGAIN)
    if any(error in GIVE_UP for error in errors.values()):
        _forget(broker, progress)  # the completion stays pending until the partition is loaded again
    elif again:
        yield from _try_again(broker, progress, again)
    else:
        yield from _finish_if_marked(broker, progress)


def _remove_partitions(broker: BrokerState, progress: MarkerProgress, partitions: tuple[str, ...]) -> None:
    """These partitions need no marker any more."""
    progress.remaining = [p for p in progress.remaining if p not in partitions]
    tid = progress.txn.transactional_id
    owned = broker.transactions.get(transaction_partition(tid))
    if partitions and owned is not None and (known := owned.txns.get(tid)) and known.state in PREPARED:
        owned.txns[tid] = known.without(partitions)


def _owns(broker: BrokerState, progress: MarkerProgress) -> bool:
    """Return True if this broker still coordinates the transaction, under the coordinator epoch of its markers."""
    tid = progress.txn.transactional_id
    owned = broker.coordinates(tid)
    if isinstance(owned, Error) or owned.coordinator_epoch != progress.coordinator_epoch:
        return False
    if tid not in owned.txns:
        raise InvariantError(f"this broker coordinates {tid} and has no metadata of it")
    return True


def _forget(broker: BrokerState, progress: MarkerProgress) -> None:
    """Give this completion up; without rule MARKERS_BY_EPOCH also one of a newer epoch (KAFKA-16352)."""
    tid = progress.txn.transactional_id
    owned = broker.transactions.get(transaction_partition(tid))
    if owned and (owned.markers.get(tid) is progress or not broker.rules.on(MARKERS_BY_EPOCH)):
        owned.markers.pop(tid, None)


def _try_again(broker: BrokerState, progress: MarkerProgress, partitions: tuple[str, ...]) -> Effects[None]:
    yield Sleep(RETRY_MS, background=True)
    if _owns(broker, progress):
        yield from _queue(broker, progress, partitions)
    else:
        _forget(broker, progress)


# the completion


def _finish_if_marked(broker: BrokerState, progress: MarkerProgress) -> Effects[None]:
    """Append CompleteX once no partition lacks its marker; whoever takes the entry out of the map does it, once.

    If the append fails it is repeated, or left to the next coordinator.
    """
    completed = progress.completed
    tid = completed.transactional_id
    owned = broker.transactions.get(transaction_partition(tid))
    if progress.remaining or not progress.logged or owned is None or owned.markers.get(tid) is not progress:
        return
    del owned.markers[tid]
    retry = broker.rules.on(COMPLETE_REWRITTEN)
    while (error := (yield from append_txn(broker, owned, completed, retry))) is Error.COORDINATOR_NOT_AVAILABLE:
        if not retry:
            return
        yield Sleep(RETRY_MS, background=True)
    if error not in (Error.NONE, Error.NOT_COORDINATOR, Error.COORDINATOR_LOAD_IN_PROGRESS):
        raise InvariantError(f"{tid}: {completed.state.label} failed with {error.name}")
