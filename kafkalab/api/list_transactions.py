"""ListTransactions (KIP-664): all transactional ids that one broker coordinates, through filters."""

from __future__ import annotations

import re
from dataclasses import dataclass

from kafkalab.api.api import Api, Header
from kafkalab.core.acls import DESCRIBE, TRANSACTIONAL_ID
from kafkalab.core.broker_state import BrokerState
from kafkalab.core.effects import Effect, Reply
from kafkalab.core.errors import Error
from kafkalab.core.transaction import Txn, TxnState

NOT_IN_RE2 = re.compile(r"\(\?(=|!|<=|<!|>|\(|#)|\\[1-9]|[*+?}]\+")
"""What Python's expressions have and RE2/J, which Kafka uses, refuses: looking around, back references, possession."""


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
class ListTransactionsReply:
    """`unknown_state_filters` are those names that no state has."""

    error: Error = Error.NONE
    unknown_state_filters: tuple[str, ...] = ()
    transactions: tuple[ListedTransaction, ...] = ()


def handle(broker: BrokerState, request: ListTransactions, now: int, header: Header) -> list[Effect]:
    """The ids of this broker by name, without those that the sender may not describe; an error is for all."""
    if any(owned.loading for owned in broker.transactions.values()):
        return [Reply(ListTransactionsReply(error=Error.COORDINATOR_LOAD_IN_PROGRESS))]
    pattern = _compiled(request.transactional_id_pattern or ".*")
    if pattern is None:
        return [Reply(ListTransactionsReply(error=Error.INVALID_REGULAR_EXPRESSION))]
    known = [s.label for s in TxnState]
    found = {
        tid: txn
        for partition, owned in broker.transactions.items()
        if broker.leads(partition)
        for tid, txn in owned.txns.items()
        if _passes(txn, request, now) and pattern.fullmatch(tid)
    }
    reply = ListTransactionsReply(
        unknown_state_filters=tuple(s for s in request.state_filters if s not in known),
        transactions=tuple(
            ListedTransaction(transactional_id=tid, producer_id=txn.producer_id, state=txn.state.label)
            for tid, txn in sorted(found.items())
            if not broker.denies(header.sender, DESCRIBE, TRANSACTIONAL_ID, tid)
        ),
    )
    return [Reply(reply)]


def _compiled(pattern: str) -> re.Pattern[str] | None:
    """The expression, which must match a whole id; None if RE2 would refuse it (simplified: Python's engine)."""
    if NOT_IN_RE2.search(pattern):
        return None
    try:
        return re.compile(pattern)
    except re.error:
        return None


def _passes(txn: Txn, request: ListTransactions, now: int) -> bool:
    if txn.state is TxnState.DEAD:
        return False
    if request.producer_id_filters and txn.producer_id not in request.producer_id_filters:
        return False
    if request.state_filters and txn.state.label not in request.state_filters:
        return False
    return request.duration_filter_ms < 0 or now - txn.start_ms > request.duration_filter_ms


API = Api(
    66,
    range(0, 3),
    ListTransactions,
    ListTransactionsReply,
    handle,
    "transaction",
    "Asks one broker which transactional ids it coordinates. The tool asks every broker.",
)
