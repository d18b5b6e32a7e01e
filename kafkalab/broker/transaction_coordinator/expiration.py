"""A coordinator's work by the clock: abort what is open too long, forget ids at rest too long
(docs/protocol.md#timeout)."""

from __future__ import annotations

from kafkalab.broker.effects import Append, AppendResult, Effects, Note, Spawn
from kafkalab.broker.state import BrokerState, TxnPartition
from kafkalab.broker.transaction_coordinator.decision import abort_fenced, fence
from kafkalab.broker.transaction_coordinator.markers import complete
from kafkalab.protocol.errors import Error, InvariantError
from kafkalab.protocol.records import Batch, Record
from kafkalab.protocol.rules import TIMEOUT_ABORT, TIMEOUT_BUMPS
from kafkalab.protocol.transaction_metadata import AT_REST, TWO_PHASE_TIMEOUT_MS, Txn, TxnState
from kafkalab.protocol.transition_tables.transaction import Ask, goes_to

TOMBSTONE_OVERHEAD_BYTES = 16


def abort_timed_out(broker: BrokerState) -> Effects[None]:
    """Abort what has been open longer than its timeout, under a raised epoch (docs/protocol.md#timeout)."""
    if not broker.rules.on(TIMEOUT_ABORT):
        return
    for owned in list(broker.transactions.values()):
        for tid, txn in list(owned.txns.items()):
            if tid not in owned.pending and _open_too_long(broker, txn):
                yield Note("timeout", {"transactional_id": tid, "timeout_ms": txn.timeout_ms})
                yield Spawn(_abort(broker, owned, txn))


def _abort(broker: BrokerState, owned: TxnPartition, txn: Txn) -> Effects[None]:
    bump = broker.rules.on(TIMEOUT_BUMPS)
    aborted = yield from abort_fenced(broker, fence(owned, txn, bump), bump)
    if isinstance(aborted, Txn):
        yield from complete(broker, owned, aborted)


def _open_too_long(broker: BrokerState, txn: Txn) -> bool:
    if txn.timeout_ms == TWO_PHASE_TIMEOUT_MS or txn.start_ms + txn.timeout_ms >= broker.now:
        return False
    state = goes_to(broker.transaction_version, txn.state, Ask.TIMEOUT)
    if state not in (None, TxnState.PREPARE_ABORT):
        raise InvariantError(f"{txn.transactional_id}: a transaction that is open too long goes to {state}")
    return state is not None


def remove_expired(broker: BrokerState) -> Effects[None]:
    """A tombstone for every id that has been at rest for transactional.id.expiration.ms; then the id is forgotten.

    Its next InitProducerId begins with a new producer id and epoch 0 (`removeExpiredTransactionalIds`).
    """
    for partition, owned in list(broker.transactions.items()):
        expired = [t for t in owned.txns.values() if _is_expired(broker, owned, t)]
        for txns in _batches(expired, broker.config.transaction_state_log_max_message_bytes):
            yield Spawn(_remove(broker, partition, owned, txns))


def _is_expired(broker: BrokerState, owned: TxnPartition, txn: Txn) -> bool:
    if txn.transactional_id in owned.pending or txn.state not in AT_REST:
        return False
    return txn.update_ms <= broker.now - broker.config.transactional_id_expiration_ms


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


def _remove(broker: BrokerState, partition: str, owned: TxnPartition, txns: list[Txn]) -> Effects[None]:
    """Append the tombstones; then forget the ids, if nothing else became of them meanwhile.

    After a failed append they stay, at rest.
    """
    for txn in txns:
        owned.pending[txn.transactional_id] = TxnState.DEAD
    batch = Batch(records=tuple(Record(t.transactional_id, None) for t in txns), timestamp_ms=broker.now)
    appended: AppendResult = yield Append(partition, batch, broker.config.request_timeout_ms)
    if broker.transactions.get(partition) is not owned:
        return
    for txn in txns:
        tid = txn.transactional_id
        known = owned.txns.get(tid)
        if known is None or owned.pending.get(tid) is not TxnState.DEAD:
            continue
        del owned.pending[tid]
        if appended.error is Error.NONE and known.producer_epoch == txn.producer_epoch:
            del owned.txns[tid]
            yield Note("transactional id expired", {"transactional_id": tid})
