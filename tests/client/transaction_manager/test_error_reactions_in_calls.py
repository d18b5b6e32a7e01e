"""docs/protocol.md#producer-reactions once more, not as a table but through calls: what a producer does, asks and
raises for every error."""

from __future__ import annotations

from typing import Any

import pytest

from kafkalab.client.exceptions import ApiError, RetriableError, exception_for, java_name
from kafkalab.client.transaction_manager.error_reactions import APIS
from kafkalab.protocol.errors import Error
from tests.client.transaction_manager.test_error_reactions import ROWS
from tests.conformance.scripted_port import ScriptedPort, error_of, one_transaction

TYPED = {name: row for name, *row in ROWS}
OTHERS = {e.name: list("rrrrrrr" if e.retriable else "ffafffa") for e in Error if e is not Error.NONE}
CELLS = [
    pytest.param(error, api, letter, id=f"{api}-{error}")
    for error, row in {**OTHERS, **TYPED}.items()
    for api, letter in zip(APIS, row, strict=True)
]
NAMED = {
    "PRODUCER_FENCED": "ProducerFencedException",
    "INVALID_PRODUCER_EPOCH": "InvalidProducerEpochException",
    "INVALID_PRODUCER_ID_MAPPING": "InvalidPidMappingException",
    "INVALID_TXN_STATE": "InvalidTxnStateException",
    "UNKNOWN_PRODUCER_ID": "UnknownProducerIdException",
    "TRANSACTION_ABORTABLE": "TransactionAbortableException",
    "TRANSACTIONAL_ID_AUTHORIZATION_FAILED": "TransactionalIdAuthorizationException",
    "CLUSTER_AUTHORIZATION_FAILED": "ClusterAuthorizationException",
    "TOPIC_AUTHORIZATION_FAILED": "TopicAuthorizationException",
    "GROUP_AUTHORIZATION_FAILED": "GroupAuthorizationException",
    "FENCED_INSTANCE_ID": "FencedInstanceIdException",
    "UNKNOWN_MEMBER_ID": "UnknownMemberIdException",
    "ILLEGAL_GENERATION": "IllegalGenerationException",
    "GROUP_ID_NOT_FOUND": "GroupIdNotFoundException",
    "STALE_MEMBER_EPOCH": "StaleMemberEpochException",
    "UNSUPPORTED_VERSION": "UnsupportedVersionException",
    "UNSUPPORTED_FOR_MESSAGE_FORMAT": "UnsupportedForMessageFormatException",
    "OUT_OF_ORDER_SEQUENCE_NUMBER": "OutOfOrderSequenceException",
    "DUPLICATE_SEQUENCE_NUMBER": "DuplicateSequenceException",
    "MESSAGE_TOO_LARGE": "RecordTooLargeException",
    "RECORD_LIST_TOO_LARGE": "RecordBatchTooLargeException",
    "INVALID_TRANSACTION_TIMEOUT": "InvalidTxnTimeoutException",
    "INVALID_REQUEST": "InvalidRequestException",
    "INVALID_RECORD": "InvalidRecordException",
    "INVALID_TIMESTAMP": "InvalidTimestampException",
    "UNSUPPORTED_COMPRESSION_TYPE": "UnsupportedCompressionTypeException",
    "INVALID_TOPIC_EXCEPTION": "InvalidTopicException",
    "INVALID_REQUIRED_ACKS": "InvalidRequiredAcksException",
    "INVALID_GROUP_ID": "InvalidGroupIdException",
    "OPERATION_NOT_ATTEMPTED": "OperationNotAttemptedException",
    "UNKNOWN_SERVER_ERROR": "UnknownServerException",
    "OFFSET_OUT_OF_RANGE": "OffsetOutOfRangeException",
    "OFFSET_METADATA_TOO_LARGE": "OffsetMetadataTooLarge",
    "REBALANCE_IN_PROGRESS": "RebalanceInProgressException",
    "TRANSACTION_COORDINATOR_FENCED": "TransactionCoordinatorFencedException",
    "INCONSISTENT_GROUP_PROTOCOL": "InconsistentGroupProtocolException",
    "INVALID_SESSION_TIMEOUT": "InvalidSessionTimeoutException",
    "MEMBER_ID_REQUIRED": "MemberIdRequiredException",
    "GROUP_MAX_SIZE_REACHED": "GroupMaxSizeReachedException",
    "NON_EMPTY_GROUP": "GroupNotEmptyException",
    "GROUP_SUBSCRIBED_TO_TOPIC": "GroupSubscribedToTopicException",
    "TOPIC_ALREADY_EXISTS": "TopicExistsException",
    "INVALID_PARTITIONS": "InvalidPartitionsException",
    "INVALID_REPLICATION_FACTOR": "InvalidReplicationFactorException",
    "TRANSACTIONAL_ID_NOT_FOUND": "TransactionalIdNotFoundException",
    "INVALID_REGULAR_EXPRESSION": "InvalidRegularExpression",
    "REBOOTSTRAP_REQUIRED": "RebootstrapRequiredException",
}
FENCING = ("PRODUCER_FENCED", "INVALID_PRODUCER_EPOCH")
GROUP_MOVED = ("UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION", "GROUP_ID_NOT_FOUND", "STALE_MEMBER_EPOCH")
DEFINITE = ("INVALID_TXN_STATE", "INVALID_PRODUCER_ID_MAPPING", "TRANSACTIONAL_ID_AUTHORIZATION_FAILED")
INIT_AGAIN = ("TRANSACTIONAL_ID_AUTHORIZATION_FAILED", "CLUSTER_AUTHORIZATION_FAILED")
AS_ITSELF = {  # fatal errors that a handler knows by name; any other is an unexpected one, a KafkaException
    "FindCoordinator": ("TRANSACTIONAL_ID_AUTHORIZATION_FAILED",),
    "InitProducerId": (),
    "AddPartitionsToTxn": DEFINITE,
    "AddOffsetsToTxn": DEFINITE,
    "TxnOffsetCommit": ("TRANSACTIONAL_ID_AUTHORIZATION_FAILED", "UNSUPPORTED_FOR_MESSAGE_FORMAT"),
    "EndTxn": DEFINITE,
}


