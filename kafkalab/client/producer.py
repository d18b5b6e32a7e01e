"""The producer: methods named and behaving as those of Java's `KafkaProducer`, in snake_case, as coroutines."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from kafkalab.client.accumulator import Accumulator
from kafkalab.client.blocking import BlockingCalls
from kafkalab.client.config import ProducerConfig, delivery_timeout_ms
from kafkalab.client.connection import ClientPort, Connection
from kafkalab.client.exceptions import (
    ApiError,
    IllegalStateError,
    InvalidTxnStateError,
    KafkaError,
    KafkaTimeoutError,
    RetriableError,
    TransactionAbortableError,
    TransactionAbortedError,
)
from kafkalab.client.failures import raised_again
from kafkalab.client.promise import Promise
from kafkalab.client.reactions import Reaction, reaction
from kafkalab.client.results import GroupMetadata, RecordMetadata
from kafkalab.client.sender import Sender
from kafkalab.client.transaction_requests import TransactionRequests
from kafkalab.client.transaction_state import SOURCES, ProducerState, check_transition
from kafkalab.core.errors import Error
from kafkalab.core.partitions import java_hash
from kafkalab.core.records import Record

NO_TRANSACTIONS = "Transactional method invoked on a non-transactional producer."
NO_TRANSACTION_MANAGER = (
    "Cannot use transactional methods without enabling transactions by setting the transactional.id "
    "configuration property"
)
EXHAUSTED = "Transaction Request was aborted after exhausting retries."


class Producer:
    """One producer. Without `transactional_id` it is idempotent only.

    An error that ends the transaction puts it into ABORTABLE_ERROR: call `abort_transaction`. One that ends the
    producer, such as ProducerFencedError, puts it into FATAL_ERROR: make a new one.
    """

    def __init__(self, port: ClientPort, config: ProducerConfig) -> None:
        self.port = port
        self.config = config
        self.delivery_timeout_ms = delivery_timeout_ms(config)
        self.transactional = config.transactional_id is not None
        self.connection = Connection(port)
        self.accumulator = Accumulator(config.batch_size)
        self.state = ProducerState.UNINITIALIZED
        self.producer_id, self.producer_epoch = -1, -1
        self.error: KafkaError | None = None
        self.started = False  # whether the broker may know of the present transaction
        self.bump_needed = False  # whether an abort must be followed by InitProducerId (TV0/TV1)
        self.transactions = TransactionRequests(self)
        self.sender = Sender(self)
        self.calls = BlockingCalls(self)

    # what an application calls

    async def init_transactions(self) -> None:
        """READY, with a producer id and an epoch; the unfinished transaction of a predecessor is aborted first."""
        self._check_transactional()
        await self.calls.run("init_transactions", self._init)

    def begin_transaction(self) -> Promise[None]:
        """IN_TRANSACTION. Nothing is sent: the coordinator learns of it with the first partition."""
        self._check_transactional()
        self.calls.check_none_pending("begin_transaction")
        self._check_error()
        self.move(ProducerState.IN_TRANSACTION)
        self.record("invoke", "begin_transaction")
        done: Promise[None] = self.port.promise()
        done.resolve(None)
        return done

    async def send(
        self, topic: str, value: str, key: str | None = None, partition: int | None = None
    ) -> Promise[RecordMetadata]:
        """The promise of the record's metadata; the record waits in the accumulator until its batch is sent.

        An ApiError, such as a topic that is not there within max.block.ms, fails the promise and the transaction, and
        nothing is raised; in the wrong state, or after another error, KafkaError is raised.
        """
        promise: Promise[RecordMetadata] = self.port.promise()
        try:
            self._check_may_send()
            name = await self._partition_for(topic, key, partition)
            self._check_may_send()
        except ApiError as error:
            if self.config.enable_idempotence:
                self.meet(error)
            promise.fail(error)
            return promise
        self.accumulator.add(name, Record(key, value), promise, self.port.now)
        if self.transactional:
            self.transactions.reach(name)
        self.sender.wake_after(self.config.linger_ms)
        return promise

    async def flush(self) -> None:
        """Every record sent before is acknowledged, or has failed."""
        await self.sender.flush()

    async def send_offsets_to_transaction(self, offsets: dict[str, int], group: GroupMetadata) -> None:
        """The offsets ({"in-0": 3}: the next one to read) are part of the transaction; an empty map does nothing."""
        if group is None:
            raise ValueError("Consumer group metadata could not be null")
        if group.generation_id > 0 and group.member_id == "":
            raise ValueError(f"Passed in group metadata {group} has generationId > 0 but member.id is empty")
        if offsets or not self.config.enable_idempotence:
            self._check_transactional()
        if not offsets:
            return
        self.calls.check_none_pending("send_offsets_to_transaction")
        self._check_error()
        if self.state is not ProducerState.IN_TRANSACTION:
            raise IllegalStateError(f"cannot add offsets in state {self.state.name}; call begin_transaction() first")
        step = self.transactions.add_offsets
        await self.calls.run("send_offsets_to_transaction", lambda: step(dict(offsets), group), again=False)

    async def commit_transaction(self) -> None:
        """All or nothing: flushed first, then decided; returns when the decision is replicated, before the markers."""
        self._check_transactional()
        await self.calls.run("commit_transaction", self._commit)

    async def abort_transaction(self) -> None:
        """Nothing of the transaction will be seen; what was not sent yet is dropped."""
        self._check_transactional()
        await self.calls.run("abort_transaction", self._abort)

    # the steps behind the calls

    async def _init(self) -> None:
        self._check_error()
        self.move(ProducerState.INITIALIZING)
        await self._initialise(expect=False)
        self.move(ProducerState.READY)

    async def _initialise(self, expect: bool) -> None:
        """A producer id and epoch; after an abortable error UNINITIALIZED: init_transactions may be called again."""
        try:
            await self.transactions.init_producer_id(expect)
        except KafkaError:
            if self.state is ProducerState.ABORTABLE_ERROR:
                self.move(ProducerState.UNINITIALIZED)
                self.error = None
            raise

    async def _commit(self) -> None:
        self._check_error()
        self.move(ProducerState.COMMITTING_TRANSACTION)
        await self.sender.flush()
        await self._end(committed=True)

    async def _abort(self) -> None:
        if self.state is not ProducerState.ABORTABLE_ERROR:
            self._check_error()
        self.move(ProducerState.ABORTING_TRANSACTION)
        self.transactions.forget_new()
        self.sender.drop(self.accumulator.never_sent(), TransactionAbortedError())
        await self.sender.flush()
        await self.transactions.quiet()
        await self._end(committed=False)

    async def _end(self, committed: bool) -> None:
        """READY. No EndTxn where nothing was started; a new epoch first where an error asked for one."""
        if self.failed and self.error is not None:
            raise self.error  # the call that waited gets the error itself
        if self.started:
            await self.transactions.end(committed)
        bump, self.bump_needed, self.started, self.error = self.bump_needed, False, False, None
        self.transactions.clear()
        if bump:
            self.move(ProducerState.INITIALIZING)
            await self._initialise(expect=True)
        self.move(ProducerState.READY)

    async def _partition_for(self, topic: str, key: str | None, partition: int | None) -> str:
        """The record's partition, once the topic and the partition are known; KafkaTimeoutError after max.block.ms."""
        if partition is not None and partition < 0:
            raise ValueError(f"Invalid partition: {partition}. Partition number should always be non-negative or null.")
        until, attempt = self.port.now + self.config.max_block_ms, 0
        while True:
            metadata = self.connection.metadata
            count = len(metadata.partitions_of(topic)) if metadata is not None else 0
            if count > (partition or 0):
                break
            if self.port.now >= until:
                where = f"Topic {topic} not present" if not count else f"Partition {partition} of topic {topic} with "
                where += f"partition count {count} is not present" if count else ""
                raise KafkaTimeoutError(
                    f"{where} in metadata after {self.config.max_block_ms} ms.", Error.REQUEST_TIMED_OUT
                )
            if attempt:
                await self.connection.back_off(attempt - 1)
            asking = self.port.spawn(self.connection.refreshed())
            await self.connection.done_within(asking, max(until - self.port.now, 0))
            attempt += 1
        if partition is None:
            partition = (java_hash(key) & 0x7FFFFFFF) % count if key else 0
        return f"{topic}-{partition}"

    # state

    @property
    def identity(self) -> tuple[int, int]:
        """Producer id and epoch."""
        return self.producer_id, self.producer_epoch

    @property
    def fatal(self) -> bool:
        return self.state is ProducerState.FATAL_ERROR

    @property
    def failed(self) -> bool:
        """Whether an error waits to be dealt with by the application."""
        return self.state in (ProducerState.ABORTABLE_ERROR, ProducerState.FATAL_ERROR)

    @property
    def _bumps_itself(self) -> bool:
        """Whether a new epoch takes an InitProducerId of this client: under TV2 EndTxn brings it."""
        return self.port.coordinator_bumps_epoch and self.port.transaction_version < 2

    def move(self, target: ProducerState) -> None:
        """The next state, if the table allows it; IllegalStateError and no change otherwise."""
        check_transition(self.state, target)
        self.state = target
        self.note()

    def note(self) -> None:
        """Record what this producer believes now."""
        data = {
            "transactional_id": self.config.transactional_id,
            "state": self.state.name,
            "producer_id": self.producer_id,
            "producer_epoch": self.producer_epoch,
        }
        self.record("state", "producer", data)

    def adopt(self, producer_id: int, producer_epoch: int) -> None:
        """A new identity: sequences start at 0 again."""
        self.producer_id, self.producer_epoch = producer_id, producer_epoch
        self.accumulator.sequences.reset()
        self.note()

    def meet(self, error: KafkaError) -> None:
        """A batch or a call of `send` failed: the transaction must be aborted, or the producer closed."""
        what = reaction("Produce", error.error) if error.error is not Error.NONE else Reaction.ABORTABLE
        if what is Reaction.FATAL:
            self.fail(error, what)
        elif self.transactional:
            completing = (ProducerState.COMMITTING_TRANSACTION, ProducerState.ABORTING_TRANSACTION)
            if self._bumps_itself and self.state not in completing:
                self.bump_needed = True
            if isinstance(error, RetriableError | InvalidTxnStateError):
                cause = error
                error = TransactionAbortableError(EXHAUSTED, cause.error)
                error.__cause__ = cause
            self.fail(error, Reaction.ABORTABLE)

    def fail(self, exception: KafkaError, what: Reaction) -> None:
        """Go into the error state that the table says. While aborting, an abortable error is ignored.

        An error in a state that knows none is fatal: nothing is certain any more (KAFKA-14831).
        """
        if what is Reaction.RECOVERABLE:
            self.bump_needed = self.bump_needed or self._bumps_itself
            recoverable = self.port.coordinator_bumps_epoch or self.port.transaction_version >= 2
            what = Reaction.ABORTABLE if recoverable else Reaction.FATAL
        if what is Reaction.ABORTABLE:
            if self.fatal or self.state is ProducerState.ABORTING_TRANSACTION:
                return
            if self.state in SOURCES[ProducerState.ABORTABLE_ERROR]:
                self.error = exception
                self.move(ProducerState.ABORTABLE_ERROR)
                self.sender.wake()
                return
            cause = exception
            exception = IllegalStateError(f"an error in state {self.state.name}: {cause}", cause.error)
            exception.__cause__ = cause
        self.error, self.state = exception, ProducerState.FATAL_ERROR
        self.note()
        self.sender.wake()

    def _check_may_send(self) -> None:
        """Nothing pending, no error, and in a transaction if the producer has them."""
        if self.config.enable_idempotence:
            self.calls.check_none_pending("send")
            self._check_error()
        if self.transactional and self.state is not ProducerState.IN_TRANSACTION:
            raise IllegalStateError(f"cannot send in state {self.state.name}; call begin_transaction() first")

    def _check_error(self) -> None:
        if self.failed and self.error is not None:
            raise raised_again(self.error)

    def _check_transactional(self) -> None:
        if not self.transactional:
            raise IllegalStateError(NO_TRANSACTIONS if self.config.enable_idempotence else NO_TRANSACTION_MANAGER)

    def record(self, kind: str, name: str, data: dict[str, Any] | None = None) -> None:
        """One event of this producer."""
        self.port.record(kind, name, data or {"transactional_id": self.config.transactional_id})

    def spawn(self, coroutine: Coroutine[Any, Any, Any]) -> Promise[Any]:
        """Run a step beside the application's program."""
        return self.port.spawn(coroutine)


__all__ = ["GroupMetadata", "Producer", "RecordMetadata"]
