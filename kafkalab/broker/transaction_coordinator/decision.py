"""The decision: append PrepareCommit or PrepareAbort; once it is durable, respond, then `complete`
(docs/protocol.md#end-txn).

A coordinator that ends a transaction itself, because a new instance comes or time is up, fences first: `fence`, then
`abort_fenced` (Kafka: `prepareFenceProducerEpoch`, then `endTransaction` with `isFromClient = false`).
"""

from __future__ import annotations

from dataclasses import replace

from kafkalab.broker.effects import Effects
from kafkalab.broker.state import BrokerState, TxnPartition
from kafkalab.broker.transaction_coordinator.guards import check_fence
from kafkalab.broker.transaction_coordinator.log import append_txn
from kafkalab.broker.transaction_coordinator.markers import send_before_the_decision
from kafkalab.broker.transaction_coordinator.producer_ids import next_producer_id
from kafkalab.protocol.errors import Error, IllegalArgumentError, InvariantError
from kafkalab.protocol.rules import EPOCH_PER_TRANSACTION, FENCE_BUMPS_ONCE, FENCE_ROTATES, PREPARE_FIRST
from kafkalab.protocol.transaction_metadata import FENCE, Txn, TxnState
from kafkalab.protocol.transition_tables.outcomes import Refuse
from kafkalab.protocol.transition_tables.transaction import Ask, Go, table_of


def decide(
    broker: BrokerState, owned: TxnPartition, txn: Txn, state: TxnState, version: int
) -> Effects[Txn | Error]:
    """Append the decision; return it once it is durable, or the error.

    The caller responds, then lets the markers be written: `complete`. Under version 2 the epoch rises with the
    decision; at the last epoch a new producer id is taken now, for after the completion.
    """
    tid = txn.transactional_id
    fencing = owned.pending.get(tid) is FENCE
    if fencing and state is TxnState.PREPARE_ABORT:
        del owned.pending[tid]
    next_id = -1
    if version >= 2 and txn.exhausted and (not fencing or broker.rules.on(FENCE_ROTATES)):
        taken = yield from next_producer_id(broker)
        if taken is None:
            return Error.COORDINATOR_LOAD_IN_PROGRESS
        next_id = taken
    try:
        prepared = txn.prepare(state, version, broker.now, next_id)
    except IllegalArgumentError:
        return Error.UNKNOWN_SERVER_ERROR  # a commit at epoch 32767: so does Kafka, which throws there
    if not broker.rules.on(PREPARE_FIRST):
        yield from send_before_the_decision(broker, owned, prepared)
    error = yield from append_txn(broker, owned, prepared)
    if error is Error.NONE:
        owned.failed_fences.pop(tid, None)
        return prepared
    owned.markers.pop(tid, None)
    if fencing and version < 2:  # the epoch was raised in memory before the append, which must not happen twice
        owned.failed_fences[tid] = None
    return error


def fence(owned: TxnPartition, txn: Txn, bump: bool = True) -> Txn:
    """PrepareEpochFence is pending; what comes back has the epoch for `abort_fenced`. The state is as before."""
    fenced = txn.fence(txn.transactional_id in owned.failed_fences, step=int(bump))
    owned.pending[txn.transactional_id] = FENCE
    return fenced


def abort_fenced(broker: BrokerState, fenced: Txn, bump: bool = True) -> Effects[Txn | Error]:
    """The coordinator's own abort, under the cluster's version; returns what `decide` does.

    The transaction is looked up again: PRODUCER_FENCED if its epoch is by now higher than that of the fence. Under
    versions 0 and 1 the epoch is raised in memory before the append; under version 2 the append raises it.
    """
    version = 2 if bump and broker.transaction_version >= 2 and broker.rules.on(EPOCH_PER_TRANSACTION) else 0
    tid = fenced.transactional_id
    found = check_fence(broker, fenced)
    if isinstance(found, Error):
        return found
    owned, txn = found
    outcome = table_of(version)[txn.state][Ask.ABORT]
    if isinstance(outcome, Refuse):
        return outcome.error
    if not isinstance(outcome, Go):
        raise InvariantError(f"{tid}: an open transaction can always be aborted, in {txn.state.label} there is none")
    at_once = version < 2 or not broker.rules.on(FENCE_BUMPS_ONCE)
    if at_once and owned.pending.get(tid) is FENCE:
        txn = owned.txns[tid] = replace(txn, producer_epoch=fenced.producer_epoch, last_producer_epoch=-1)
    return (yield from decide(broker, owned, txn, outcome.state, version))
