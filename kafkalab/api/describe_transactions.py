"""DescribeTransactions (KIP-664): what the coordinator knows of some transactional ids."""

from __future__ import annotations

from dataclasses import dataclass

from kafkalab.api.api import Api, Header
from kafkalab.api.authorisation import refused_partitions
from kafkalab.core.acls import DESCRIBE, TRANSACTIONAL_ID
from kafkalab.core.broker_state import BrokerState, TxnPartition
from kafkalab.core.effects import Effect, Reply
from kafkalab.core.errors import Error
from kafkalab.core.transaction import Txn, TxnState


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeTransactions:
    transactional_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedTransaction:
    """One id. `partitions` are those that can still expect a marker; start is -1 if there is no transaction."""

    error: Error = Error.NONE
    transactional_id: str
    producer_id: int = -1
    producer_epoch: int = -1
    state: str = ""
    timeout_ms: int = 0
    start_ms: int = -1
    partitions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeTransactionsReply:
    transactions: tuple[DescribedTransaction, ...]

    @property
    def error(self) -> Error:
        """The first error of an id; the reply itself has none."""
        return next((t.error for t in self.transactions if t.error is not Error.NONE), Error.NONE)


def handle(broker: BrokerState, request: DescribeTransactions, now: int, header: Header) -> list[Effect]:
    """Each id, or why not: an id that this broker does not coordinate has the error of any other request."""
    described = tuple(_one(broker, t, header) for t in request.transactional_ids)
    return [Reply(DescribeTransactionsReply(transactions=described))]


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


API = Api(
    65,
    range(0, 1),
    DescribeTransactions,
    DescribeTransactionsReply,
    handle,
    "transaction",
    "Asks the coordinator for the state of transactional ids.",
)
