"""The producer's sender: batches to leaders, at most five requests in flight, retried in order (facts 7.4)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafkalab.api.init_producer_id import InitProducerId, InitProducerIdReply
from kafkalab.api.produce import PartitionProduced, Produce, ProduceReply
from kafkalab.client.accumulator import ProducerBatch
from kafkalab.client.exceptions import KafkaTimeoutError, TransactionAbortedError, exception_for
from kafkalab.client.promise import Promise
from kafkalab.client.reactions import Reaction, reaction
from kafkalab.core.errors import Error

if TYPE_CHECKING:
    from kafkalab.client.producer import Producer

REFRESH = (Error.NOT_LEADER_OR_FOLLOWER, Error.UNKNOWN_TOPIC_OR_PARTITION, Error.NETWORK_EXCEPTION)


class Sender:
    """Drains the accumulator; every record's promise is kept or broken here."""

    def __init__(self, producer: Producer) -> None:
        self.producer = producer
        self.requests: dict[str, int] = {}  # node -> Produce requests in flight
        self._woken = False
        self._flushing: list[Promise[Any]] = []
        self._identifying = False
        self._backing_off = self._stale = self._expiring = False

    def wake(self) -> None:
        """Drain as soon as the present moment's work is done."""
        self.wake_after(0)

    def wake_after(self, delay_ms: int) -> None:
        """Drain after so long, and also now if partitions must be added to the transaction."""
        self._watch_expiry()
        if delay_ms:
            self.producer.port.timer(delay_ms, self._drain)
            delay_ms = 0
        if not self._woken:
            self._woken = True
            self.producer.port.timer(delay_ms, self._drain_woken)

    def _drain_woken(self) -> None:
        self._woken = False
        self._drain()

    async def flush(self) -> None:
        """Nothing is queued or in flight any more."""
        if not self.producer.accumulator.incomplete():
            return
        done: Promise[Any] = self.producer.port.promise()
        self._flushing.append(done)
        self.wake()
        await done

    def drop_unsent(self) -> None:
        """The transaction cannot commit: what waits for its partition to be added fails with it."""
        error = self.producer.error or TransactionAbortedError("the transaction was aborted")
        for batch in self.producer.accumulator.unsent():
            for promise in batch.promises:
                promise.fail(error)
        self._finish_flush()

    def _drain(self) -> None:
        producer = self.producer
        if producer.config.transactional_id is not None:
            producer.transactions.begin_adding()
        elif producer.config.enable_idempotence and producer.producer_id == -1:
            self._identify()
            return
        metadata = producer.connection.metadata
        if metadata is None or self._backing_off:
            return
        chosen: dict[str, list[str]] = {}
        flushing, accumulator = bool(self._flushing), producer.accumulator
        for partition in list(accumulator.queues):
            if not accumulator.ready(partition, producer.port.now, producer.config.linger_ms, flushing):
                continue
            if not accumulator.drains_for(partition, (producer.producer_id, producer.producer_epoch)):
                continue
            if producer.config.transactional_id is not None and not producer.transactions.may_send_to(partition):
                continue
            leader = metadata.leader(partition)
            if leader == "":
                self._retry_later(0, refresh=True)
            elif self.requests.get(leader, 0) < producer.config.max_in_flight_requests_per_connection:
                chosen.setdefault(leader, []).append(partition)
        for leader, partitions in chosen.items():
            identity = (producer.producer_id, producer.producer_epoch)
            self._send(leader, {p: accumulator.take(p, identity) for p in partitions})

    def _send(self, leader: str, batches: dict[str, ProducerBatch]) -> None:
        producer = self.producer
        transactional = producer.config.transactional_id is not None
        request = Produce(
            transactional_id=producer.config.transactional_id,
            acks=producer.config.acks,
            timeout_ms=producer.config.request_timeout_ms,
            batches={p: b.as_batch(transactional) for p, b in batches.items()},
        )
        self.requests[leader] = self.requests.get(leader, 0) + 1

        def answered(reply: ProduceReply | None) -> None:
            self.requests[leader] -= 1
            for partition, batch in batches.items():
                lost = PartitionProduced(error=Error.NETWORK_EXCEPTION)
                self._answered(batch, reply.partitions[partition] if reply else lost)
            self._finish_flush()
            self._drain()

        producer.port.request(leader, request, answered)

    def _watch_expiry(self) -> None:
        """One timer for the oldest batch that waits in a queue; it does not by itself keep a run going."""
        waiting = [q[0].created_ms for q in self.producer.accumulator.queues.values() if q]
        if waiting and not self._expiring:
            self._expiring = True
            due = min(waiting) + self.producer.config.delivery_timeout_ms
            self.producer.port.deadline(max(due - self.producer.port.now, 0), self._expiry_due)

    def _expiry_due(self) -> None:
        self._expiring = False
        self._expire()
        self._finish_flush()
        self._watch_expiry()

    def _expire(self) -> None:
        """Give up what has waited in its queue for longer than delivery.timeout.ms."""
        producer = self.producer
        oldest = producer.port.now - producer.config.delivery_timeout_ms
        for queue in producer.accumulator.queues.values():
            while queue and queue[0].created_ms <= oldest:
                self._give_up(queue.popleft(), Error.REQUEST_TIMED_OUT, Reaction.RETRY)

    def _answered(self, batch: ProducerBatch, produced: PartitionProduced) -> None:
        producer, error = self.producer, produced.error
        if error in (Error.NONE, Error.DUPLICATE_SEQUENCE_NUMBER):
            producer.accumulator.acked(batch)
            base = produced.base_offset if error is Error.NONE else -1
            self._keep(batch, base)
            return
        what = reaction("Produce", error)
        if error is Error.OUT_OF_ORDER_SEQUENCE_NUMBER:
            what = self._out_of_order(batch, what)
        expired = producer.port.now - batch.created_ms >= producer.config.delivery_timeout_ms
        aborting = producer.error is not None or producer.state.name == "ABORTING_TRANSACTION"
        if what is Reaction.RETRY and not expired and not aborting:
            producer.accumulator.again(batch)
            self._retry_later(batch.attempts, refresh=error in REFRESH)
            return
        producer.accumulator.failed(batch)
        self._give_up(batch, error, what)

    def _give_up(self, batch: ProducerBatch, error: Error, what: Reaction) -> None:
        """Break the promises of a batch; a transaction that it belonged to cannot commit any more."""
        producer = self.producer
        failure = exception_for(error, f"Produce to {batch.partition}")
        if what is Reaction.RETRY:
            failure = KafkaTimeoutError(f"Expiring {len(batch.records)} record(s) for {batch.partition}", error)
            what = Reaction.ABORTABLE
        for promise in batch.promises:
            promise.fail(failure)
        if producer.state.name not in ("COMMITTING_TRANSACTION", "ABORTING_TRANSACTION"):
            producer.bump_needed = True
        producer.fail(error, what, f"Produce to {batch.partition}")

    def _out_of_order(self, batch: ProducerBatch, what: Reaction) -> Reaction:
        """A batch behind a failed one is sent again. The next one in line fails a transaction; an idempotent-only
        producer raises its epoch by itself and numbers the partition anew (facts 7.4).
        """
        producer = self.producer
        if not producer.accumulator.is_next(batch):
            return Reaction.RETRY
        if producer.config.transactional_id is not None:
            return what
        if batch.producer == (producer.producer_id, producer.producer_epoch):
            producer.producer_epoch += 1
            producer.note()
        producer.accumulator.rewrite(batch.partition, (producer.producer_id, producer.producer_epoch))
        return Reaction.RETRY

    def _keep(self, batch: ProducerBatch, base_offset: int) -> None:
        from kafkalab.client.producer import RecordMetadata

        for i, promise in enumerate(batch.promises):
            promise.resolve(RecordMetadata(batch.partition, base_offset + i if base_offset >= 0 else -1))

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
        self._expire()
        self._drain()
        self._finish_flush()

    def _finish_flush(self) -> None:
        if self._flushing and not self.producer.accumulator.incomplete():
            waiting, self._flushing = self._flushing, []
            for promise in waiting:
                promise.resolve(None)

    def _identify(self) -> None:
        """An idempotent-only producer gets its producer id from any broker before its first batch."""
        if not self._identifying:
            self._identifying = True
            self.producer.spawn(self._ask_identity())

    async def _ask_identity(self) -> None:
        producer, attempt = self.producer, 0
        while producer.producer_id == -1:
            reply: InitProducerIdReply | None = await producer.connection.call(
                producer.connection.any_broker(), InitProducerId(transactional_id=None)
            )
            if reply is not None and reply.error is Error.NONE:
                producer.adopt(reply.producer_id, reply.producer_epoch)
                break
            if reply is None:
                producer.connection.ask_another()
            await producer.connection.back_off(attempt)
            attempt += 1
        self._drain()
