"""How a coordinator writes `__transaction_state`: pend, append, apply once durable (facts 1.3, 1.4)."""

from __future__ import annotations

from kafkalab.core.broker_state import BrokerState, TxnPartition
from kafkalab.core.effects import Append, Appended, Effect, Note, Then
from kafkalab.core.errors import Error
from kafkalab.core.partitions import transaction_partition
from kafkalab.core.records import Batch, Record
from kafkalab.core.transaction import Txn

TRANSLATED = {
    Error.UNKNOWN_TOPIC_OR_PARTITION: Error.COORDINATOR_NOT_AVAILABLE,
    Error.NOT_ENOUGH_REPLICAS: Error.COORDINATOR_NOT_AVAILABLE,
    Error.NOT_ENOUGH_REPLICAS_AFTER_APPEND: Error.COORDINATOR_NOT_AVAILABLE,
    Error.REQUEST_TIMED_OUT: Error.COORDINATOR_NOT_AVAILABLE,
    Error.NOT_LEADER_OR_FOLLOWER: Error.NOT_COORDINATOR,
}


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


def append_txn(broker: BrokerState, owned: TxnPartition, new: Txn, now: int, then: Then) -> list[Effect]:
    """Pend and append `new`; once all in-sync replicas have it, it is the state, and `then` gets Error.NONE.

    On failure the pending state is cleared, the state is unchanged, and `then` gets the translated error. The
    append's timeout is the transaction's own.
    """
    owned.pending[new.transactional_id] = new.state
    batch = Batch(records=(Record(new.transactional_id, new),), timestamp_ms=now)
    partition = transaction_partition(new.transactional_id)
    return [Append(partition, batch, new.timeout_ms, Then(_appended, (new, owned.coordinator_epoch, then)))]


def _appended(
    broker: BrokerState, result: Appended, now: int, new: Txn, coordinator_epoch: int, then: Then
) -> list[Effect]:
    owned = broker.transactions.get(transaction_partition(new.transactional_id))
    if owned is None or owned.coordinator_epoch != coordinator_epoch:
        return then.function(broker, Error.NOT_COORDINATOR, now, *then.args)
    error = TRANSLATED.get(result.error, result.error)
    owned.pending.pop(new.transactional_id, None)
    if error is not Error.NONE:
        return then.function(broker, error, now, *then.args)
    owned.txns[new.transactional_id] = new
    return [note(owned, new), *then.function(broker, error, now, *then.args)]
