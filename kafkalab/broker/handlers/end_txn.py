"""EndTxn: the producer asks for a commit or an abort; PrepareCommit or PrepareAbort, once replicated, is the decision.
"""

from __future__ import annotations

from kafkalab.broker.effects import Effects, Respond
from kafkalab.broker.state import BrokerState
from kafkalab.broker.transaction_coordinator.decision import decide
from kafkalab.broker.transaction_coordinator.guards import check_decided, check_end, end_version, translate_error
from kafkalab.broker.transaction_coordinator.markers import complete
from kafkalab.protocol.api import Header
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.end_txn import EndTxn, EndTxnResponse
from kafkalab.protocol.transaction_metadata import Txn
from kafkalab.protocol.transition_tables.outcomes import Refuse, Same
from kafkalab.protocol.transition_tables.transaction import table_of


def handle(broker: BrokerState, request: EndTxn, header: Header) -> Effects[EndTxnResponse | None]:
    """Append the decision, respond, and write the markers; or respond with an error of the guards or the table."""
    found = check_end(broker, request, header)
    if isinstance(found, Error):
        return EndTxnResponse(error=translate_error(broker, found, header.version))
    owned, txn, ask = found
    version = end_version(broker, header)
    outcome = table_of(version)[txn.state][ask]
    if isinstance(outcome, Refuse):
        return EndTxnResponse(error=translate_error(broker, outcome.error, header.version))
    if isinstance(outcome, Same):
        return _build_response(txn, version)
    decided = yield from decide(broker, owned, txn, outcome.state, version)
    if isinstance(decided, Error):
        return EndTxnResponse(error=decided)
    error = check_decided(broker, request, decided, version)
    if error is not Error.NONE:
        return EndTxnResponse(error=translate_error(broker, error, header.version))
    yield Respond(_build_response(decided, version))
    yield from complete(broker, owned, decided)
    return None


def _build_response(txn: Txn, version: int) -> EndTxnResponse:
    """Under version 2 the producer id and epoch of the next transaction."""
    if version < 2:
        return EndTxnResponse()
    if txn.next_producer_id != -1:
        return EndTxnResponse(producer_id=txn.next_producer_id, producer_epoch=0)
    return EndTxnResponse(producer_id=txn.producer_id, producer_epoch=txn.producer_epoch)
