"""InitProducerId: a producer id and an epoch for a transactional id; whoever held the id before is fenced (facts 2)."""

from __future__ import annotations

from dataclasses import dataclass

from kafkalab.api.api import Api, Header
from kafkalab.api.authorisation import may_not_be_idempotent
from kafkalab.api.ending import decide
from kafkalab.api.producer_ids import next_producer_id
from kafkalab.api.transaction_log import append_txn
from kafkalab.core.acls import TRANSACTIONAL_ID, WRITE
from kafkalab.core.broker_state import BrokerState, TxnPartition
from kafkalab.core.effects import Effect, Reply, Then
from kafkalab.core.errors import Error
from kafkalab.core.transaction import PRODUCER_EPOCH_MAX, Txn, TxnState
from kafkalab.core.txn_table import TABLES, Ask, Refuse, Same


@dataclass(frozen=True, slots=True, kw_only=True)
class InitProducerId:
    """`producer_id` and `producer_epoch` are what the caller believes to hold, -1 for no expectation (KIP-360)."""

    transactional_id: str | None
    transaction_timeout_ms: int = 60_000
    producer_id: int = -1
    producer_epoch: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class InitProducerIdReply:
    error: Error = Error.NONE
    producer_id: int = -1
    producer_epoch: int = -1


def handle(broker: BrokerState, request: InitProducerId, now: int, header: Header) -> list[Effect]:
    """The checks in Kafka's order, then the table; the answer waits until the record is replicated."""
    tid = request.transactional_id
    if (refused := _refused(broker, tid, header)) is not Error.NONE:
        return _answer(refused)
    if (request.producer_id == -1) != (request.producer_epoch == -1):
        return _answer(Error.INVALID_REQUEST)
    if tid is None:
        taken, effects = next_producer_id(broker)
        if taken is None:
            return [*effects, *_answer(Error.COORDINATOR_LOAD_IN_PROGRESS)]
        return [*effects, Reply(InitProducerIdReply(producer_id=taken, producer_epoch=0))]
    if tid == "":
        return _answer(Error.INVALID_REQUEST)
    if not 0 < request.transaction_timeout_ms <= broker.config.transaction_max_timeout_ms:
        return _answer(Error.INVALID_TRANSACTION_TIMEOUT)
    owned = broker.coordinates(tid)
    if isinstance(owned, Error):
        return _answer(owned)
    txn, effects = _known_or_new(broker, owned, tid, request)
    if txn is None:
        return [*effects, *_answer(Error.COORDINATOR_LOAD_IN_PROGRESS)]
    return [*effects, *_initialise(broker, owned, txn, request, now)]


def _refused(broker: BrokerState, tid: str | None, header: Header) -> Error:
    if tid is None:
        return Error.CLUSTER_AUTHORIZATION_FAILED if may_not_be_idempotent(broker, header) else Error.NONE
    denied = broker.denies(header.sender, WRITE, TRANSACTIONAL_ID, tid)
    return Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED if denied else Error.NONE


def _known_or_new(
    broker: BrokerState, owned: TxnPartition, tid: str, request: InitProducerId
) -> tuple[Txn | None, list[Effect]]:
    known = owned.txns.get(tid)
    if known is not None:
        return known, []
    taken, effects = next_producer_id(broker)
    if taken is None:
        return None, effects
    new = Txn(transactional_id=tid, producer_id=taken, timeout_ms=request.transaction_timeout_ms)
    owned.txns[tid] = new
    return new, effects


def _initialise(broker: BrokerState, owned: TxnPartition, txn: Txn, request: InitProducerId, now: int) -> list[Effect]:
    if txn.transactional_id in owned.pending:
        return _answer(Error.CONCURRENT_TRANSACTIONS)
    if request.producer_id != -1 and not _may_expect(txn, request):
        return _answer(Error.PRODUCER_FENCED)
    outcome = TABLES["TV2"][txn.state][Ask.INIT]
    assert not isinstance(outcome, Same), "InitProducerId always writes or refuses"
    if isinstance(outcome, Refuse):
        return _answer(outcome.error)
    if outcome.state is TxnState.PREPARE_ABORT:
        version = broker.rules.cluster_version
        return decide(broker, owned, txn, outcome.state, version, now, Then(_predecessor_aborted))
    return _hand_out(broker, owned, txn, request, now)


def _may_expect(txn: Txn, request: InitProducerId) -> bool:
    """Facts 2.1 step 11."""
    if txn.producer_epoch == -1 or request.producer_id == txn.producer_id:
        return True
    return request.producer_id == txn.prev_producer_id and request.producer_epoch >= PRODUCER_EPOCH_MAX - 1


def _hand_out(broker: BrokerState, owned: TxnPartition, txn: Txn, request: InitProducerId, now: int) -> list[Effect]:
    """The arithmetic of facts 2.3, then the append."""
    expected, current = request.producer_epoch, txn.producer_epoch
    producer_id, epoch, last = txn.producer_id, current + 1, -1
    effects: list[Effect] = []
    if expected not in (-1, current) and current != -1:
        if txn.exhausted:
            return _answer(Error.UNKNOWN_SERVER_ERROR)  # Kafka's increment throws here
        if expected != txn.last_producer_epoch:
            return _answer(Error.PRODUCER_FENCED)
        epoch, last = current, expected
    elif txn.exhausted:
        taken, effects = next_producer_id(broker)
        if taken is None:
            return [*effects, *_answer(Error.COORDINATOR_LOAD_IN_PROGRESS)]
        producer_id, epoch, last = taken, 0, -1 if expected == -1 else current
    elif expected != -1:
        last = current
    new = txn.initialised(producer_id, epoch, last, request.transaction_timeout_ms, now)
    return [*effects, *append_txn(broker, owned, new, now, Then(_handed_out, (new,)))]


def _handed_out(broker: BrokerState, error: Error, now: int, new: Txn) -> list[Effect]:
    if error is not Error.NONE:
        return _answer(error)
    return [Reply(InitProducerIdReply(producer_id=new.producer_id, producer_epoch=new.producer_epoch))]


def _predecessor_aborted(broker: BrokerState, error: Error, now: int, new: Txn) -> list[Effect]:
    """The caller comes back for its epoch once the unfinished transaction of its predecessor is aborted."""
    return _answer(Error.CONCURRENT_TRANSACTIONS if error is Error.NONE else error)


def _answer(error: Error) -> list[Effect]:
    return [Reply(InitProducerIdReply(error=error))]


API = Api(
    22,
    range(0, 6),
    InitProducerId,
    InitProducerIdReply,
    handle,
    "transaction",
    "Asks for the producer id and epoch of this transactional id. The epoch rises, so an older instance is fenced.",
)
