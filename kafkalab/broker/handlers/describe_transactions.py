"""DescribeTransactions (KIP-664): what the coordinator knows of some transactional ids."""

from __future__ import annotations

from kafkalab.broker.authorization import refused_partitions
from kafkalab.broker.state import BrokerState, TxnPartition
from kafkalab.protocol.acls import DESCRIBE, TRANSACTIONAL_ID
from kafkalab.protocol.api import Header
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.describe_transactions import (
    DescribedTransaction,
    DescribeTransactions,
    DescribeTransactionsResponse,
)
from kafkalab.protocol.transaction_metadata import Txn, TxnState


def handle(broker: BrokerState, request: DescribeTransactions, header: Header) -> DescribeTransactionsResponse:
    """Each id, or why not: an id that this broker does not coordinate has the error of any other request."""
    described = tuple(_one(broker, t, header) for t in request.transactional_ids)
    return DescribeTransactionsResponse(transactions=described)


def _one(broker: BrokerState, tid: str, header: Header) -> DescribedTransaction:
    if broker.denies(header.sender, DESCRIBE, TRANSACTIONAL_ID, tid):
        return DescribedTransaction(transactional_id=tid, error=Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    if tid == "":
        return DescribedTransaction(transactional_id=tid, error=Error.INVALID_REQUEST)
    owned = broker.coordinates(tid)
    if isinstance(owned, Error):
        return DescribedTransaction(transactional_id=tid, error=owned)
    txn = owned.txns.get(tid)
    if txn is None or txn.state is TxnState.DEAD:
        return DescribedTransaction(transactional_id=tid, error=Error.TRANSACTIONAL_ID_NOT_FOUND)
    expecting = awaiting_markers(owned, txn)
    hidden = refused_partitions(broker, header, DESCRIBE, expecting)
    return DescribedTransaction(
        transactional_id=tid,
        producer_id=txn.producer_id,
        producer_epoch=txn.producer_epoch,
        state=txn.state.label,
        timeout_ms=txn.timeout_ms,
        start_ms=txn.start_ms,
        partitions=tuple(p for p in expecting if p not in hidden),
    )


def awaiting_markers(owned: TxnPartition, txn: Txn) -> tuple[str, ...]:
    """The partitions that still lack their marker (`TransactionMetadata.removePartition` takes the others away)."""
    progress = owned.markers.get(txn.transactional_id)
    return txn.partitions if progress is None else tuple(progress.remaining)
