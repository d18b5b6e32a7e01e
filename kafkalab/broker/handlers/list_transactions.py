"""ListTransactions (KIP-664): all transactional ids that one broker coordinates, through filters."""

from __future__ import annotations

from kafkalab.broker.patterns import compile_pattern
from kafkalab.broker.state import BrokerState
from kafkalab.protocol.acls import DESCRIBE, TRANSACTIONAL_ID
from kafkalab.protocol.api import Header
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.list_transactions import ListedTransaction, ListTransactions, ListTransactionsResponse
from kafkalab.protocol.transaction_metadata import Txn, TxnState


def handle(broker: BrokerState, request: ListTransactions, header: Header) -> ListTransactionsResponse:
    """The ids of this broker by name, without those that the sender may not describe; an error is for all."""
    if any(owned.loading for owned in broker.transactions.values()):
        return ListTransactionsResponse(error=Error.COORDINATOR_LOAD_IN_PROGRESS)
    matches = compile_pattern(request.transactional_id_pattern) if request.transactional_id_pattern else bool
    if matches is None:
        return ListTransactionsResponse(error=Error.INVALID_REGULAR_EXPRESSION)
    known = [s.label for s in TxnState]
    found = {
        tid: txn
        for partition, owned in broker.transactions.items()
        if broker.leads(partition)
        for tid, txn in owned.txns.items()
        if _passes(txn, request, broker.now) and matches(tid)
    }
    response = ListTransactionsResponse(
        unknown_state_filters=tuple(s for s in dict.fromkeys(request.state_filters) if s not in known),
        transactions=tuple(
            ListedTransaction(transactional_id=tid, producer_id=txn.producer_id, state=txn.state.label)
            for tid, txn in sorted(found.items())
            if not broker.denies(header.sender, DESCRIBE, TRANSACTIONAL_ID, tid)
        ),
    )
    return response


def _passes(txn: Txn, request: ListTransactions, now: int) -> bool:
    if txn.state is TxnState.DEAD:
        return False
    if request.producer_id_filters and txn.producer_id not in request.producer_id_filters:
        return False
    if request.state_filters and txn.state.label not in request.state_filters:
        return False
    return request.duration_filter_ms < 0 or now - txn.start_ms > request.duration_filter_ms
