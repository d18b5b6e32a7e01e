"""What client methods raise; the names and the families are those of Java's exceptions (facts 7.5, KIP-1050).

The family says what a class means in general; what a producer does about an error depends on the call
(`kafkalab.client.reactions`). Kafka's `TimeoutException` is `KafkaTimeoutError`, and so on.
"""

from __future__ import annotations

from kafkalab.core.errors import Error


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


class CommitFailedError(KafkaError):
    """The group has moved on: the offsets cannot be committed by this member (Java: CommitFailedException)."""


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

    def __init__(self, topics: tuple[str, ...]) -> None:
        super().__init__(f"Not authorized to access topics: [{', '.join(topics)}]", Error.TOPIC_AUTHORIZATION_FAILED)
        self.topics = topics


class UnsupportedVersionError(InvalidConfigurationError):
    """The broker does not speak this version of the request."""


class UnsupportedForMessageFormatError(InvalidConfigurationError):
    """The log's format is too old for it."""


class TransactionalIdNotFoundError(ApiError):
    """The coordinator knows no such transactional id."""


class TransactionCoordinatorFencedError(ApiError):
    """A marker names an older coordinator epoch than one that the partition has seen."""


class TopicExistsError(ApiError):
    """There is a topic of this name."""


class InvalidTopicError(InvalidConfigurationError):
    """No topic can have this name."""


class InvalidPartitionsError(ApiError):
    """A topic has at least one partition."""


class InvalidReplicationFactorError(InvalidConfigurationError):
    """There are not so many brokers, or fewer than one replica was asked for."""


class InvalidRegularExpressionError(ApiError):
    """The expression is none."""


class RecordTooLargeError(ApiError):
    """One record is larger than the broker takes."""


class InvalidRecordError(InvalidConfigurationError):
    """The broker refused a record."""


_BY_ERROR: dict[Error, type[KafkaError]] = {
    Error.PRODUCER_FENCED: ProducerFencedError,
    Error.INVALID_PRODUCER_EPOCH: InvalidProducerEpochError,
    Error.INVALID_PRODUCER_ID_MAPPING: InvalidPidMappingError,
    Error.INVALID_TXN_STATE: InvalidTxnStateError,
    Error.OUT_OF_ORDER_SEQUENCE_NUMBER: OutOfOrderSequenceError,
    Error.UNKNOWN_PRODUCER_ID: UnknownProducerIdError,
    Error.TRANSACTION_ABORTABLE: TransactionAbortableError,
    Error.REQUEST_TIMED_OUT: KafkaTimeoutError,
    Error.CONCURRENT_TRANSACTIONS: ConcurrentTransactionsError,
    Error.COORDINATOR_LOAD_IN_PROGRESS: CoordinatorLoadInProgressError,
    Error.UNSTABLE_OFFSET_COMMIT: UnstableOffsetCommitError,
    Error.NOT_ENOUGH_REPLICAS: NotEnoughReplicasError,
    Error.NOT_ENOUGH_REPLICAS_AFTER_APPEND: NotEnoughReplicasError,
    Error.NOT_COORDINATOR: NotCoordinatorError,
    Error.COORDINATOR_NOT_AVAILABLE: NotCoordinatorError,
    Error.NOT_LEADER_OR_FOLLOWER: InvalidMetadataError,
    Error.UNKNOWN_TOPIC_OR_PARTITION: InvalidMetadataError,
    Error.NETWORK_EXCEPTION: InvalidMetadataError,
    Error.KAFKA_STORAGE_ERROR: InvalidMetadataError,
    Error.FENCED_INSTANCE_ID: FencedInstanceIdError,
    Error.UNKNOWN_MEMBER_ID: UnknownMemberIdError,
    Error.ILLEGAL_GENERATION: IllegalGenerationError,
    Error.CLUSTER_AUTHORIZATION_FAILED: ClusterAuthorizationError,
    Error.GROUP_AUTHORIZATION_FAILED: GroupAuthorizationError,
    Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: TransactionalIdAuthorizationError,
    Error.UNSUPPORTED_VERSION: UnsupportedVersionError,
    Error.UNSUPPORTED_FOR_MESSAGE_FORMAT: UnsupportedForMessageFormatError,
    Error.MESSAGE_TOO_LARGE: RecordTooLargeError,
    Error.INVALID_RECORD: InvalidRecordError,
    Error.TRANSACTIONAL_ID_NOT_FOUND: TransactionalIdNotFoundError,
    Error.TRANSACTION_COORDINATOR_FENCED: TransactionCoordinatorFencedError,
    Error.TOPIC_ALREADY_EXISTS: TopicExistsError,
    Error.INVALID_TOPIC_EXCEPTION: InvalidTopicError,
    Error.INVALID_PARTITIONS: InvalidPartitionsError,
    Error.INVALID_REPLICATION_FACTOR: InvalidReplicationFactorError,
    Error.INVALID_REGULAR_EXPRESSION: InvalidRegularExpressionError,
}


def exception_for(error: Error, what: str) -> KafkaError:
    """The exception that Java's client raises for a wire error; `what` says which call met it."""
    known = _BY_ERROR.get(error, RetriableError if error.retriable else ApiError)
    return known(f"{what}: {error.name}", error)
