"""What a producer does with each error on each API: one table (facts 7.3; `TransactionManager`'s handlers)."""

from __future__ import annotations

from enum import Enum

from kafkalab.core.errors import Error


class Reaction(Enum):
    """RETRY the same request, LOOKUP the coordinator first, or give the transaction or the producer up."""

    RETRY = "retry"
    LOOKUP = "look the coordinator up and retry"
    ABORTABLE = "the transaction must be aborted"
    FATAL = "the producer must be closed"


R, L, A, F = Reaction
_COORDINATOR = {Error.NOT_COORDINATOR: L, Error.COORDINATOR_NOT_AVAILABLE: L, Error.NETWORK_EXCEPTION: L}

REACTIONS: dict[str, dict[Error, Reaction]] = {
    "FindCoordinator": {Error.TRANSACTION_ABORTABLE: A},
    "InitProducerId": {
        **_COORDINATOR,
        Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: A,
        Error.CLUSTER_AUTHORIZATION_FAILED: A,
        Error.TRANSACTION_ABORTABLE: A,
    },
    "AddPartitionsToTxn": {
        **_COORDINATOR,
        Error.UNKNOWN_PRODUCER_ID: A,
        Error.TRANSACTION_ABORTABLE: A,
        Error.OPERATION_NOT_ATTEMPTED: A,
        Error.UNSUPPORTED_VERSION: A,
    },
    "AddOffsetsToTxn": {**_COORDINATOR, Error.UNKNOWN_PRODUCER_ID: A, Error.TRANSACTION_ABORTABLE: A},
    "TxnOffsetCommit": {
        **_COORDINATOR,
        Error.REQUEST_TIMED_OUT: L,
        Error.UNKNOWN_MEMBER_ID: A,
        Error.ILLEGAL_GENERATION: A,
        Error.TRANSACTION_ABORTABLE: A,
    },
    "EndTxn": {**_COORDINATOR, Error.UNKNOWN_PRODUCER_ID: A, Error.TRANSACTION_ABORTABLE: A},
    "Produce": {
        Error.INVALID_PRODUCER_EPOCH: A,
        Error.INVALID_TXN_STATE: A,
        Error.TRANSACTION_ABORTABLE: A,
        Error.OUT_OF_ORDER_SEQUENCE_NUMBER: A,
        Error.INVALID_RECORD: A,
        Error.UNSUPPORTED_VERSION: F,
    },
}


def reaction(api: str, error: Error) -> Reaction:
    """`reaction("EndTxn", Error.NOT_COORDINATOR) is Reaction.LOOKUP`; what the table leaves out is retried or fatal."""
    found = REACTIONS[api].get(error)
    if found is not None:
        return found
    if error.retriable:
        return Reaction.RETRY
    return Reaction.ABORTABLE if api in ("Produce", "AddPartitionsToTxn") and error.code == -1 else Reaction.FATAL
