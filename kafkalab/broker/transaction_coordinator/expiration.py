"""What a coordinator does by the clock: abort what is open too long, forget ids at rest too long (facts 1.9, 1.10)."""

from __future__ import annotations

from kafkalab.broker.effects import Append, Appended, Effect, Note, Then
from kafkalab.broker.state import BrokerState, TxnPartition
from kafkalab.broker.transaction_coordinator.decision import abort_fenced, fence, nobody
from kafkalab.broker.transaction_coordinator.metadata import AT_REST, TWO_PHASE_TIMEOUT_MS, Txn, TxnState
from kafkalab.broker.transaction_coordinator.transition_table import Ask, goes_to
from kafkalab.protocol.errors import Error, IllegalStateError
from kafkalab.protocol.records import Batch, Record
from kafkalab.protocol.rules import TIMEOUT_ABORT, TIMEOUT_BUMPS

TOMBSTONE_OVERHEAD_BYTES = 16


def abort_timed_out(broker: BrokerState, result: None, now: int) -> list[Effect]:
    """Abort what has been open longer than its timeout, under a raised epoch (facts 1.9)."""
    effects: list[Effect] = []
    if not broker.rules.on(TIMEOUT_ABORT):
        return effects
    for owned in list(broker.transactions.values()):
        for tid, txn in list(owned.txns.items()):
            if tid in owned.pending or not _open_too_long(broker, txn, now):
                continue
            effects.append(Note("timeout", {"transactional_id": tid, "timeout_ms": txn.timeout_ms}))
            bump = broker.rules.on(TIMEOUT_BUMPS)
            effects += abort_fenced(broker, fence(owned, txn, bump), now, Then(nobody), bump)
    return effects


def _open_too_long(broker: BrokerState, txn: Txn, now: int) -> bool:
    if txn.timeout_ms == TWO_PHASE_TIMEOUT_MS or txn.start_ms + txn.timeout_ms >= now:
        return False
    state = goes_to(broker.transaction_version, txn.state, Ask.TIMEOUT)
    if state not in (None, TxnState.PREPARE_ABORT):
        raise IllegalStateError(f"{txn.transactional_id}: a transaction that is open too long goes to {state}")
    return state is not None


def remove_expired(broker: BrokerState, result: None, now: int) -> list[Effect]:
    """A tombstone for every id that has been at rest for transactional.id.expiration.ms; then the id is forgotten.

    Its next InitProducerId begins with a new producer id and epoch 0 (`removeExpiredTransactionalIds`).
    """
    effects: list[Effect] = []
    for partition, owned in broker.transactions.items():
        expired = [t for t in owned.txns.values() if _expired(broker, owned, t, now)]
        for txns in _batches(expired, broker.config.transaction_state_log_max_message_bytes):
            for txn in txns:
                owned.pending[txn.transactional_id] = TxnState.DEAD
            batch = Batch(records=tuple(Record(t.transactional_id, None) for t in txns), timestamp_ms=now)
            then = Then(_removed, (partition, owned, txns))
            effects.append(Append(partition, batch, broker.config.request_timeout_ms, then))
    return effects


def _expired(broker: BrokerState, owned: TxnPartition, txn: Txn, now: int) -> bool:
    if txn.transactional_id in owned.pending or txn.state not in AT_REST:
        return False
    return txn.update_ms <= now - broker.config.transactional_id_expiration_ms


def _batches(txns: list[Txn], limit_bytes: int) -> list[list[Txn]]:
    """The ids in order, in batches whose tombstones fit a message."""
    batches: list[list[Txn]] = []
    size = limit_bytes
    for txn in txns:
        needed = TOMBSTONE_OVERHEAD_BYTES + len(txn.transactional_id.encode())
        if size + needed > limit_bytes:
            batches.append([])
            size = 0
        batches[-1].append(txn)
        size += needed
    return batches


def _removed(
    broker: BrokerState, result: Appended, now: int, partition: str, owned: TxnPartition, txns: list[Txn]
) -> list[Effect]:
    """The ids are gone, if nothing else became of them meanwhile; after a failed append they stay, at rest."""
    if broker.transactions.get(partition) is not owned:
        return []
    effects: list[Effect] = []
    for txn in txns:
        tid = txn.transactional_id
        known = owned.txns.get(tid)
        if known is None or owned.pending.get(tid) is not TxnState.DEAD:
            continue
        del owned.pending[tid]
        if result.error is Error.NONE and known.producer_epoch == txn.producer_epoch:
            del owned.txns[tid]
            effects.append(Note("transactional id expired", {"transactional_id": tid}))
    return effects