def find_exception(api: str, error: str, letter: str) -> str:
    """The Java exception that the waiting call or the future gets."""
    if api == "Produce":
        return NAMED.get(error, "ApiException")  # one that another part of the project has added
    if error in FENCING and api != "FindCoordinator":
        return "ProducerFencedException"
    if api == "TxnOffsetCommit" and error in GROUP_MOVED:
        return "CommitFailedException"
    if api == "AddPartitionsToTxn" and letter == "a":
        alone = ("TOPIC_AUTHORIZATION_FAILED", "TRANSACTION_ABORTABLE", "UNKNOWN_PRODUCER_ID")
        return NAMED[error] if error in alone else "KafkaException"
    if letter == "f" and error not in AS_ITSELF[api]:
        return "KafkaException"
    return NAMED[error]


NORMAL = {
    **dict.fromkeys(("InitProducerId", "AddPartitionsToTxn", "Produce", "AddOffsetsToTxn", "TxnOffsetCommit"), 1),
    "EndTxn": 1,
    "FindCoordinator": 2,
}


def count_requests(port: ScriptedPort) -> dict[str, int]:
    return {name: len(port.list_sent(name)) for name in NORMAL}


@pytest.mark.parametrize(("error", "api", "letter"), CELLS)
def test_every_cell_through_the_calls(error: str, api: str, letter: str) -> None:
    script: dict[str, Any] = {api: [Error[error]]}
    port = ScriptedPort(1, **script)
    failed, producer = port.run(one_transaction(port))
    if letter in "rl+":
        assert (failed, producer.state.name) == (None, "READY")
    if letter in "rl":
        more = {api: 1, "FindCoordinator": 1 if letter == "l" or api == "FindCoordinator" else 0}
        assert count_requests(port) == {name: n + more.get(name, 0) for name, n in NORMAL.items()}
        return
    if letter == "+":
        assert count_requests(port) == NORMAL
        return
    letter = {"*": "a", "s": "a", "q": "a"}.get(letter, letter)
    if error == "UNKNOWN_PRODUCER_ID" and api == "Produce":
        # the log's start is unknown: again (docs/protocol.md#batch-retries)
        assert (failed, count_requests(port)["Produce"]) == (None, 2)
        return
    assert java_name(failed) == find_exception(api, error, letter)
    unauthorized = api == "InitProducerId" and error in INIT_AGAIN
    a = "UNINITIALIZED" if unauthorized else "ABORTABLE_ERROR"
    assert producer.state.name == {"f": "FATAL_ERROR", "a": a}[letter]
    assert count_requests(port)[api] <= NORMAL[api] + (1 if api == "FindCoordinator" else 0)


