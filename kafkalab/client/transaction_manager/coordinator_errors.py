"""The exceptions that a coordinator's errors become (`TransactionManager`'s handlers;
docs/protocol.md#producer-reactions)."""

from __future__ import annotations

from kafkalab.client.connection import CoordinatorAnswer
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
UNEXPECTED = {
    "InitProducerId": "Unexpected error in InitProducerIdResponse; ",
    "AddOffsetsToTxn": "Unexpected error in AddOffsetsToTxnResponse: ",
    "TxnOffsetCommit": "Unexpected error in TxnOffsetCommitResponse: ",
    "EndTxn": "Unhandled error in EndTxnResponse: ",
}
EXPECTED_FATAL: dict[str, tuple[Error, ...]] = {
    "FindCoordinator": (Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,),
    "InitProducerId": (),
    "AddPartitionsToTxn": _TXN,
    "AddOffsetsToTxn": _TXN,
    "TxnOffsetCommit": (Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, Error.UNSUPPORTED_FOR_MESSAGE_FORMAT),
    "EndTxn": _TXN,
}
"""Fatal errors that keep their own exception; any other becomes a plain KafkaError that names the response."""
KEY_TYPES = ("GROUP", "TRANSACTION")

IN_ERROR_STATE = "Cannot execute transactional method because we are in an error state"


def coordinator_error(answer: CoordinatorAnswer, group_id: str = "") -> KafkaError:
    """Return the exception for a final answer with an error; `group_id` is the group that the request named.

    An old epoch is a fencing, whichever of its two codes it has; FindCoordinator has no such codes.
    """
    api, error = answer.api, answer.error
    if error in FENCING and api != "FindCoordinator":
        return exception_for(Error.PRODUCER_FENCED)
    if error in GROUP_MISMATCH and api == "TxnOffsetCommit":
        text = f"Transaction offset Commit failed due to consumer group metadata mismatch: {error.message}"
        return CommitFailedError(text, error)
    if error is Error.GROUP_AUTHORIZATION_FAILED and answer.reaction is Reaction.ABORTABLE:
        return exception_for(error, f"Not authorized to access group: {answer.sought[1] or group_id}")
    if answer.reaction is Reaction.FATAL and error not in EXPECTED_FATAL[api]:
        return _describe_unexpected(answer)
    return exception_for(error)


def _describe_unexpected(answer: CoordinatorAnswer) -> KafkaError:
    """Return the exception for a fatal error that the handler of the response does not know."""
    api, error, (key_type, key) = answer.api, answer.error, answer.sought
    if api == "FindCoordinator":
        text = f"Could not find a coordinator with type {KEY_TYPES[key_type]} with key {key} due to unexpected error: "
        return KafkaError(text + error.message, error)
    if api == "EndTxn" and error is Error.TRANSACTION_ABORTABLE:
        aborting = KafkaError("Failed to abort transaction", error)
        aborting.__cause__ = exception_for(error)
        return aborting
    return KafkaError(UNEXPECTED[api] + error.message, error)


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
    who = f"Producer with transactionalId '{transactional_id}' and (producerId={identity[0]}, epoch={identity[1]})"
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
