"""DescribeTransactions (KIP-664): what the coordinator knows of some transactional ids."""

from __future__ import annotations

from kafkalab.protocol.api import Api
from kafkalab.protocol.errors import Error
from kafkalab.protocol.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeTransactions:
    transactional_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedTransaction:
    """One id. `partitions` are those that can still expect a marker.

    `start_ms` is -1 in Empty; a completed transaction keeps its own. With an error all is 0 or empty.
    """

    error: Error = Error.NONE
    transactional_id: str
    producer_id: int = 0
    producer_epoch: int = 0
    state: str = ""
    timeout_ms: int = 0
    start_ms: int = 0
    partitions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeTransactionsResponse:
    transactions: tuple[DescribedTransaction, ...]

    @property
    def error(self) -> Error:
        """The first error of an id; the response itself has none."""
        return next((t.error for t in self.transactions if t.error is not Error.NONE), Error.NONE)


API = Api(
    65,
    range(0, 1),
    DescribeTransactions,
    DescribeTransactionsResponse,
    "transaction",
    "Asks the coordinator for the state of transactional ids.",
)
