"""The states of a producer's transaction manager, and which may follow which (facts 7.1)."""

from __future__ import annotations

from enum import Enum

from kafkalab.client.exceptions import IllegalStateError


class ProducerState(Enum):
    """As in Java's `TransactionManager.State`; PREPARED_TRANSACTION (KIP-939) is not modelled."""

    UNINITIALIZED = "UNINITIALIZED"
    INITIALIZING = "INITIALIZING"
    READY = "READY"
    IN_TRANSACTION = "IN_TRANSACTION"
    COMMITTING_TRANSACTION = "COMMITTING_TRANSACTION"
    ABORTING_TRANSACTION = "ABORTING_TRANSACTION"
    ABORTABLE_ERROR = "ABORTABLE_ERROR"
    FATAL_ERROR = "FATAL_ERROR"


S = ProducerState
SOURCES: dict[ProducerState, tuple[ProducerState, ...]] = {
    S.UNINITIALIZED: (S.READY, S.ABORTABLE_ERROR),
    S.INITIALIZING: (S.UNINITIALIZED, S.COMMITTING_TRANSACTION, S.ABORTING_TRANSACTION),
    S.READY: (S.INITIALIZING, S.COMMITTING_TRANSACTION, S.ABORTING_TRANSACTION),
    S.IN_TRANSACTION: (S.READY,),
    S.COMMITTING_TRANSACTION: (S.IN_TRANSACTION,),
    S.ABORTING_TRANSACTION: (S.IN_TRANSACTION, S.ABORTABLE_ERROR),
    S.ABORTABLE_ERROR: (S.IN_TRANSACTION, S.COMMITTING_TRANSACTION, S.ABORTABLE_ERROR, S.INITIALIZING),
    S.FATAL_ERROR: tuple(S),
}
"""Target state to the states that it may be reached from."""


def check_transition(source: ProducerState, target: ProducerState) -> None:
    """IllegalStateError, with the states that would have been right, unless the move is in the table."""
    if source not in SOURCES[target]:
        allowed = ", ".join(s.name for s in SOURCES[target])
        raise IllegalStateError(f"cannot go from {source.name} to {target.name}; it takes one of: {allowed}")
