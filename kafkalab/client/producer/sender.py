"""The producer's sender: batches to leaders, at most five requests in flight, retried in order (facts 7.4)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafkalab.client.exceptions import KafkaError, TransactionAbortedError
from kafkalab.client.producer.batch import ProducerBatch
from kafkalab.client.producer.batch_responses import BatchAnswers
from kafkalab.client.promise import Promise
from kafkalab.client.transaction_manager.own_identity import OwnIdentity
from kafkalab.client.transaction_manager.transition_table import ProducerState
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.produce import PartitionProduced, Produce, ProduceResponse

if TYPE_CHECKING:
    from kafkalab.client.producer.producer import Producer

REFRESH = (Error.NOT_LEADER_OR_FOLLOWER, Error.UNKNOWN_TOPIC_OR_PARTITION, Error.NETWORK_EXCEPTION)


class Sender:
    """Drains the accumulator. What a producer in an error state, or an aborting one, has not sent it never sends."""

    def __init__(self, producer: Producer) -> None:
        self.producer = producer
        self.answers = BatchAnswers(producer)
        self.identity = OwnIdentity(producer)
        self.requests: dict[str, int] = {}  # node -> Produce requests in flight
        self._woken = False
        self._flushing: list[Promise[Any]] = []
        self._backing_off = self._stale = self._expiring = False

    def wake(self) -> None:
        """Drain as soon as the present moment's work is done."""
        self.wake_after(0)

    def wake_after(self, delay_ms: int) -> None:
        """Drain after so long, and also now if partitions must be added to the transaction."""
        self._watch_expiry()
        if delay_ms:
            self.producer.port.timer(delay_ms, self.drain)
            delay_ms = 0
        if not self._woken:
            self._woken = True
            self.producer.port.timer(delay_ms, self._drain_woken)

    def _drain_woken(self) -> None:
        self._woken = False
        self.drain()

    async def flush(self) -> None:
        """Nothing is queued or in flight any more."""
        if not self.producer.accumulator.incomplete():
            return
        done: Promise[Any] = self.producer.port.promise()
        self._flushing.append(done)
        self.wake()
        await done

    def drop(self, batches: list[ProducerBatch], error: KafkaError) -> None:
        """These are given up; nothing else changes."""
        for batch in batches:
            self.producer.accumulator.remove(batch)
            batch.give_up(error)
        self._finish_flush()

    def _drop_what_cannot_go(self) -> None:
        """After a fatal error everything; after an abortable one, and while aborting, what was never sent."""
        producer, accumulator = self.producer, self.producer.accumulator
        if producer.fatal and producer.error is not None:
            self.drop(accumulator.all(), producer.error)
        elif producer.failed and producer.error is not None:
            self.drop(accumulator.never_sent(), producer.error)
        elif producer.state is ProducerState.ABORTING_TRANSACTION:
            self.drop(accumulator.never_sent(), TransactionAbortedError())

    def drain(self) -> None:
        """Send what may go now, after what cannot go any more was dropped."""
        producer = self.producer
        if producer.forced:
            return
        if producer.config.enable_idempotence:
            self.answers.resolve()
            self._drop_what_cannot_go()
        if producer.transactional:
            producer.transactions.begin_adding()
        elif producer.config.enable_idempotence:
            self.answers.bump_epoch()
            if producer.producer_id == -1:
                if producer.accumulator.incomplete():
                    self.identity.ask()
                return
        if producer.connection.metadata is None or self._backing_off:
            return
        while chosen := self._chosen():  # each request takes one batch of a partition
            for leader, partitions in chosen.items():
                self._send(leader, {p: producer.accumulator.take(p, producer.identity) for p in partitions})

    def _chosen(self) -> dict[str, list[str]]:
        """The partitions whose first batch goes now, by leader."""
        producer, accumulator, metadata = self.producer, self.producer.accumulator, self.producer.connection.metadata
        assert metadata is not None
        chosen: dict[str, list[str]] = {}
        for partition in list(accumulator.queues):
            if not accumulator.ready(partition, producer.port.now, producer.config.linger_ms, bool(self._flushing)):
                continue
            if not accumulator.drains_for(partition, producer.identity):
                continue
            if producer.transactional and not producer.transactions.may_send_to(partition):
                continue
            leader = metadata.leader(partition)
            if leader == "":
                self._retry_later(0, refresh=True)
            elif self.requests.get(leader, 0) < producer.config.max_in_flight_requests_per_connection:
                chosen.setdefault(leader, []).append(partition)
        return chosen

    def _send(self, leader: str, batches: dict[str, ProducerBatch]) -> None:
        producer = self.producer
        request = Produce(
            transactional_id=producer.config.transactional_id,
            acks=int(producer.config.acks),
            timeout_ms=producer.config.request_timeout_ms,
            batches={p: b.as_batch(producer.transactional) for p, b in batches.items()},
        )
        self.requests[leader] = self.requests.get(leader, 0) + 1

        def answered(response: ProduceResponse | None) -> None:
            self.requests[leader] -= 1
            lost = PartitionProduced(error=Error.NETWORK_EXCEPTION)
            for partition, batch in batches.items():
                produced = response.partitions[partition] if response else lost
                if self.answers.take(batch, produced):
                    self._retry_later(batch.attempts, refresh=produced.error in REFRESH)
            self._finish_flush()
            self.drain()

        producer.port.request(leader, request, answered, timeout_ms=producer.config.request_timeout_ms)

    def _watch_expiry(self) -> None:
        """One timer for the oldest batch without an answer; it does not by itself keep a run going."""
        if self._expiring:
            return
        created = [b.created_ms for b in self.producer.accumulator.all()]
        if created:
            self._expiring = True
            due = min(created) + self.producer.delivery_timeout_ms
            self.producer.port.deadline(max(due - self.producer.port.now, 0), self._expiry_due)

    def _expiry_due(self) -> None:
        self._expiring = False
        self.answers.expire()
        self._finish_flush()
        self.drain()
        self._watch_expiry()

    def _retry_later(self, attempt: int, refresh: bool) -> None:
        """Drain again after a back-off; only one such wait is under way."""
        self._stale = self._stale or refresh
        if not self._backing_off:
            self._backing_off = True
            self.producer.spawn(self._back_off(attempt))

    async def _back_off(self, attempt: int) -> None:
        await self.producer.connection.back_off(max(attempt - 1, 0))
        if self._stale:
            self.producer.connection.ask_another()
            self._stale = not await self.producer.connection.refreshed()
        self._backing_off = False
        self.answers.expire()
        self.drain()
        self._finish_flush()

    def _finish_flush(self) -> None:
        if self._flushing and not self.producer.accumulator.incomplete():
            waiting, self._flushing = self._flushing, []
            for promise in waiting:
                promise.resolve(None)
