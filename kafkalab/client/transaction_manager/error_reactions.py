"""A producer's reaction to each error of each API: one total table (docs/protocol.md#producer-reactions;
`TransactionManager`'s handlers)."""

from __future__ import annotations

from enum import Enum

from kafkalab.protocol.errors import Error


class Reaction(Enum):
    """RETRY the same request, LOOKUP the coordinator first, or give the transaction or the producer up.

    RECOVERABLE is abortable where the client can get a new epoch (transaction version 2, or InitProducerId 3 and
    later), else fatal. The last three are for batches: SEQUENCE is decided by client/producer/batch_responses.py.
    """

    RETRY = "retry"
    LOOKUP = "look the coordinator up and retry"
    ABORTABLE = "the transaction must be aborted"
    FATAL = "the producer must be closed"
    RECOVERABLE = "the transaction must be aborted, and a new epoch taken"
    SUCCESS = "the leader has it already"
    SPLIT = "in smaller batches, or not at all"
    SEQUENCE = "depends on what is acknowledged and what is under way"


R, L, A, F, AR, OK, SP, SQ = Reaction

APIS = (
    "FindCoordinator", "InitProducerId", "AddPartitionsToTxn", "AddOffsetsToTxn", "TxnOffsetCommit", "EndTxn", "Produce"
)  # fmt: skip

_RETRIABLE = (R, R, R, R, R, R, R)
_OTHER = (F, F, A, F, F, F, A)
_FENCED = (F, F, F, F, F, F, F)
_GROUP = (F, F, A, F, A, F, A)

_ROWS: dict[Error, tuple[Reaction, ...]] = {
    #                                           Find Init Part Offs TxnO End  Produce
    Error.NOT_COORDINATOR:                       (R,  L,  L,  L,  L,  L,  R),
    Error.COORDINATOR_NOT_AVAILABLE:             (R,  L,  L,  L,  L,  L,  R),
    Error.REQUEST_TIMED_OUT:                     (R,  R,  R,  R,  L,  R,  R),
    Error.PRODUCER_FENCED:                       _FENCED,
    Error.INVALID_PRODUCER_EPOCH:                (F,  F,  F,  F,  F,  F,  A),
    Error.INVALID_PRODUCER_ID_MAPPING:           _FENCED,
    Error.INVALID_TXN_STATE:                     (F,  F,  F,  F,  F,  F,  A),
    Error.UNKNOWN_PRODUCER_ID:                   (F,  F,  AR, AR, F,  AR, SQ),
    Error.TRANSACTION_ABORTABLE:                 (A,  A,  A,  A,  A,  A,  A),
    Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: (F,  A,  F,  F,  F,  F,  F),
    Error.CLUSTER_AUTHORIZATION_FAILED:          (F,  A,  A,  F,  F,  F,  F),
    Error.GROUP_AUTHORIZATION_FAILED:            (A,  F,  A,  A,  A,  F,  A),
    Error.FENCED_INSTANCE_ID:                    _GROUP,
    Error.UNKNOWN_MEMBER_ID:                     _GROUP,
    Error.ILLEGAL_GENERATION:                    _GROUP,
    Error.GROUP_ID_NOT_FOUND:                    _GROUP,
    Error.STALE_MEMBER_EPOCH:                    _GROUP,
    Error.UNSUPPORTED_VERSION:                   (F,  F,  A,  F,  F,  F,  F),
    Error.OUT_OF_ORDER_SEQUENCE_NUMBER:          (F,  F,  A,  F,  F,  F,  SQ),
    Error.DUPLICATE_SEQUENCE_NUMBER:             (F,  F,  A,  F,  F,  F,  OK),
    Error.MESSAGE_TOO_LARGE:                     (F,  F,  A,  F,  F,  F,  SP),
}  # fmt: skip
"""The rows that differ from the two general ones: `_RETRIABLE` for a retriable error, `_OTHER` for any other."""

REACTIONS: dict[str, dict[Error, Reaction]] = {
    api: {e: _ROWS.get(e, _RETRIABLE if e.retriable else _OTHER)[column] for e in Error if e is not Error.NONE}
    for column, api in enumerate(APIS)
}


def reaction(api: str, error: Error, aborting: bool = False) -> Reaction:
    """`reaction("EndTxn", Error.NOT_COORDINATOR) is Reaction.LOOKUP`; an abort that fails has nothing left to abort."""
    if aborting and error is Error.TRANSACTION_ABORTABLE:
        return Reaction.FATAL  # KAFKA-19250
    return REACTIONS[api][error]
