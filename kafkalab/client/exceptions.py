"""What client methods raise, named as in Kafka's Java client."""

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


class KafkaTimeoutError(KafkaError):
    """A blocking call took longer than max.block.ms, or a batch longer than delivery.timeout.ms."""


class ProducerFencedError(KafkaError):
    """Another instance with the same transactional.id has taken over: fatal, close this producer."""


class InvalidProducerEpochError(KafkaError):
    """A leader refused an old epoch: abort the transaction."""


class OutOfOrderSequenceError(KafkaError):
    """A leader found a gap in the sequence numbers."""


class TransactionAbortedError(KafkaError):
    """A batch that was not sent yet was dropped because the transaction aborts."""


class TransactionAbortableError(KafkaError):
    """The transaction cannot commit any more; abort it and go on."""


_BY_ERROR: dict[Error, type[KafkaError]] = {
    Error.PRODUCER_FENCED: ProducerFencedError,
    Error.INVALID_PRODUCER_EPOCH: InvalidProducerEpochError,
    Error.OUT_OF_ORDER_SEQUENCE_NUMBER: OutOfOrderSequenceError,
    Error.TRANSACTION_ABORTABLE: TransactionAbortableError,
    Error.REQUEST_TIMED_OUT: KafkaTimeoutError,
}


def exception_for(error: Error, what: str) -> KafkaError:
    """The exception that Java's client raises for a wire error; `what` says which call met it."""
    return _BY_ERROR.get(error, KafkaError)(f"{what}: {error.name}", error)
