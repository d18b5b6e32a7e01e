"""The exceptions of client methods; names and families are those of Java's (docs/protocol.md#exception-categories,
KIP-1050).

The family says what a class means in general; what a producer does about an error depends on the call
(`kafkalab.client.transaction_manager.error_reactions`). Kafka's `TimeoutException` is `KafkaTimeoutError`, and so on.
"""

from __future__ import annotations

from kafkalab.protocol.errors import Error


class KafkaError(Exception):
    """Any error of a client. `error` is the wire error behind it, NONE where there is none."""

    error: Error = Error.NONE

    def __init__(self, message: str, error: Error = Error.NONE) -> None:
        super().__init__(message)
        self.error = error


class IllegalStateError(KafkaError):
    """A method was called in a state that does not allow it (Java: IllegalStateException)."""


class ConfigError(KafkaError):
    """A setting is wrong (Java: ConfigException)."""


class ApiError(KafkaError):
    """An error of an API; `send` puts one into the future that it returns and raises nothing."""


class RetriableError(ApiError):
    """The same request may succeed later."""


class RefreshRetriableError(RetriableError):
    """The same request may succeed once leaders or coordinators have been looked up again."""


class ApplicationRecoverableError(ApiError):
    """Close this client and make a new one."""


class InvalidConfigurationError(ApiError):
    """Something must be configured or permitted before it can succeed."""


class KafkaTimeoutError(RetriableError):
    """A blocking call took longer than max.block.ms, or a batch longer than delivery.timeout.ms."""


class BufferExhaustedError(KafkaTimeoutError):
    """buffer.memory was full for max.block.ms."""


class ConcurrentTransactionsError(RetriableError):
    """The transactional id has a transaction that is being completed."""


class CoordinatorLoadInProgressError(RetriableError):
    """The coordinator still reads its log."""


class UnstableOffsetCommitError(RetriableError):
    """An undecided transaction holds offsets of the group."""


class NotEnoughReplicasError(RetriableError):
    """Fewer replicas are in sync than min.insync.replicas asks for."""


class NotCoordinatorError(RefreshRetriableError):
    """Another broker coordinates, or none does at present."""


class InvalidMetadataError(RefreshRetriableError):
    """The broker does not lead the partition, or the partition is not known, or the connection broke."""


class ProducerFencedError(ApplicationRecoverableError):
    """Another instance with the same transactional.id has taken over: fatal, close this producer."""


class InvalidProducerEpochError(ApplicationRecoverableError):
    """A leader refused an old epoch: abort the transaction."""


class InvalidPidMappingError(ApplicationRecoverableError):
    """The transactional id has another producer id."""


class FencedInstanceIdError(ApplicationRecoverableError):
    """Another member has the same group.instance.id."""


class UnknownMemberIdError(ApplicationRecoverableError):
    """The group has no such member."""


class IllegalGenerationError(ApplicationRecoverableError):
    """The group is in another generation."""


class RebalanceInProgressError(ApiError):
    """The group rebalances: poll, so that this member joins, then commit again."""


class CommitFailedError(KafkaError):
    """The group has moved on: the offsets cannot be committed by this member (Java: CommitFailedException)."""


class RetriableCommitFailedError(KafkaError):
    """A commit that is sent only once was refused for now (Java: RetriableCommitFailedException)."""


class InvalidOffsetError(KafkaError):
    """A consumer has no offset, or none that exists, and auto.offset.reset is none; `positions` are the wrong ones."""

    def __init__(self, message: str, positions: dict[str, int]) -> None:
        super().__init__(message, Error.OFFSET_OUT_OF_RANGE)
        self.positions = positions


class OffsetOutOfRangeError(InvalidOffsetError):
    """The position is before the first or after the last offset of the partition."""


class NoOffsetForPartitionError(InvalidOffsetError):
    """The group has no committed offset."""


class OutOfOrderSequenceError(ApiError):
    """A leader found a gap in the sequence numbers."""


class UnknownProducerIdError(OutOfOrderSequenceError):
    """A leader has no state of this producer id."""


class InvalidTxnStateError(ApiError):
    """The transaction is not in a state that allows it."""


class TransactionAbortedError(ApiError):
    """A batch that was not sent yet was dropped because the transaction aborts."""

    def __init__(self, message: str = "Failing batch since transaction was aborted") -> None:
        super().__init__(message)


class TransactionAbortableError(ApiError):
    """The transaction cannot commit any more; abort it and go on."""


