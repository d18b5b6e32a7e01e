"""How a coordinator writes `__transaction_state`: pend, append, apply once durable (facts 1.3, 1.4)."""

from __future__ import annotations

from kafkalab.broker.effects import Append, Appended, Effect, Note, Then
from kafkalab.broker.state import BrokerState, TxnPartition
from kafkalab.broker.transaction_coordinator.metadata import Txn
from kafkalab.broker.transaction_coordinator.transition_check import check_transition
from kafkalab.protocol.errors import Error, IllegalStateError
from kafkalab.protocol.partitions import transaction_partition
from kafkalab.protocol.records import Batch, Record
from kafkalab.protocol.rules import ABORT_ON_INIT

TRANSLATED = {
    Error.UNKNOWN_TOPIC_OR_PARTITION: Error.COORDINATOR_NOT_AVAILABLE,
    Error.NOT_ENOUGH_REPLICAS: Error.COORDINATOR_NOT_AVAILABLE,
    Error.NOT_ENOUGH_REPLICAS_AFTER_APPEND: Error.COORDINATOR_NOT_AVAILABLE,
    Error.REQUEST_TIMED_OUT: Error.COORDINATOR_NOT_AVAILABLE,
    Error.NOT_LEADER_OR_FOLLOWER: Error.NOT_COORDINATOR,
    Error.KAFKA_STORAGE_ERROR: Error.NOT_COORDINATOR,
    Error.MESSAGE_TOO_LARGE: Error.UNKNOWN_SERVER_ERROR,
    Error.RECORD_LIST_TOO_LARGE: Error.UNKNOWN_SERVER_ERROR,
}
"""How a failed append is told to whoever asked for it; any other error is told as it is."""


def note(owned: TxnPartition, txn: Txn) -> Note:
    """The state event that pictures and checks read."""
    pending = owned.pending.get(txn.transactional_id)
    return Note(
        "transaction",
        {
            "transactional_id": txn.transactional_id,
            "state": txn.state.label,
            "pending": pending.label if pending else "",
            "producer_id": txn.producer_id,
            "producer_epoch": txn.producer_epoch,
            "partitions": txn.partitions,
        },
    )


def append_txn(
    broker: BrokerState, owned: TxnPartition, new: Txn, now: int, then: Then, retry: bool = False
) -> list[Effect]:
    """Pend and append `new`; once all in-sync replicas have it, it is the state, and `then` gets Error.NONE.

    On failure the state is unchanged, the pending state is cleared, and `then` gets the translated error; with `retry`
    the pending state outlives COORDINATOR_NOT_AVAILABLE, for the caller to append again. If the partition has moved
    meanwhile nothing is applied: `then` gets NOT_COORDINATOR, or COORDINATOR_LOAD_IN_PROGRESS during the next load.
    The append's timeout is the transaction's own (`TransactionStateManager.appendTransactionToLog`).
    IllegalStateError: another transition is pending, or, once durable, `new` cannot follow the state.
    """
    partition = transaction_partition(new.transactional_id)
    if broker.transactions.get(partition) is not owned or new.transactional_id not in owned.txns:
        return then.function(broker, Error.NOT_COORDINATOR, now, *then.args)
    pending = owned.pending.setdefault(new.transactional_id, new.state)
    if pending is not new.state:
        raise IllegalStateError(f"{new.transactional_id}: {new.state.label} while {pending.label} is pending")
    batch = Batch(records=(Record(new.transactional_id, new),), timestamp_ms=now)
    after = Then(_appended, (owned.coordinator_epoch, new, then, retry))
    return [Append(partition, batch, new.timeout_ms, after)]


def _appended(
    broker: BrokerState, result: Appended, now: int, coordinator_epoch: int, new: Txn, then: Then, retry: bool
) -> list[Effect]:
    tid = new.transactional_id
    error = TRANSLATED.get(result.error, result.error)
    owned = broker.coordinates(tid)
    if isinstance(owned, Error) or owned.coordinator_epoch != coordinator_epoch or tid not in owned.txns:
        if error is Error.NONE:
            error = owned if isinstance(owned, Error) else Error.NOT_COORDINATOR
        return then.function(broker, error, now, *then.args)
    if error is Error.NONE:
        pending = owned.pending.pop(tid, None)
        if broker.rules.on(ABORT_ON_INIT):  # without it, a new instance raises the epoch of an open transaction
            check_transition(owned.txns[tid], pending, new)
        owned.txns[tid] = new
        return [note(owned, new), *then.function(broker, error, now, *then.args)]
    if not (retry and error is Error.COORDINATOR_NOT_AVAILABLE):
        owned.pending.pop(tid, None)
    return then.function(broker, error, now, *then.args)
