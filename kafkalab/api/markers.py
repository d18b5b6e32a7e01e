"""After the decision: markers to every partition, until they are there, then CompleteX (facts 1.11, 6.3)."""

from __future__ import annotations

from kafkalab.api.transaction_log import append_txn, note
from kafkalab.api.write_txn_markers import WriteTxnMarkers, WriteTxnMarkersReply
from kafkalab.core.broker_state import BrokerState, MarkerProgress, TxnPartition
from kafkalab.core.effects import Effect, Send, SetTimer, Then
from kafkalab.core.errors import Error
from kafkalab.core.partitions import transaction_partition
from kafkalab.core.transaction import Txn, TxnState

RETRY_MS = 50
AGAIN = (
    Error.UNKNOWN_TOPIC_OR_PARTITION,
    Error.NOT_LEADER_OR_FOLLOWER,
    Error.NOT_ENOUGH_REPLICAS,
    Error.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    Error.REQUEST_TIMED_OUT,
)
GIVE_UP = (Error.INVALID_PRODUCER_EPOCH, Error.TRANSACTION_COORDINATOR_FENCED)


def complete(broker: BrokerState, owned: TxnPartition, txn: Txn, now: int) -> list[Effect]:
    """PrepareCommit or PrepareAbort is durable: pend the completion and send every marker."""
    owned.pending[txn.transactional_id] = txn.completed(now).state
    progress = owned.markers[txn.transactional_id] = MarkerProgress(txn, list(txn.partitions))
    return [note(owned, txn), *_send(broker, owned, progress, tuple(txn.partitions), now)]


def _send(
    broker: BrokerState, owned: TxnPartition, progress: MarkerProgress, partitions: tuple[str, ...], now: int
) -> list[Effect]:
    """One WriteTxnMarkers per leader; partitions without a leader wait; deleted ones are done."""
    by_leader: dict[str, list[str]] = {}
    for partition in partitions:
        if partition not in broker.metadata.partitions:
            progress.remaining.remove(partition)
            continue
        by_leader.setdefault(broker.metadata.leader(partition), []).append(partition)
    if not progress.remaining:
        return _finish(broker, owned, progress, now)
    effects: list[Effect] = []
    for leader, led in by_leader.items():
        args = (owned, progress, tuple(led))
        if leader == "":
            effects.append(SetTimer(RETRY_MS, Then(_again, args), background=True))
            continue
        txn = progress.txn
        request = WriteTxnMarkers(
            transactional_id=txn.transactional_id,
            producer_id=txn.producer_id,
            producer_epoch=txn.producer_epoch,
            coordinator_epoch=owned.coordinator_epoch,
            committed=txn.state is TxnState.PREPARE_COMMIT,
            partitions=tuple(led),
            transaction_version=txn.client_transaction_version,
        )
        effects.append(Send(leader, request, Then(_answered, args)))
    return effects


def _is_current(broker: BrokerState, owned: TxnPartition, progress: MarkerProgress) -> bool:
    """Whether this broker still coordinates the transaction, under the same epoch (KAFKA-16352)."""
    tid = progress.txn.transactional_id
    return broker.transactions.get(transaction_partition(tid)) is owned and owned.markers.get(tid) is progress


def _again(
    broker: BrokerState, result: None, now: int, owned: TxnPartition, progress: MarkerProgress, led: tuple[str, ...]
) -> list[Effect]:
    return _send(broker, owned, progress, led, now) if _is_current(broker, owned, progress) else []


def _answered(
    broker: BrokerState,
    reply: WriteTxnMarkersReply | None,
    now: int,
    owned: TxnPartition,
    progress: MarkerProgress,
    led: tuple[str, ...],
) -> list[Effect]:
    if not _is_current(broker, owned, progress):
        return []
    if reply is None:
        return [SetTimer(RETRY_MS, Then(_again, (owned, progress, led)), background=True)]
    again = []
    for partition, error in reply.errors.items():
        if error in GIVE_UP:
            del owned.markers[progress.txn.transactional_id]
            return []
        if error in AGAIN:
            again.append(partition)
            continue
        assert error is Error.NONE, f"a marker on {partition} failed with {error.name}"
        if partition in progress.remaining:
            progress.remaining.remove(partition)
    if again:
        return [SetTimer(RETRY_MS, Then(_again, (owned, progress, tuple(again))), background=True)]
    return [] if progress.remaining else _finish(broker, owned, progress, now)


def _finish(broker: BrokerState, owned: TxnPartition, progress: MarkerProgress, now: int) -> list[Effect]:
    then = Then(_finished, (owned, progress))
    return append_txn(broker, owned, progress.txn.completed(now), now, then)


def _finished(
    broker: BrokerState, error: Error, now: int, owned: TxnPartition, progress: MarkerProgress
) -> list[Effect]:
    """Complete is written; or its append failed and is tried again by whoever coordinates (COMPLETE may be lost)."""
    if not _is_current(broker, owned, progress):
        return []
    if error is Error.NONE:
        del owned.markers[progress.txn.transactional_id]
        return []
    if error is Error.COORDINATOR_NOT_AVAILABLE:
        owned.pending[progress.txn.transactional_id] = progress.txn.completed(now).state
        return [SetTimer(RETRY_MS, Then(_finish_again, (owned, progress)), background=True)]
    return []


def _finish_again(
    broker: BrokerState, result: None, now: int, owned: TxnPartition, progress: MarkerProgress
) -> list[Effect]:
    return _finish(broker, owned, progress, now) if _is_current(broker, owned, progress) else []
