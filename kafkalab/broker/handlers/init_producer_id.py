"""InitProducerId: a producer id and an epoch for a transactional id; whoever held the id before is fenced
(docs/protocol.md#init-producer-id)."""

from __future__ import annotations

from dataclasses import replace

from kafkalab.broker.effects import Effects, Respond
from kafkalab.broker.state import BrokerState, TxnPartition
from kafkalab.broker.transaction_coordinator.decision import abort_fenced, fence
from kafkalab.broker.transaction_coordinator.guards import (
    check_init,
    check_init_request,
    expected_epoch,
    translate_error,
)
from kafkalab.broker.transaction_coordinator.log import append_txn
from kafkalab.broker.transaction_coordinator.markers import complete
from kafkalab.broker.transaction_coordinator.producer_ids import next_producer_id
from kafkalab.protocol.api import Header
from kafkalab.protocol.errors import Error, InvariantError
from kafkalab.protocol.messages.init_producer_id import InitProducerId, InitProducerIdResponse
from kafkalab.protocol.rules import ABORT_ON_INIT, BUMP_ON_INIT
from kafkalab.protocol.transaction_metadata import TWO_PHASE_TIMEOUT_MS, Txn, TxnState
from kafkalab.protocol.transition_tables.outcomes import Refuse, Same
from kafkalab.protocol.transition_tables.transaction import Ask, table_of

FENCED_SINCE = 4


def handle(broker: BrokerState, request: InitProducerId, header: Header) -> Effects[InitProducerIdResponse | None]:
    """Guards, then the table; the response waits until the record is replicated."""
    error = check_init_request(broker, request, header)
    if error is not Error.NONE:
        return InitProducerIdResponse(error=error)
    tid = request.transactional_id
    if tid is None:
        taken = yield from next_producer_id(broker)
        if taken is None:
            return InitProducerIdResponse(error=Error.COORDINATOR_LOAD_IN_PROGRESS)
        return InitProducerIdResponse(producer_id=taken, producer_epoch=0)
    if request.enable_2pc:
        request = replace(request, transaction_timeout_ms=TWO_PHASE_TIMEOUT_MS)
    owned = broker.coordinates(tid)
    if isinstance(owned, Error):
        return InitProducerIdResponse(error=owned)
    txn = yield from _known_or_new(broker, owned, tid, request.transaction_timeout_ms)
    if txn is None:
        return InitProducerIdResponse(error=Error.COORDINATOR_LOAD_IN_PROGRESS)
    error = check_init(broker, owned, txn, request)
    if error is not Error.NONE:
        return _refuse(broker, error, header)
    outcome = table_of(broker.transaction_version)[txn.state][Ask.INIT]
    if isinstance(outcome, Refuse):
        return _refuse(broker, outcome.error, header)
    if isinstance(outcome, Same) or outcome.state not in (TxnState.EMPTY, TxnState.PREPARE_ABORT):
        raise InvariantError(f"InitProducerId in {txn.state.label} leads to {outcome}")
    if outcome.state is TxnState.EMPTY or (not broker.rules.on(ABORT_ON_INIT) and not txn.exhausted):
        return (yield from _hand_out(broker, owned, txn, request, header))
    bump = broker.rules.on(BUMP_ON_INIT)
    aborted = yield from abort_fenced(broker, fence(owned, txn, bump), bump)
    if isinstance(aborted, Error):
        return _refuse(broker, aborted, header)
    yield Respond(_refuse(broker, Error.CONCURRENT_TRANSACTIONS, header))  # the client comes back for its epoch
    yield from complete(broker, owned, aborted)
    return None


def _refuse(broker: BrokerState, error: Error, header: Header) -> InitProducerIdResponse:
    return InitProducerIdResponse(error=translate_error(broker, error, header.version, FENCED_SINCE))


def _known_or_new(broker: BrokerState, owned: TxnPartition, tid: str, timeout_ms: int) -> Effects[Txn | None]:
    known = owned.txns.get(tid)
    if known is not None:
        return known
    taken = yield from next_producer_id(broker)
    if taken is None:
        return None
    new = Txn(transactional_id=tid, producer_id=taken, timeout_ms=timeout_ms, update_ms=broker.now)
    owned.txns[tid] = new
    return new


def _hand_out(
    broker: BrokerState, owned: TxnPartition, txn: Txn, request: InitProducerId, header: Header
) -> Effects[InitProducerIdResponse]:
    """Append the record with the next epoch, or with a new producer id, and hand it out."""
    new = yield from _next_identity(broker, txn, request)
    if isinstance(new, Error):
        return _refuse(broker, new, header)
    error = yield from append_txn(broker, owned, new)
    if error is not Error.NONE:
        return InitProducerIdResponse(error=error)
    return InitProducerIdResponse(producer_id=new.producer_id, producer_epoch=new.producer_epoch)


def _next_identity(broker: BrokerState, txn: Txn, request: InitProducerId) -> Effects[Txn | Error]:
    """The arithmetic of docs/protocol.md#epoch-arithmetic; without ABORT_ON_INIT an open transaction goes on under
    the next epoch."""
    step, timeout_ms = int(broker.rules.on(BUMP_ON_INIT)), request.transaction_timeout_ms
    if txn.state is TxnState.ONGOING:
        return replace(txn, producer_epoch=txn.producer_epoch + step, last_producer_epoch=-1, update_ms=broker.now)
    expected = expected_epoch(broker, request)
    if txn.exhausted and expected in (None, txn.producer_epoch):
        taken = yield from next_producer_id(broker)
        if taken is None:
            return Error.COORDINATOR_LOAD_IN_PROGRESS
        return txn.rotate_producer_id(taken, timeout_ms, broker.now, record_last_epoch=expected is not None)
    try:
        return txn.increment_epoch(timeout_ms, expected, broker.now, step=step)
    except InvariantError:
        return Error.UNKNOWN_SERVER_ERROR  # so does Kafka, where the increment throws before it compares
