"""What must hold when an appended record becomes the state (`TransactionMetadata.completeTransitionTo`, facts 1.3)."""

from __future__ import annotations

from kafkalab.broker.transaction_coordinator.metadata import PREPARED, Txn, TxnState
from kafkalab.protocol.errors import IllegalStateError


def check_transition(current: Txn, pending: TxnState | None, new: Txn) -> None:
    """Nothing, if `new` can follow `current` and was pending; else IllegalStateError: a mistake of a coordinator."""
    if pending is not new.state:
        raise IllegalStateError(f"{current.transactional_id}: {new.state.label} is not what was pending: {pending}")
    if not _follows(current, new):
        raise IllegalStateError(f"{current.transactional_id}: {new} cannot follow {current}")


def _follows(current: Txn, new: Txn) -> bool:
    same = (new.producer_id, new.producer_epoch) == (current.producer_id, current.producer_epoch)
    if new.state is TxnState.EMPTY:
        fresh = new.producer_id != current.producer_id and new.producer_epoch == 0
        bumped = new.producer_epoch in (current.producer_epoch, current.producer_epoch + 1)
        return (fresh or bumped) and not new.partitions and new.start_ms == -1
    if new.timeout_ms != current.timeout_ms:
        return False
    if new.state is TxnState.ONGOING:
        return same and set(current.partitions) <= set(new.partitions)
    if new.state in PREPARED:
        bumped = new.producer_id == current.producer_id and new.last_producer_epoch == current.producer_epoch
        started = new.start_ms == current.start_ms or (current.state is not TxnState.ONGOING and not new.partitions)
        by_version = bumped if new.client_transaction_version >= 2 else same
        return by_version and started and new.partitions == current.partitions
    if new.state in (TxnState.COMPLETE_COMMIT, TxnState.COMPLETE_ABORT):
        due = (new.producer_id, new.producer_epoch) == (current.next_producer_id, 0)
        kept = new.last_producer_epoch == current.last_producer_epoch and new.prev_producer_id == current.producer_id
        return (same or (due and kept)) and new.start_ms != -1
    return False  # Dead and PrepareEpochFence are pending states only