class AuthorizationError(InvalidConfigurationError):
    """Not allowed."""


class ClusterAuthorizationError(AuthorizationError):
    """Not allowed on the cluster: an idempotent producer needs IDEMPOTENT_WRITE or a topic to write to."""


class GroupAuthorizationError(AuthorizationError):
    """Not allowed on the group."""


class TransactionalIdAuthorizationError(AuthorizationError):
    """Not allowed on the transactional id."""


class TopicAuthorizationError(AuthorizationError):
    """Not allowed on these topics."""

    def __init__(self, topics: tuple[str, ...], message: str = "") -> None:
        said = message or f"Not authorized to access topics: [{', '.join(topics)}]"
        super().__init__(said, Error.TOPIC_AUTHORIZATION_FAILED)
        self.topics = topics


class UnsupportedVersionError(InvalidConfigurationError):
    """The broker does not speak this version of the request."""


class UnsupportedForMessageFormatError(InvalidConfigurationError):
    """The log's format is too old for it."""


class TransactionalIdNotFoundError(ApiError):
    """The coordinator knows no such transactional id."""


class RecordTooLargeError(ApiError):
    """One record is larger than the broker takes."""


class InvalidRecordError(InvalidConfigurationError):
    """The broker refused a record."""


def _of(java: str, family: type[KafkaError]) -> type[KafkaError]:
    """Return a class for a wire error that no code here catches by name: `_of("CorruptRecord", RetriableError)`."""
    return type(f"{java}Error", (family,), {"__doc__": f"Java: {java}Exception.", "__module__": __name__})


