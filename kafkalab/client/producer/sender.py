"""The sender: batches to leaders, at most five requests in flight, retried in order (docs/protocol.md#batch-retries;
`Sender`)."""

from __future__ import annotations

from typing import Any

from kafkalab.client.connection import Connection
from kafkalab.client.exceptions import KafkaError, TransactionAbortedError
from kafkalab.client.producer.accumulator import Accumulator
from kafkalab.client.producer.batch_responses import BatchResponses
from kafkalab.client.producer_batch import ProducerBatch
from kafkalab.client.promise import Promise
from kafkalab.client.transaction_manager.coordinator_requests import CoordinatorRequests
from kafkalab.client.transaction_manager.transaction_manager import TransactionManager
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.produce import PartitionProduced, Produce, ProduceResponse
from kafkalab.protocol.transition_tables.producer import ProducerState

REFRESH = (
    Error.NOT_LEADER_OR_FOLLOWER, Error.UNKNOWN_TOPIC_OR_PARTITION, Error.LEADER_NOT_AVAILABLE,
    Error.KAFKA_STORAGE_ERROR, Error.FENCED_LEADER_EPOCH,
)  # fmt: skip
"""The errors of Java's InvalidMetadataException; a lost connection asks for new metadata as well."""


class Sender:
    """Drain the accumulator. In an error state, or while aborting, a producer's unsent batches are dropped."""

    def __init__(self, requests: CoordinatorRequests, accumulator: Accumulator) -> None:
        self.requests, self.accumulator = requests, accumulator
        self.manager: TransactionManager = requests.manager
        self.connection: Connection = requests.connection
        self.port, self.config = self.manager.port, self.manager.config
        self.responses = BatchResponses(self.manager, accumulator)
        self.in_flight: dict[str, int] = {}  # node -> Produce requests without an answer
        self._flushing: list[Promise[Any]] = []
        self._woken = self._backing_off = self._stale = self._expiring = self._initialising = False

    def wake(self) -> None:
        """Drain once the work of the present millisecond is done."""
        self.wake_after(0)

    def wake_after(self, delay_ms: int) -> None:
        """Drain after `delay_ms`, and also now: partitions may have to be added to the transaction."""
        self._watch_expiry()
        if delay_ms:
            self.port.timer(delay_ms, self.drain)
            delay_ms = 0
        if not self._woken:
            self._woken = True
            self.port.timer(delay_ms, self._drain_woken)

    def _drain_woken(self) -> None:
        self._woken = False
        self.drain()

    async def flush(self) -> None:
        """Wait until nothing is queued or in flight."""
        if not self.accumulator.incomplete():
            return
        done: Promise[Any] = self.port.promise()
        self._flushing.append(done)
        self.wake()
        await done

    def drop(self, batches: list[ProducerBatch], error: KafkaError) -> None:
        """Give these batches up; nothing else changes."""
        for batch in batches:
            self.accumulator.remove(batch)
            batch.give_up(error)
        self._finish_flush()

    def _drop_unsendable(self) -> None:
        """Drop everything after a fatal error; what was never sent after an abortable one, and while aborting."""
        manager, accumulator = self.manager, self.accumulator
        if manager.fatal and manager.error is not None:
            self.drop(accumulator.all(), manager.error)
        elif manager.failed and manager.error is not None:
            self.drop(accumulator.never_sent(), manager.error)
        elif manager.state is ProducerState.ABORTING_TRANSACTION:
            self.drop(accumulator.never_sent(), TransactionAbortedError())

    def drain(self) -> None:
        """Drop what can no longer be sent, then send what may go now."""
        manager, accumulator = self.manager, self.accumulator
        if manager.closed:
            return
        if self.config.enable_idempotence:
            self.responses.resolve()
            self._drop_unsendable()
        if manager.transactional:
            self.requests.add_new_partitions()
        elif self.config.enable_idempotence:
            if manager.bump_idempotent_epoch():
                accumulator.restart_sequences(manager.identity)
            if manager.producer_id == -1:
                if accumulator.incomplete() and not self._initialising:
                    self._initialising = True
                    self.port.spawn(self._initialise())
                return
        if self.connection.metadata is None or self._backing_off:
            return
        while chosen := self._choose_partitions():  # each request takes one batch of a partition
            for leader, partitions in chosen.items():
                self._send(leader, {p: accumulator.take(p, manager.identity) for p in partitions})

    async def _initialise(self) -> None:
        """Take a producer id for an idempotent-only producer; if that is refused, the waiting batches fail."""
        try:
            await self.requests.initialise_idempotent()
        except KafkaError as error:
            self.drop(self.accumulator.all(), error)
        if self.manager.producer_id != -1:
            self.accumulator.restart_sequences(self.manager.identity)
        self._initialising = False
        self.drain()

    def _choose_partitions(self) -> dict[str, list[str]]:
        """Return the partitions whose first batch goes now, by leader."""
        manager, accumulator, metadata = self.manager, self.accumulator, self.connection.metadata
        assert metadata is not None
        chosen: dict[str, list[str]] = {}
        for partition in list(accumulator.queues):
            if not accumulator.ready(partition, self.port.now, bool(self._flushing)):
                continue
            if not accumulator.drains_for(partition, manager.identity):
                continue
            if not manager.may_send_to(partition):
                continue
            leader = metadata.leader(partition)
            if leader == "":
                self._retry_later(0, refresh=True)
            elif self.in_flight.get(leader, 0) < self.config.max_in_flight_requests_per_connection:
                chosen.setdefault(leader, []).append(partition)
        return chosen

    def _send(self, leader: str, batches: dict[str, ProducerBatch]) -> None:
        request = Produce(
            transactional_id=self.config.transactional_id,
            acks=int(self.config.acks),
            timeout_ms=self.config.request_timeout_ms,
            batches={p: b.as_batch(self.manager.transactional) for p, b in batches.items()},
        )
        self.in_flight[leader] = self.in_flight.get(leader, 0) + 1

        def on_response(response: ProduceResponse | None) -> None:
            self.in_flight[leader] -= 1
            timed_out, text = self.port.timed_out, ""
            lost = PartitionProduced(error=Error.REQUEST_TIMED_OUT if timed_out else Error.NETWORK_EXCEPTION)
            if response is None:
                text = f"Disconnected from node {leader.removeprefix('b')}{' due to timeout' if timed_out else ''}"
            for partition, batch in batches.items():
                produced = response.partitions[partition] if response else lost
                if self.responses.handle(batch, produced, text):
                    self._retry_later(batch.attempts, refresh=response is None or produced.error in REFRESH)
            self._finish_flush()
            self.drain()

        version = self.manager.transaction_version if self.manager.transactional else None
        self.port.request(
            leader, request, on_response, timeout_ms=self.config.request_timeout_ms, transaction_version=version
        )

    def _watch_expiry(self) -> None:
        """Set one timer for the oldest batch; it does not by itself keep a run going."""
        if self._expiring:
            return
        due = self.accumulator.next_expiry_ms()
        if due is not None:
            self._expiring = True
            self.port.deadline(max(due - self.port.now, 0), self._expiry_due)

    def _expiry_due(self) -> None:
        self._expiring = False
        self.responses.expire()
        self._finish_flush()
        self.drain()
        self._watch_expiry()

    def _retry_later(self, attempt: int, refresh: bool) -> None:
        """Drain again after a back-off, one at a time; `refresh` asks for new metadata first."""
        self._stale = self._stale or refresh
        if not self._backing_off:
            self._backing_off = True
            self.port.spawn(self._back_off(attempt))

    async def _back_off(self, attempt: int) -> None:
        await self.connection.back_off(max(attempt - 1, 0))
        if self._stale:
            self.connection.ask_another()
            self._stale = not await self.connection.try_refresh()
        self._backing_off = False
        self.responses.expire()
        self.drain()
        self._finish_flush()

    def _finish_flush(self) -> None:
        if self._flushing and not self.accumulator.incomplete():
            waiting, self._flushing = self._flushing, []
            for promise in waiting:
                promise.resolve(None)
