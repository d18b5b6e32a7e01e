"""The decision: append PrepareCommit or PrepareAbort; once durable, answer, then the markers (facts 1.7 to 1.9)."""

from __future__ import annotations

from kafkalab.api.markers import complete, send_before_the_decision
from kafkalab.api.producer_ids import next_producer_id
from kafkalab.api.transaction_log import append_txn
from kafkalab.core.broker_state import BrokerState, TxnPartition
from kafkalab.core.effects import Effect, Then
from kafkalab.core.errors import Error
from kafkalab.core.transaction import Txn, TxnState
from kafkalab.rules import PREPARE_FIRST


def decide(
    broker: BrokerState, owned: TxnPartition, txn: Txn, state: TxnState, version: int, now: int, then: Then
) -> list[Effect]:
    """Write the decision. `then(broker, error, now, prepared, *args)` answers once it is durable, before any marker.

    Under version 2 the epoch rises with the decision; at the last epoch a new producer id is taken now, for after
    the completion.
    """
    next_id = -1
    effects: list[Effect] = []
    if version >= 2 and txn.exhausted:
        taken, effects = next_producer_id(broker)
        if taken is None:
            failed = then.function(broker, Error.COORDINATOR_LOAD_IN_PROGRESS, now, txn, *then.args)
            return [*effects, *failed]
        next_id = taken
    new = txn.prepared(state, version, now, next_id)
    if not broker.rules.on(PREPARE_FIRST):
        effects += send_before_the_decision(broker, owned, new, now)
    return [*effects, *append_txn(broker, owned, new, now, Then(_decided, (owned, new, then)))]


def _decided(broker: BrokerState, error: Error, now: int, owned: TxnPartition, new: Txn, then: Then) -> list[Effect]:
    answer = then.function(broker, error, now, new, *then.args)
    if error is not Error.NONE:
        owned.markers.pop(new.transactional_id, None)
        return answer
    return [*answer, *complete(broker, owned, new, now)]


def nobody(broker: BrokerState, error: Error, now: int, new: Txn) -> list[Effect]:
    """For decisions that nobody waits for: a timeout."""
    return []