_R, _M, _C, _A = RetriableError, InvalidMetadataError, InvalidConfigurationError, ApiError
_BY_ERROR: dict[Error, type[KafkaError]] = {
    Error.UNKNOWN_SERVER_ERROR: _of("UnknownServer", _A),
    Error.OFFSET_OUT_OF_RANGE: _of("OffsetOutOfRange", _A),
    Error.CORRUPT_MESSAGE: _of("CorruptRecord", _R),
    Error.UNKNOWN_TOPIC_OR_PARTITION: _of("UnknownTopicOrPartition", _M),
    Error.LEADER_NOT_AVAILABLE: _of("LeaderNotAvailable", _M),
    Error.NOT_LEADER_OR_FOLLOWER: _of("NotLeaderOrFollower", _M),
    Error.REQUEST_TIMED_OUT: KafkaTimeoutError,
    Error.MESSAGE_TOO_LARGE: RecordTooLargeError,
    Error.OFFSET_METADATA_TOO_LARGE: _of("OffsetMetadataTooLarge", _A),
    Error.NETWORK_EXCEPTION: _of("Network", _M),
    Error.COORDINATOR_LOAD_IN_PROGRESS: CoordinatorLoadInProgressError,
    Error.COORDINATOR_NOT_AVAILABLE: _of("CoordinatorNotAvailable", RefreshRetriableError),
    Error.NOT_COORDINATOR: NotCoordinatorError,
    Error.INVALID_TOPIC_EXCEPTION: _of("InvalidTopic", _C),
    Error.RECORD_LIST_TOO_LARGE: _of("RecordBatchTooLarge", _C),
    Error.NOT_ENOUGH_REPLICAS: NotEnoughReplicasError,
    Error.NOT_ENOUGH_REPLICAS_AFTER_APPEND: _of("NotEnoughReplicasAfterAppend", _R),
    Error.INVALID_REQUIRED_ACKS: _of("InvalidRequiredAcks", _C),
    Error.ILLEGAL_GENERATION: IllegalGenerationError,
    Error.INCONSISTENT_GROUP_PROTOCOL: _of("InconsistentGroupProtocol", _A),
    Error.INVALID_GROUP_ID: _of("InvalidGroupId", _A),
    Error.UNKNOWN_MEMBER_ID: UnknownMemberIdError,
    Error.INVALID_SESSION_TIMEOUT: _of("InvalidSessionTimeout", _A),
    Error.REBALANCE_IN_PROGRESS: RebalanceInProgressError,
    Error.GROUP_AUTHORIZATION_FAILED: GroupAuthorizationError,
    Error.CLUSTER_AUTHORIZATION_FAILED: ClusterAuthorizationError,
    Error.INVALID_TIMESTAMP: _of("InvalidTimestamp", _A),
    Error.UNSUPPORTED_VERSION: UnsupportedVersionError,
    Error.TOPIC_ALREADY_EXISTS: _of("TopicExists", _A),
    Error.INVALID_PARTITIONS: _of("InvalidPartitions", _A),
    Error.INVALID_REPLICATION_FACTOR: _of("InvalidReplicationFactor", _C),
    Error.INVALID_REQUEST: _of("InvalidRequest", _A),
    Error.UNSUPPORTED_FOR_MESSAGE_FORMAT: UnsupportedForMessageFormatError,
    Error.OUT_OF_ORDER_SEQUENCE_NUMBER: OutOfOrderSequenceError,
    Error.DUPLICATE_SEQUENCE_NUMBER: _of("DuplicateSequence", _A),
    Error.INVALID_PRODUCER_EPOCH: InvalidProducerEpochError,
    Error.INVALID_TXN_STATE: InvalidTxnStateError,
    Error.INVALID_PRODUCER_ID_MAPPING: InvalidPidMappingError,
    Error.INVALID_TRANSACTION_TIMEOUT: _of("InvalidTxnTimeout", _A),
    Error.CONCURRENT_TRANSACTIONS: ConcurrentTransactionsError,
    Error.TRANSACTION_COORDINATOR_FENCED: _of("TransactionCoordinatorFenced", _A),
    Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: TransactionalIdAuthorizationError,
    Error.OPERATION_NOT_ATTEMPTED: _of("OperationNotAttempted", _A),
    Error.KAFKA_STORAGE_ERROR: _of("KafkaStorage", _M),
    Error.UNKNOWN_PRODUCER_ID: UnknownProducerIdError,
    Error.NON_EMPTY_GROUP: _of("GroupNotEmpty", _A),
    Error.GROUP_SUBSCRIBED_TO_TOPIC: _of("GroupSubscribedToTopic", _A),
    Error.GROUP_ID_NOT_FOUND: _of("GroupIdNotFound", _A),
    Error.MEMBER_ID_REQUIRED: _of("MemberIdRequired", _A),
    Error.GROUP_MAX_SIZE_REACHED: _of("GroupMaxSizeReached", _A),
    Error.FETCH_SESSION_ID_NOT_FOUND: _of("FetchSessionIdNotFound", _R),
    Error.INVALID_FETCH_SESSION_EPOCH: _of("InvalidFetchSessionEpoch", _R),
    Error.FENCED_LEADER_EPOCH: _of("FencedLeaderEpoch", _M),
    Error.UNKNOWN_LEADER_EPOCH: _of("UnknownLeaderEpoch", _R),
    Error.UNSUPPORTED_COMPRESSION_TYPE: _of("UnsupportedCompressionType", _A),
    Error.OFFSET_NOT_AVAILABLE: _of("OffsetNotAvailable", _R),
    Error.FENCED_INSTANCE_ID: FencedInstanceIdError,
    Error.INVALID_RECORD: InvalidRecordError,
    Error.UNSTABLE_OFFSET_COMMIT: UnstableOffsetCommitError,
    Error.THROTTLING_QUOTA_EXCEEDED: _of("ThrottlingQuotaExceeded", _R),
    Error.PRODUCER_FENCED: ProducerFencedError,
    Error.TRANSACTIONAL_ID_NOT_FOUND: TransactionalIdNotFoundError,
    Error.STALE_MEMBER_EPOCH: _of("StaleMemberEpoch", _A),
    Error.TRANSACTION_ABORTABLE: TransactionAbortableError,
    Error.INVALID_REGULAR_EXPRESSION: _of("InvalidRegularExpression", _A),
}
_JAVA = {
    "KafkaTimeoutError": "TimeoutException",
    "OffsetMetadataTooLargeError": "OffsetMetadataTooLarge",
    "InvalidRegularExpressionError": "InvalidRegularExpression",
    "ValueError": "IllegalArgumentException",
}


def exception_for(error: Error, message: str = "") -> KafkaError:
    """Return the exception that Java's client raises for a wire error, with Kafka's message unless one is given."""
    message = message or error.message
    if error is Error.TOPIC_AUTHORIZATION_FAILED:
        return TopicAuthorizationError((), message)
    known = _BY_ERROR.get(error, RetriableError if error.retriable else ApiError)
    return known(message, error)


def java_name(error: BaseException) -> str:
    """Return the exception's name in Java: `java_name(KafkaTimeoutError("")) == "TimeoutException"`."""
    name = type(error).__name__
    return _JAVA.get(name, f"{name.removesuffix('Error')}Exception")
