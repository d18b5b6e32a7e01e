"""The exceptions that a coordinator's errors become (`TransactionManager`'s handlers;
docs/protocol.md#producer-reactions)."""

from __future__ import annotations

from kafkalab.client.exceptions import (
    CommitFailedError,
    IllegalStateError,
    InvalidProducerEpochError,
    KafkaError,
    ProducerFencedError,
    TopicAuthorizationError,
    exception_for,
)
from kafkalab.client.transaction_manager.error_reactions import Reaction
from kafkalab.protocol.errors import Error
from kafkalab.protocol.partitions import topic_of

FENCING = (Error.PRODUCER_FENCED, Error.INVALID_PRODUCER_EPOCH)
GROUP_MISMATCH = (
    Error.UNKNOWN_MEMBER_ID, Error.ILLEGAL_GENERATION, Error.GROUP_ID_NOT_FOUND, Error.STALE_MEMBER_EPOCH
)  # fmt: skip
_TXN = (Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, Error.INVALID_TXN_STATE, Error.INVALID_PRODUCER_ID_MAPPING)
EXPECTED_FATAL: dict[str, tuple[Error, ...]] = {
    "FindCoordinator": (Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,),
    "InitProducerId": (),
    "AddPartitionsToTxn": _TXN,
    "AddOffsetsToTxn": _TXN,
    "TxnOffsetCommit": (Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, Error.UNSUPPORTED_FOR_MESSAGE_FORMAT),
    "EndTxn": _TXN,
}
"""Fatal errors that keep their own exception; any other becomes a plain KafkaError that names the response."""

IN_ERROR_STATE = "Cannot execute transactional method because we are in an error state"


def coordinator_error(api: str, error: Error, what: Reaction) -> KafkaError:
    """Return the exception for `error` of `api`; an old epoch is a fencing, whichever of its two codes it has."""
    if error in FENCING:
        text = f"{api}: another producer with the same transactional.id has taken over"
        return ProducerFencedError(text, Error.PRODUCER_FENCED)
    if error in GROUP_MISMATCH and api == "TxnOffsetCommit":
        return CommitFailedError(
            f"Transaction offset Commit failed due to consumer group metadata mismatch: {error.name}", error
        )
    if what is Reaction.FATAL and error not in EXPECTED_FATAL[api] and error is not Error.UNKNOWN_PRODUCER_ID:
        return KafkaError(f"Unexpected error in {api}Response: {error.name}", error)
    return exception_for(error, api)


def partitions_error(errors: dict[str, Error]) -> KafkaError:
    """Return the exception for an AddPartitionsToTxn of which some partitions were refused."""
    denied = sorted({topic_of(p) for p, e in errors.items() if e is Error.TOPIC_AUTHORIZATION_FAILED})
    if denied:
        return TopicAuthorizationError(tuple(denied))
    named = ", ".join(f"{p}={e.name}" for p, e in errors.items())
    decisive = [e for e in errors.values() if e not in (Error.NONE, Error.OPERATION_NOT_ATTEMPTED)]
    error = decisive[0] if decisive else Error.OPERATION_NOT_ATTEMPTED
    return KafkaError(f"Could not add partitions to transaction due to errors: {{{named}}}", error)


def stored_error(stored: KafkaError, transactional_id: str | None, identity: tuple[int, int]) -> KafkaError:
    """Return what a later call raises for a stored error: fencing and old epochs as themselves, others as the cause."""
    who = f"Producer with transactionalId '{transactional_id}' and ProducerIdAndEpoch(producerId={identity[0]}, "
    who += f"epoch={identity[1]})"
    again: KafkaError
    if isinstance(stored, ProducerFencedError):
        text = f"{who} has been fenced by another producer with the same transactionalId"
        return ProducerFencedError(text, stored.error)
    if isinstance(stored, InvalidProducerEpochError):
        return InvalidProducerEpochError(f"{who} attempted to produce with an old epoch", stored.error)
    if isinstance(stored, IllegalStateError):
        text = f"{who} cannot execute transactional method because of previous invalid state transition attempt"
        again = IllegalStateError(text, stored.error)
    else:
        again = KafkaError(IN_ERROR_STATE, stored.error)
    again.__cause__ = stored
    return again