@pytest.mark.parametrize(("error", "api", "letter"), CELLS)
def test_after_every_error_the_producer_recovers_as_its_class_says(error: str, api: str, letter: str) -> None:
    script: dict[str, Any] = {api: [Error[error]]}
    port = ScriptedPort(1, **script)

    async def program() -> tuple[str, Any]:
        _, producer = await one_transaction(port)
        state = producer.state.name
        if state == "UNINITIALIZED":
            return state, await error_of(producer.init_transactions())
        if state == "READY":
            producer.begin_transaction()
        return state, await error_of(producer.abort_transaction())

    state, again = port.run(program())
    assert (again is None) is (state != "FATAL_ERROR")
    if state == "FATAL_ERROR" and isinstance(again, ApiError):
        assert java_name(again) == "ProducerFencedException"
    bumps = state == "ABORTABLE_ERROR" and (api == "Produce" or error == "UNKNOWN_PRODUCER_ID")
    inits = len(port.list_sent("InitProducerId"))
    if state == "ABORTABLE_ERROR":
        assert inits == (0 if api == "FindCoordinator" else 2 if bumps else 1)


@pytest.mark.parametrize("error", [e for e in Error if e.retriable and e is not Error.NONE], ids=lambda e: e.name)
def test_a_retriable_error_that_does_not_go_away_becomes_abortable_at_the_delivery_timeout(error: Error) -> None:
    port = ScriptedPort(2, Produce=[error] * 500)

    async def program() -> Any:
        producer = port.producer(delivery_timeout_ms=31_000)
        await producer.init_transactions()
        producer.begin_transaction()
        failed = await error_of(await producer.send("t", "v", partition=0))
        return failed, producer.transaction_manager.error, producer.state.name

    failed, stored, state = port.run(program())
    assert isinstance(failed, RetriableError)
    assert state == "ABORTABLE_ERROR"
    assert java_name(stored) in ("TransactionAbortableException", "KafkaException")  # the latter where a gap is left


# docs/protocol.md#exception-categories (KIP-1050), typed by hand: the family of each class
FAMILIES = {
    "RetriableError": "CONCURRENT_TRANSACTIONS COORDINATOR_LOAD_IN_PROGRESS UNSTABLE_OFFSET_COMMIT NOT_ENOUGH_REPLICAS "
    "REQUEST_TIMED_OUT NOT_ENOUGH_REPLICAS_AFTER_APPEND CORRUPT_MESSAGE THROTTLING_QUOTA_EXCEEDED",
    "RefreshRetriableError": "NOT_COORDINATOR COORDINATOR_NOT_AVAILABLE NOT_LEADER_OR_FOLLOWER NETWORK_EXCEPTION "
    "UNKNOWN_TOPIC_OR_PARTITION KAFKA_STORAGE_ERROR FENCED_LEADER_EPOCH",
    "ApplicationRecoverableError": "PRODUCER_FENCED INVALID_PRODUCER_EPOCH INVALID_PRODUCER_ID_MAPPING "
    "FENCED_INSTANCE_ID UNKNOWN_MEMBER_ID ILLEGAL_GENERATION",
    "InvalidConfigurationError": "TOPIC_AUTHORIZATION_FAILED GROUP_AUTHORIZATION_FAILED CLUSTER_AUTHORIZATION_FAILED "
    "TRANSACTIONAL_ID_AUTHORIZATION_FAILED UNSUPPORTED_VERSION UNSUPPORTED_FOR_MESSAGE_FORMAT RECORD_LIST_TOO_LARGE "
    "INVALID_TOPIC_EXCEPTION INVALID_REQUIRED_ACKS INVALID_RECORD",
    "ApiError": "INVALID_TXN_STATE OUT_OF_ORDER_SEQUENCE_NUMBER UNKNOWN_PRODUCER_ID TRANSACTION_COORDINATOR_FENCED "
    "STALE_MEMBER_EPOCH TRANSACTION_ABORTABLE MESSAGE_TOO_LARGE DUPLICATE_SEQUENCE_NUMBER INVALID_TIMESTAMP "
    "UNSUPPORTED_COMPRESSION_TYPE",
}
IN_FAMILY = [(name, family) for family, names in FAMILIES.items() for name in names.split()]


@pytest.mark.parametrize(("name", "family"), IN_FAMILY)
def test_the_family_of_each_exception_is_that_of_KIP_1050(name: str, family: str) -> None:
    families = [f for f in FAMILIES if f in [c.__name__ for c in type(exception_for(Error[name])).__mro__]]
    own = [f for f in families if f not in ("ApiError", "RetriableError")] or [f for f in families if f != "ApiError"]
    assert (own or ["ApiError"]) == [family]
