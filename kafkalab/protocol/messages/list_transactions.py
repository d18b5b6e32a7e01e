"""ListTransactions (KIP-664): all transactional ids that one broker coordinates, through filters."""

from __future__ import annotations

from dataclasses import dataclass

from kafkalab.protocol.api import Api
from kafkalab.protocol.errors import Error


@dataclass(frozen=True, slots=True, kw_only=True)
class ListTransactions:
    """Empty filters let all through. `duration_filter_ms` since version 1, the pattern since 2 (KIP-994, KIP-1152)."""

    state_filters: tuple[str, ...] = ()
    producer_id_filters: tuple[int, ...] = ()
    duration_filter_ms: int = -1
    transactional_id_pattern: str | None = None


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
