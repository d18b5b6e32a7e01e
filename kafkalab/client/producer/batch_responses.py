"""What becomes of a batch once a leader has answered, or time has run out (facts 7.4; `Sender.completeBatch`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkalab.client.exceptions import (
    KafkaError,
    KafkaTimeoutError,
    OutOfOrderSequenceError,
    ProducerFencedError,
    TopicAuthorizationError,
    UnknownProducerIdError,
    exception_for,
)
from kafkalab.client.producer.batch import ProducerBatch
from kafkalab.client.transaction_manager.error_reactions import Reaction, reaction
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.produce import PartitionProduced
from kafkalab.protocol.partitions import topic_of

if TYPE_CHECKING:
    from kafkalab.client.producer.producer import Producer

EPOCH_MAX = 32767
UNACKNOWLEDGED = (
    "The client hasn't received acknowledgment for some previously sent messages and can no longer retry them. "
)


class BatchAnswers:
    """Decides: done, split, again, or failed; and keeps the sequences of the partition in order."""

    def __init__(self, producer: Producer) -> None:
        self.producer = producer
        self.accumulator = producer.accumulator
        self.sequences = producer.accumulator.sequences
        self._restart: list[str] = []

    def take(self, batch: ProducerBatch, produced: PartitionProduced) -> bool:
        """Whether the batch was put back to be sent again; a batch that was given up before stays so."""
        if batch.done:
            return False
        what = Reaction.SUCCESS if produced.error is Error.NONE else reaction("Produce", produced.error)
        if what is Reaction.SUCCESS:
            base_offset = produced.base_offset if produced.error is Error.NONE else -1
            self.accumulator.remove(batch)
            self.sequences.acked(batch, base_offset)
            batch.keep(base_offset)
            return False
        if what is Reaction.SPLIT and len(batch.records) > 1:
            self.accumulator.split(batch)
            return False
        if self._may_retry(batch, produced):
            self.accumulator.again(batch)
            return True
        self.fail(batch, self._failure(batch, produced.error), adjust=self._retries_left(batch))
        return False

    def _failure(self, batch: ProducerBatch, error: Error) -> KafkaError:
        what = f"Produce to {batch.partition}"
        if error is Error.TOPIC_AUTHORIZATION_FAILED:
            return TopicAuthorizationError((topic_of(batch.partition),))
        if self.producer.config.legacy and error is Error.INVALID_PRODUCER_EPOCH:
            return ProducerFencedError(f"{what}: {error.name}", error)  # until KIP-588 this code was the fencing
        if self._of_another_id(batch) and error.retriable:
            return OutOfOrderSequenceError(f"{what}: the producer id has changed in the mean time", error)
        return exception_for(error, what)

    def _of_another_id(self, batch: ProducerBatch) -> bool:
        """Whether a producer of before KIP-360 has taken a new id since: it does not send such a batch again."""
        return self.producer.config.legacy and batch.base_sequence != -1 and batch.producer != self.producer.identity

    def _retries_left(self, batch: ProducerBatch) -> bool:
        return batch.attempts - 1 < self.producer.config.retries

    def _may_retry(self, batch: ProducerBatch, produced: PartitionProduced) -> bool:
        producer, error = self.producer, produced.error
        expired = producer.port.now - batch.created_ms >= producer.delivery_timeout_ms
        if expired or not self._retries_left(batch) or self._of_another_id(batch):
            return False
        if producer.config.enable_idempotence and error is Error.UNKNOWN_PRODUCER_ID:
            return self._without_state(batch, produced.log_start_offset)
        if producer.config.enable_idempotence and error is Error.OUT_OF_ORDER_SEQUENCE_NUMBER:
            return self._out_of_order(batch)
        return error.retriable

    def _out_of_order(self, batch: ProducerBatch) -> bool:
        """A batch behind a failed one is sent again. The next one in line fails a transaction; an idempotent-only
        producer raises its epoch by itself and numbers the partition anew.
        """
        partition, unresolved = batch.partition, self.sequences.unresolved
        in_line = self.sequences.follows_acked(partition, batch.base_sequence)
        if partition not in unresolved and (batch.renumbered or not in_line):
            return True
        if self.producer.transactional or self.producer.config.legacy:
            return False
        if unresolved.get(partition, batch.base_sequence) == batch.base_sequence:
            self._number_anew(partition)
        return True

    def _without_state(self, batch: ProducerBatch, log_start_offset: int) -> bool:
        """UNKNOWN_PRODUCER_ID: the head of the log, and this producer's state with it, may have been deleted."""
        if log_start_offset == -1 or batch.renumbered:
            return True
        if not self.producer.transactional and not self.producer.config.legacy:
            self._number_anew(batch.partition)
            return True
        if self.sequences.last_acked_offset.get(batch.partition, -1) < log_start_offset:
            self.accumulator.rewrite(batch.partition, self.producer.identity)
            return True
        return False

    def fail(self, batch: ProducerBatch, exception: KafkaError, adjust: bool) -> None:
        """The batch is given up; `adjust`: the leader has surely not taken it, so its sequences are free again."""
        producer = self.producer
        self.accumulator.remove(batch)
        batch.give_up(exception)
        if not producer.config.enable_idempotence:
            return
        producer.meet(exception)
        if producer.fatal or batch.base_sequence == -1:
            return
        if producer.config.legacy:
            self._fail_as_before_kip_360(batch, exception, adjust)
        elif isinstance(exception, UnknownProducerIdError):
            self.sequences.next[batch.partition] = 0
            self.sequences.last_acked.pop(batch.partition, None)
        elif isinstance(exception, OutOfOrderSequenceError) and not producer.transactional:
            self._number_anew(batch.partition)
        elif adjust and producer.transactional:
            self.sequences.give_back(batch, self.accumulator.numbered(batch.partition))
        elif adjust:
            self._number_anew(batch.partition)

    def _fail_as_before_kip_360(self, batch: ProducerBatch, exception: KafkaError, adjust: bool) -> None:
        """A gap makes an idempotent-only producer give its id up; otherwise the sequences are free again."""
        if isinstance(exception, OutOfOrderSequenceError) and not self.producer.transactional:
            if not self._of_another_id(batch):
                self._give_id_up()
        elif adjust:
            self.sequences.give_back(batch, self.accumulator.numbered(batch.partition))

    def _give_id_up(self) -> None:
        """The next producer id comes from a broker, and every partition begins at 0 (Kafka: `resetProducerId`)."""
        self.producer.producer_id = self.producer.producer_epoch = -1
        self.sequences.reset()

    def expire(self) -> None:
        """Give up what is older than delivery.timeout.ms; one that was sent again may have arrived: left open."""
        producer = self.producer
        for batch in self.accumulator.all():
            if producer.port.now - batch.created_ms < producer.delivery_timeout_ms:
                continue
            text = (
                f"Expiring {len(batch.records)} record(s) for {batch.partition}:"
                f"{producer.delivery_timeout_ms} ms has passed since batch creation"
            )
            self.fail(batch, KafkaTimeoutError(text, Error.REQUEST_TIMED_OUT), adjust=False)
            if batch.retried and producer.config.enable_idempotence:
                self.sequences.leave_open(batch)

    def resolve(self) -> None:
        """A partition left open with nothing under way: later batches arrived, or the gap must be closed."""
        for partition in list(self.sequences.unresolved):
            if self.accumulator.numbered(partition):
                continue
            del self.sequences.unresolved[partition]
            if self.sequences.follows_acked(partition, self.sequences.next.get(partition, 0)):
                continue
            if self.producer.transactional:
                self.producer.fail(KafkaError(UNACKNOWLEDGED + "It is safe to abort the transaction and continue."),
                                   Reaction.RECOVERABLE)  # fmt: skip
            elif self.producer.config.legacy:
                self._give_id_up()
            else:
                self._number_anew(partition)

    def _number_anew(self, partition: str) -> None:
        if partition not in self._restart:
            self._restart.append(partition)

    def bump_epoch(self) -> None:
        """An idempotent-only producer takes the next epoch by itself, without any request, up to 32767 (KIP-360)."""
        producer = self.producer
        if not self._restart or producer.producer_id == -1:
            return
        if producer.producer_epoch >= EPOCH_MAX:
            producer.producer_id = producer.producer_epoch = -1  # the next producer id comes from a broker
            return
        producer.producer_epoch += 1
        producer.note()
        self.restart_sequences()

    def restart_sequences(self) -> None:
        """The partitions with a gap begin at 0 under the identity of now."""
        for partition in self._restart:
            self.accumulator.rewrite(partition, self.producer.identity)
        self._restart.clear()
