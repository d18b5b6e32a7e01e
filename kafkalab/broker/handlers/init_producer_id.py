"""InitProducerId: a producer id and an epoch for a transactional id; whoever held the id before is fenced (facts 2)."""

from __future__ import annotations

from dataclasses import replace

from kafkalab.broker.authorization import may_not_be_idempotent
from kafkalab.broker.effects import Effect, Respond, Then
from kafkalab.broker.state import BrokerState, TxnPartition
from kafkalab.broker.transaction_coordinator.decision import abort_fenced, fence
from kafkalab.broker.transaction_coordinator.error_translation import as_told
from kafkalab.broker.transaction_coordinator.log import append_txn
from kafkalab.broker.transaction_coordinator.metadata import PRODUCER_EPOCH_MAX, TWO_PHASE_TIMEOUT_MS, Txn, TxnState
from kafkalab.broker.transaction_coordinator.producer_ids import next_producer_id
from kafkalab.broker.transaction_coordinator.transition_table import Ask, Refuse, Same, table_of
from kafkalab.protocol.acls import TRANSACTIONAL_ID, TWO_PHASE_COMMIT, WRITE
from kafkalab.protocol.api import Header
from kafkalab.protocol.errors import Error, IllegalStateError
from kafkalab.protocol.messages.init_producer_id import InitProducerId, InitProducerIdResponse
from kafkalab.protocol.rules import ABORT_ON_INIT, BUMP_ON_INIT, KEEP_EPOCH_EXPECTED, TIMEOUT_MAXIMUM

FENCED_SINCE = 4


def handle(broker: BrokerState, request: InitProducerId, now: int, header: Header) -> list[Effect]:
    """The checks in Kafka's order, then the table; the answer waits until the record is replicated."""
    tid = request.transactional_id
    if (denied := _denied(broker, request, header)) is not Error.NONE:
        return _answer(denied)
    if (request.producer_id == -1) != (request.producer_epoch == -1):
        return _answer(Error.INVALID_REQUEST)
    if tid is None:
        taken, effects = next_producer_id(broker)
        if taken is None:
            return [*effects, *_answer(Error.COORDINATOR_LOAD_IN_PROGRESS)]
        return [*effects, Respond(InitProducerIdResponse(producer_id=taken, producer_epoch=0))]
    refused = _wrong_request(broker, request)
    if refused is not Error.NONE:
        return _answer(refused)
    if request.enable_2pc:
        request = replace(request, transaction_timeout_ms=TWO_PHASE_TIMEOUT_MS)
    owned = broker.coordinates(tid)
    if isinstance(owned, Error):
        return _answer(owned)
    txn, effects = _known_or_new(broker, owned, tid, request, now)
    if txn is None:
        return [*effects, *_answer(Error.COORDINATOR_LOAD_IN_PROGRESS)]
    return [*effects, *_initialise(broker, owned, txn, request, now, header.version)]


def _denied(broker: BrokerState, request: InitProducerId, header: Header) -> Error:
    """Facts 2.1, step 1."""
    tid = request.transactional_id
    if tid is None:
        return Error.CLUSTER_AUTHORIZATION_FAILED if may_not_be_idempotent(broker, header) else Error.NONE
    needed = (WRITE, TWO_PHASE_COMMIT) if request.enable_2pc else (WRITE,)
    denied = any(broker.denies(header.sender, operation, TRANSACTIONAL_ID, tid) for operation in needed)
    return Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED if denied else Error.NONE


def _wrong_request(broker: BrokerState, request: InitProducerId) -> Error:
    """Facts 2.1, steps 4 to 7."""
    config = broker.config
    if request.transactional_id == "":
        return Error.INVALID_REQUEST
    if request.enable_2pc and not config.transaction_two_phase_commit_enable:
        return Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    if request.keep_prepared_txn:
        return Error.UNSUPPORTED_VERSION
    longest = config.transaction_max_timeout_ms if broker.rules.on(TIMEOUT_MAXIMUM) else TWO_PHASE_TIMEOUT_MS
    if not request.enable_2pc and not 0 < request.transaction_timeout_ms <= longest:
        return Error.INVALID_TRANSACTION_TIMEOUT
    return Error.NONE


