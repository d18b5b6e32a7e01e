"""ListTransactions (KIP-664): all transactional ids that one broker coordinates, through filters."""

from __future__ import annotations

from kafkalab.protocol.api import Api
from kafkalab.protocol.errors import Error
from kafkalab.protocol.field_versions import since
from kafkalab.protocol.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ListTransactions:
    """Empty filters let all through (the duration: KIP-994; the pattern: KIP-1152)."""

    state_filters: tuple[str, ...] = ()
    producer_id_filters: tuple[int, ...] = ()
    duration_filter_ms: int = since(1, -1)
    transactional_id_pattern: str | None = since(2, None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedTransaction:
    transactional_id: str
    producer_id: int
    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ListTransactionsResponse:
    """`unknown_state_filters` are those names that no state has."""

    error: Error = Error.NONE
    unknown_state_filters: tuple[str, ...] = ()
    transactions: tuple[ListedTransaction, ...] = ()


API = Api(
    66,
    range(0, 3),
    ListTransactions,
    ListTransactionsResponse,
    "transaction",
    "Asks one broker which transactional ids it coordinates. The tool asks every broker.",
)
