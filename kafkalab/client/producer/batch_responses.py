"""The fate of a batch that a leader answered, or that has expired (docs/protocol.md#batch-retries;
`Sender.completeBatch`)."""

from __future__ import annotations

from kafkalab.client.exceptions import (
    KafkaError,
    KafkaTimeoutError,
    OutOfOrderSequenceError,
    ProducerFencedError,
    TopicAuthorizationError,
    UnknownProducerIdError,
    exception_for,
)
from kafkalab.client.producer.accumulator import Accumulator
from kafkalab.client.producer_batch import ProducerBatch
from kafkalab.client.transaction_manager.error_reactions import Reaction, reaction
from kafkalab.client.transaction_manager.transaction_manager import TransactionManager
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.produce import PartitionProduced
from kafkalab.protocol.partitions import topic_of

UNACKNOWLEDGED = (
    "The client hasn't received acknowledgment for some previously sent messages and can no longer retry them. "
)
OTHER_ID = (
    "Attempted to retry sending a batch but the producer id changed from {} to {} in the mean time. "
    "This batch will be dropped."
)


class BatchResponses:
    """Complete, split, retry or fail each batch, and keep the sequences of its partition in order."""

    def __init__(self, manager: TransactionManager, accumulator: Accumulator) -> None:
        self.manager, self.accumulator = manager, accumulator
        self.config, self.sequences = manager.config, manager.sequences

    def handle(self, batch: ProducerBatch, produced: PartitionProduced, text: str = "") -> bool:
        """Do what the answer asks for; return whether the batch is sent again. One that was given up stays so.

        `text` is the exception's message if it is not the usual one of the error.
        """
        if batch.done:
            return False
        what = Reaction.SUCCESS if produced.error is Error.NONE else reaction("Produce", produced.error)
        if what is Reaction.SUCCESS:
            base_offset = produced.base_offset if produced.error is Error.NONE else -1
            self.accumulator.remove(batch)
            self.sequences.note_ack(batch, base_offset)
            batch.complete(base_offset)
            return False
        if what is Reaction.SPLIT and len(batch.records) > 1:
            self.accumulator.split(batch)
            return False
        if self._may_retry(batch, produced):
            self.accumulator.again(batch)
            return True
        self.fail(batch, self._failure(batch, produced.error, text), adjust=self._retries_left(batch))
        return False

    def _failure(self, batch: ProducerBatch, error: Error, text: str) -> KafkaError:
        if error is Error.TOPIC_AUTHORIZATION_FAILED:
            return TopicAuthorizationError((topic_of(batch.partition),))
        if self.config.legacy and error is Error.INVALID_PRODUCER_EPOCH:
            return ProducerFencedError(error.message, error)  # until KIP-588 this code was the fencing
        if self._of_another_id(batch) and error.retriable:
            return OutOfOrderSequenceError(OTHER_ID.format(batch.producer[0], self.manager.producer_id), error)
        if error is Error.CLUSTER_AUTHORIZATION_FAILED:
            text = "The producer is not authorized to do idempotent sends"
        return exception_for(error, text)

    def _of_another_id(self, batch: ProducerBatch) -> bool:
        """Return whether a producer older than KIP-360 has a new id since: it does not send such a batch again."""
        return self.config.legacy and batch.base_sequence != -1 and batch.producer != self.manager.identity

    def _retries_left(self, batch: ProducerBatch) -> bool:
        return batch.attempts - 1 < self.config.retries

    def _may_retry(self, batch: ProducerBatch, produced: PartitionProduced) -> bool:
        error = produced.error
        expired = self.manager.port.now - batch.created_ms >= self.accumulator.delivery_timeout_ms
        if expired or not self._retries_left(batch) or self._of_another_id(batch):
            return False
        if self.config.enable_idempotence and error is Error.UNKNOWN_PRODUCER_ID:
            return self._without_state(batch, produced.log_start_offset)
        if self.config.enable_idempotence and error is Error.OUT_OF_ORDER_SEQUENCE_NUMBER:
            return self._out_of_order(batch)
        return error.retriable

    def _out_of_order(self, batch: ProducerBatch) -> bool:
        """Send a batch behind a failed one again. The next one in line fails a transaction; an idempotent-only
        producer raises its epoch by itself and restarts the partition's sequences.
        """
        partition, unresolved = batch.partition, self.sequences.unresolved
        in_line = self.sequences.follows_acked(partition, batch.base_sequence)
        if partition not in unresolved and (batch.renumbered or not in_line):
            return True
        if self.manager.transactional or self.config.legacy:
            return False
        if unresolved.get(partition, batch.base_sequence) == batch.base_sequence:
            self.sequences.restart_later(partition)
        return True

    def _without_state(self, batch: ProducerBatch, log_start_offset: int) -> bool:
        """Decide about UNKNOWN_PRODUCER_ID: the log's head, with this producer's state, may have been deleted."""
        if log_start_offset == -1 or batch.renumbered:
            return True
        if not self.manager.transactional and not self.config.legacy:
            self.sequences.restart_later(batch.partition)
            return True
        if self.sequences.last_acked_offset.get(batch.partition, -1) < log_start_offset:
            self.accumulator.rewrite(batch.partition, self.manager.identity)
            return True
        return False

    def fail(self, batch: ProducerBatch, exception: KafkaError, adjust: bool) -> None:
        """Give the batch up; `adjust`: the leader has surely not appended it, so its sequences are free again."""
        self.accumulator.remove(batch)
        batch.give_up(exception)
        if not self.config.enable_idempotence:
            return
        self.manager.fail_batch(exception)
        if self.manager.fatal or batch.base_sequence == -1:
            return
        if self.config.legacy:
            self._fail_as_before_kip_360(batch, exception, adjust)
        elif isinstance(exception, UnknownProducerIdError):
            self.sequences.forget_acked(batch.partition)
        elif isinstance(exception, OutOfOrderSequenceError) and not self.manager.transactional:
            self.sequences.restart_later(batch.partition)
        elif adjust and self.manager.transactional:
            self.sequences.give_back(batch, self.accumulator.list_numbered(batch.partition))
        elif adjust:
            self.sequences.restart_later(batch.partition)

    def _fail_as_before_kip_360(self, batch: ProducerBatch, exception: KafkaError, adjust: bool) -> None:
        """Drop the producer id at a gap of an idempotent-only producer; otherwise free the sequences."""
        if isinstance(exception, OutOfOrderSequenceError) and not self.manager.transactional:
            if not self._of_another_id(batch):
                self.manager.reset_producer_id()
        elif adjust:
            self.sequences.give_back(batch, self.accumulator.list_numbered(batch.partition))

    def expire(self) -> None:
        """Fail the batches older than delivery.timeout.ms; a retried one may have arrived, so it is left open."""
        for batch in self.accumulator.list_expired(self.manager.port.now):
            text = (
                f"Expiring {len(batch.records)} record(s) for {batch.partition}:"
                f"{self.manager.port.now - batch.created_ms} ms has passed since batch creation. "
                "The request has not been sent, or no server response has been received yet."
            )
            self.fail(batch, KafkaTimeoutError(text, Error.REQUEST_TIMED_OUT), adjust=False)
            if batch.retried and self.config.enable_idempotence:
                self.sequences.leave_open(batch)

    def resolve(self) -> None:
        """Close the gap of each unresolved partition with nothing under way, unless later batches arrived."""
        for partition in list(self.sequences.unresolved):
            if self.accumulator.list_numbered(partition):
                continue
            del self.sequences.unresolved[partition]
            if self.sequences.follows_acked(partition, self.sequences.next.get(partition, 0)):
                continue
            if self.manager.transactional:
                self.manager.fail(KafkaError(UNACKNOWLEDGED + "It is safe to abort the transaction and continue."),
                                  Reaction.RECOVERABLE)  # fmt: skip
            elif self.config.legacy:
                self.manager.reset_producer_id()
            else:
                self.sequences.restart_later(partition)