def _known_or_new(
    broker: BrokerState, owned: TxnPartition, tid: str, request: InitProducerId, now: int
) -> tuple[Txn | None, list[Effect]]:
    known = owned.txns.get(tid)
    if known is not None:
        return known, []
    taken, effects = next_producer_id(broker)
    if taken is None:
        return None, effects
    new = Txn(transactional_id=tid, producer_id=taken, timeout_ms=request.transaction_timeout_ms, update_ms=now)
    owned.txns[tid] = new
    return new, effects


def _initialise(
    broker: BrokerState, owned: TxnPartition, txn: Txn, request: InitProducerId, now: int, version: int
) -> list[Effect]:
    expected = request.producer_epoch if request.producer_id != -1 and broker.rules.on(KEEP_EPOCH_EXPECTED) else None
    if txn.transactional_id in owned.pending:
        return _answer(Error.CONCURRENT_TRANSACTIONS)
    if expected is not None and not _may_expect(txn, request):
        return _answer(as_told(broker, Error.PRODUCER_FENCED, version, FENCED_SINCE))
    outcome = table_of(broker.transaction_version)[txn.state][Ask.INIT]
    if isinstance(outcome, Refuse):
        return _answer(outcome.error)
    if isinstance(outcome, Same) or outcome.state not in (TxnState.EMPTY, TxnState.PREPARE_ABORT):
        raise IllegalStateError(f"InitProducerId in {txn.state.label} leads to {outcome}")
    if outcome.state is TxnState.EMPTY:
        return _hand_out(broker, owned, txn, request.transaction_timeout_ms, expected, now, version)
    bump = broker.rules.on(BUMP_ON_INIT)
    if not broker.rules.on(ABORT_ON_INIT) and not txn.exhausted:
        joined = replace(txn, producer_epoch=txn.producer_epoch + int(bump), last_producer_epoch=-1, update_ms=now)
        return append_txn(broker, owned, joined, now, Then(_handed_out, (joined,)))
    return abort_fenced(broker, fence(owned, txn, bump), now, Then(_predecessor_aborted, (version,)), bump)


def _may_expect(txn: Txn, request: InitProducerId) -> bool:
    """Facts 2.1 step 11."""
    if txn.producer_epoch == -1 or request.producer_id == txn.producer_id:
        return True
    return request.producer_id == txn.prev_producer_id and request.producer_epoch >= PRODUCER_EPOCH_MAX - 1


def _hand_out(
    broker: BrokerState,
    owned: TxnPartition,
    txn: Txn,
    timeout_ms: int,
    expected: int | None,
    now: int,
    version: int,
) -> list[Effect]:
    """The arithmetic of facts 2.3, then the append."""
    effects: list[Effect] = []
    if txn.exhausted and expected in (None, txn.producer_epoch):
        taken, effects = next_producer_id(broker)
        if taken is None:
            return [*effects, *_answer(Error.COORDINATOR_LOAD_IN_PROGRESS)]
        new: Txn | Error = txn.rotated(taken, timeout_ms, now, record_last_epoch=expected is not None)
    else:
        try:
            new = txn.incremented(timeout_ms, expected, now, step=int(broker.rules.on(BUMP_ON_INIT)))
        except IllegalStateError:
            new = Error.UNKNOWN_SERVER_ERROR  # so does Kafka, where the increment throws before it compares
    if isinstance(new, Error):
        return _answer(as_told(broker, new, version, FENCED_SINCE))
    return [*effects, *append_txn(broker, owned, new, now, Then(_handed_out, (new,)))]


def _handed_out(broker: BrokerState, error: Error, now: int, new: Txn) -> list[Effect]:
    if error is not Error.NONE:
        return _answer(error)
    return [Respond(InitProducerIdResponse(producer_id=new.producer_id, producer_epoch=new.producer_epoch))]


def _predecessor_aborted(broker: BrokerState, error: Error, now: int, new: Txn, version: int) -> list[Effect]:
    """The caller comes back for its epoch once the unfinished transaction of its predecessor is aborted."""
    error = Error.CONCURRENT_TRANSACTIONS if error is Error.NONE else error
    return _answer(as_told(broker, error, version, FENCED_SINCE))


def _answer(error: Error) -> list[Effect]:
    return [Respond(InitProducerIdResponse(error=error))]
