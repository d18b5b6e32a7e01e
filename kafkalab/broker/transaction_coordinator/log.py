"""A coordinator's writes to `__transaction_state`: pend, append, apply once durable
(docs/protocol.md#pending-states)."""

from __future__ import annotations

from dataclasses import replace

from kafkalab.broker.effects import Append, AppendResult, Effects, Note
from kafkalab.broker.state import BrokerState, TxnPartition
from kafkalab.protocol.errors import Error, InvariantError
from kafkalab.protocol.partitions import transaction_partition
from kafkalab.protocol.records import Batch, Record
from kafkalab.protocol.rules import ABORT_ON_INIT
from kafkalab.protocol.transaction_metadata import Txn, check_transition

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
"""The error of a failed append, for whoever asked for it; any other error stays as it is."""


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


def append_txn(broker: BrokerState, owned: TxnPartition, new: Txn, retry: bool = False) -> Effects[Error]:
    """Pend and append `new`; once all in-sync replicas have it, it is the state. Return NONE, or the translated error.

    After a failure the state is unchanged and the pending state cleared; with `retry` it outlives
    COORDINATOR_NOT_AVAILABLE, for the caller to append again. If the partition has moved meanwhile nothing is applied:
    NOT_COORDINATOR, or COORDINATOR_LOAD_IN_PROGRESS during the next load. The append's timeout is the transaction's
    own (`TransactionStateManager.appendTransactionToLog`).

    At level 0 of `transaction.version` a record has no fields of KIP-890, so a request of version 2 is
    UNSUPPORTED_VERSION; as Kafka throws there, the state stays pending until the next load (`TransactionLog`).
    InvariantError: another transition is pending, or, once durable, `new` cannot follow the state.
    """
    tid = new.transactional_id
    partition, coordinator_epoch = transaction_partition(tid), owned.coordinator_epoch
    if broker.transactions.get(partition) is not owned or tid not in owned.txns:
        return Error.NOT_COORDINATOR
    pending = owned.pending.setdefault(tid, new.state)
    if pending is not new.state:
        raise InvariantError(f"{tid}: {new.state.label} while {pending.label} is pending")
    value = new
    if broker.transaction_version == 0:
        if new.client_transaction_version > 0:
            return Error.UNSUPPORTED_VERSION
        value = replace(new, prev_producer_id=-1, next_producer_id=-1)
    batch = Batch(records=(Record(tid, value),), timestamp_ms=broker.now)
    appended: AppendResult = yield Append(partition, batch, new.timeout_ms)
    error = appended.error
    if error is not Error.NONE:
        error = TRANSLATED.get(error, error)
    holder = broker.coordinates(tid)
    if isinstance(holder, Error) or holder.coordinator_epoch != coordinator_epoch or tid not in holder.txns:
        if error is not Error.NONE:
            return error
        return holder if isinstance(holder, Error) else Error.NOT_COORDINATOR
    if error is Error.NONE:
        was_pending = holder.pending.pop(tid, None)
        if broker.rules.on(ABORT_ON_INIT):  # without it, a new instance raises the epoch of an open transaction
            check_transition(holder.txns[tid], was_pending, new)
        holder.txns[tid] = new
        yield note(holder, new)
    elif not (retry and error is Error.COORDINATOR_NOT_AVAILABLE):
        holder.pending.pop(tid, None)
    return error
