"""EndTxn: the producer decides. Once PrepareCommit or PrepareAbort is in the log, the outcome can no longer change."""

from __future__ import annotations

from kafkalab.broker.effects import Effect, Respond, Then
from kafkalab.broker.state import BrokerState, TxnPartition
from kafkalab.broker.transaction_coordinator.decision import decide
from kafkalab.broker.transaction_coordinator.error_translation import as_told
from kafkalab.broker.transaction_coordinator.metadata import FENCE, PREPARED, PRODUCER_EPOCH_MAX, Txn, TxnState
from kafkalab.broker.transaction_coordinator.transition_table import Ask, Refuse, Same, table_of
from kafkalab.protocol.acls import TRANSACTIONAL_ID, WRITE
from kafkalab.protocol.api import Header
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.end_txn import EndTxn, EndTxnResponse
from kafkalab.protocol.rules import COORDINATOR_EPOCH_CHECK, EPOCH_PER_TRANSACTION, EXACT_END_EPOCH, PENDING_FIRST


def handle(broker: BrokerState, request: EndTxn, now: int, header: Header) -> list[Effect]:
    """The decision appended, and answered before the markers; or an error of the tables."""
    if broker.denies(header.sender, WRITE, TRANSACTIONAL_ID, request.transactional_id):
        return _answer(Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    if not request.transactional_id:
        return _answer(Error.INVALID_REQUEST)
    owned = broker.coordinates(request.transactional_id)
    if isinstance(owned, Error):
        return _answer(owned)
    txn = owned.txns.get(request.transactional_id)
    if txn is None:
        return _answer(Error.INVALID_PRODUCER_ID_MAPPING)
    version = 2 if header.version >= 5 and broker.rules.on(EPOCH_PER_TRANSACTION) else 0
    ask = _ask_v2(broker, owned, txn, request) if version else _ask_v1(broker, owned, txn, request)
    if isinstance(ask, Error):
        return _answer(as_told(broker, ask, header.version))
    outcome = table_of(version)[txn.state][ask]
    if isinstance(outcome, Refuse):
        return _answer(as_told(broker, outcome.error, header.version))
    if isinstance(outcome, Same):
        return _answered(broker, Error.NONE, now, txn, version)
    return decide(broker, owned, txn, outcome.state, version, now, Then(_answered, (version,)))


def _ask_v1(broker: BrokerState, owned: TxnPartition, txn: Txn, request: EndTxn) -> Ask | Error:
    """The guards of TV0/TV1 (facts 1.7): producer id, epoch, pending."""
    if txn.producer_id != request.producer_id:
        return Error.INVALID_PRODUCER_ID_MAPPING
    larger_is_good = not broker.rules.on(EXACT_END_EPOCH) and request.producer_epoch > txn.producer_epoch
    if not larger_is_good and _differs(broker, txn, request):
        return Error.PRODUCER_FENCED
    if _on_its_way(owned, txn):
        return Error.CONCURRENT_TRANSACTIONS
    return Ask.COMMIT if request.committed else Ask.ABORT


def _ask_v2(broker: BrokerState, owned: TxnPartition, txn: Txn, request: EndTxn) -> Ask | Error:
    """The guards of TV2 (facts 1.8): pending first; a retry is told by an epoch one lower, or by the id before."""
    waits = _on_its_way(owned, txn)
    if waits and broker.rules.on(PENDING_FIRST):
        return Error.CONCURRENT_TRANSACTIONS
    rotated = (
        txn.prev_producer_id == request.producer_id
        and request.producer_epoch == PRODUCER_EPOCH_MAX - 1
        and txn.producer_epoch == 0
    )
    if txn.producer_id != request.producer_id and not rotated:
        return Error.INVALID_PRODUCER_ID_MAPPING
    again = rotated or txn.producer_epoch == request.producer_epoch + 1
    if not broker.rules.on(COORDINATOR_EPOCH_CHECK):
        again = again and txn.state not in (TxnState.EMPTY, TxnState.ONGOING) or txn.state in PREPARED
    elif rotated and txn.state in PREPARED or not again and _differs(broker, txn, request):
        return Error.PRODUCER_FENCED
    if waits:  # without PENDING_FIRST a current epoch is taken for a stale one while the markers are under way
        return Error.PRODUCER_FENCED if txn.state in PREPARED and not again else Error.CONCURRENT_TRANSACTIONS
    if again:
        return Ask.COMMIT_AGAIN if request.committed else Ask.ABORT_AGAIN
    return Ask.COMMIT if request.committed else Ask.ABORT


def _differs(broker: BrokerState, txn: Txn, request: EndTxn) -> bool:
    return txn.producer_epoch != request.producer_epoch and broker.rules.on(COORDINATOR_EPOCH_CHECK)


def _on_its_way(owned: TxnPartition, txn: Txn) -> bool:
    return owned.pending.get(txn.transactional_id, FENCE) is not FENCE


def _answered(broker: BrokerState, error: Error, now: int, txn: Txn, version: int) -> list[Effect]:
    if error is not Error.NONE or version < 2:
        return _answer(error)
    if txn.next_producer_id != -1:
        return [Respond(EndTxnResponse(producer_id=txn.next_producer_id, producer_epoch=0))]
    return [Respond(EndTxnResponse(producer_id=txn.producer_id, producer_epoch=txn.producer_epoch))]


def _answer(error: Error) -> list[Effect]:
    return [Respond(EndTxnResponse(error=error))]
