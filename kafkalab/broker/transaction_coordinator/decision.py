"""The decision: append PrepareCommit or PrepareAbort; once durable, answer, then the markers (facts 1.7 to 1.9).

A coordinator that ends a transaction itself, because a new instance comes or time is up, fences first: `fence`, then
`abort_fenced` (Kafka: `prepareFenceProducerEpoch`, then `endTransaction` with `isFromClient = false`).
"""

from __future__ import annotations

from dataclasses import replace

from kafkalab.broker.effects import Effect, Then
from kafkalab.broker.state import BrokerState, TxnPartition
from kafkalab.broker.transaction_coordinator.log import append_txn
from kafkalab.broker.transaction_coordinator.markers import complete, send_before_the_decision
from kafkalab.broker.transaction_coordinator.metadata import FENCE, Txn, TxnState
from kafkalab.broker.transaction_coordinator.producer_ids import next_producer_id
from kafkalab.broker.transaction_coordinator.transition_table import Ask, Go, Refuse, table_of
from kafkalab.protocol.errors import Error, IllegalStateError
from kafkalab.protocol.rules import EPOCH_PER_TRANSACTION, FENCE_BUMPS_ONCE, FENCE_ROTATES, PREPARE_FIRST


def decide(
    broker: BrokerState, owned: TxnPartition, txn: Txn, state: TxnState, version: int, now: int, then: Then
) -> list[Effect]:
    """Write the decision. `then(broker, error, now, prepared, *args)` answers once it is durable, before any marker.

    Under version 2 the epoch rises with the decision; at the last epoch a new producer id is taken now, for after
    the completion.
    """
    fencing = owned.pending.get(txn.transactional_id) is FENCE
    if fencing and state is TxnState.PREPARE_ABORT:
        del owned.pending[txn.transactional_id]
    next_id = -1
    effects: list[Effect] = []
    if version >= 2 and txn.exhausted and (not fencing or broker.rules.on(FENCE_ROTATES)):
        taken, effects = next_producer_id(broker)
        if taken is None:
            failed = then.function(broker, Error.COORDINATOR_LOAD_IN_PROGRESS, now, txn, *then.args)
            return [*effects, *failed]
        next_id = taken
    new = txn.prepared(state, version, now, next_id)
    if not broker.rules.on(PREPARE_FIRST):
        effects += send_before_the_decision(broker, owned, new, now)
    after = Then(_decided, (owned, new, fencing and version < 2, then))
    return [*effects, *append_txn(broker, owned, new, now, after)]


def _decided(
    broker: BrokerState, error: Error, now: int, owned: TxnPartition, new: Txn, raised: bool, then: Then
) -> list[Effect]:
    """`raised` says that the epoch was raised in memory before the append, which must not happen twice."""
    answer = then.function(broker, error, now, new, *then.args)
    if error is not Error.NONE:
        owned.markers.pop(new.transactional_id, None)
        if raised:
            owned.failed_fences[new.transactional_id] = None
        return answer
    owned.failed_fences.pop(new.transactional_id, None)
    return [*answer, *complete(broker, owned, new, now)]


def fence(owned: TxnPartition, txn: Txn, bump: bool = True) -> Txn:
    """PrepareEpochFence is pending; what comes back has the epoch for `abort_fenced`. The state is as before."""
    fenced = txn.fenced(txn.transactional_id in owned.failed_fences, step=int(bump))
    owned.pending[txn.transactional_id] = FENCE
    return fenced


def abort_fenced(broker: BrokerState, fenced: Txn, now: int, then: Then, bump: bool = True) -> list[Effect]:
    """The coordinator's own abort, under the cluster's version; `then` as in `decide`.

    It looks the transaction up anew: PRODUCER_FENCED if its epoch is by now higher than that of the fence. Under
    versions 0 and 1 the epoch is raised in memory before the append; under version 2 the append raises it.
    """
    version = 2 if bump and broker.transaction_version >= 2 and broker.rules.on(EPOCH_PER_TRANSACTION) else 0
    tid = fenced.transactional_id
    owned = broker.coordinates(tid)
    txn = None if isinstance(owned, Error) else owned.txns.get(tid)
    if isinstance(owned, Error) or txn is None:
        error = owned if isinstance(owned, Error) else Error.INVALID_PRODUCER_ID_MAPPING
        return then.function(broker, error, now, fenced, *then.args)
    outcome = table_of(version)[txn.state][Ask.ABORT]
    error = _refusal(owned, txn, fenced)
    if error is Error.NONE and isinstance(outcome, Refuse):
        error = outcome.error
    if error is not Error.NONE:
        return then.function(broker, error, now, fenced, *then.args)
    if not isinstance(outcome, Go):
        raise IllegalStateError(f"{tid}: an open transaction can always be aborted, in {txn.state.label} there is none")
    at_once = version < 2 or not broker.rules.on(FENCE_BUMPS_ONCE)
    if at_once and owned.pending.get(tid) is FENCE:
        txn = owned.txns[tid] = replace(txn, producer_epoch=fenced.producer_epoch, last_producer_epoch=-1)
    return decide(broker, owned, txn, outcome.state, version, now, then)


def _refusal(owned: TxnPartition, txn: Txn, fenced: Txn) -> Error:
    if txn.producer_id != fenced.producer_id:
        return Error.INVALID_PRODUCER_ID_MAPPING
    if fenced.producer_epoch < txn.producer_epoch:
        return Error.PRODUCER_FENCED
    pending = owned.pending.get(txn.transactional_id)
    return Error.NONE if pending in (None, FENCE) else Error.CONCURRENT_TRANSACTIONS


def nobody(broker: BrokerState, error: Error, now: int, new: Txn) -> list[Effect]:
    """For decisions that nobody waits for: a timeout."""
    return []
