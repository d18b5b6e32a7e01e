"""The producer: methods named and behaving as those of Java's `KafkaProducer`, in snake_case, as coroutines."""

from __future__ import annotations

from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any

from kafkalab.client.accumulator import Accumulator
from kafkalab.client.config import ProducerConfig
from kafkalab.client.connection import ClientPort, Connection
from kafkalab.client.exceptions import (
    IllegalStateError,
    KafkaError,
    KafkaTimeoutError,
    TransactionAbortedError,
    exception_for,
)
from kafkalab.client.promise import Promise
from kafkalab.client.reactions import Reaction
from kafkalab.client.sender import Sender
from kafkalab.client.transaction_requests import TransactionRequests
from kafkalab.client.transaction_state import ProducerState, check_transition
from kafkalab.core.errors import Error
from kafkalab.core.partitions import java_hash
from kafkalab.core.records import Record


@dataclass(frozen=True, slots=True)
class RecordMetadata:
    """Where a record lies: "out-0" and its offset (-1 where the leader only said that it has it already)."""

    partition: str
    offset: int


@dataclass(frozen=True, slots=True)
class GroupMetadata:
    """What `Consumer.group_metadata()` returns and `send_offsets_to_transaction` takes (KIP-447)."""

    group_id: str
    generation_id: int = -1
    member_id: str = ""


class Producer:
    """One producer. Without `transactional_id` it is idempotent only.

    An error that ends the transaction puts it into ABORTABLE_ERROR: call `abort_transaction`. One that ends the
    producer, such as ProducerFencedError, puts it into FATAL_ERROR: make a new one.
    """

    def __init__(self, port: ClientPort, config: ProducerConfig) -> None:
        self.port = port
        self.config = config
        self.connection = Connection(port)
        self.accumulator = Accumulator(config.batch_size)
        self.state = ProducerState.UNINITIALIZED
        self.producer_id, self.producer_epoch = -1, -1
        self.error: KafkaError | None = None
        self.started = False  # whether the broker may know of the present transaction
        self.bump_needed = False
        self.transactions = TransactionRequests(self)
        self.sender = Sender(self)
        self._pending: tuple[str, Promise[Any]] | None = None

    # what an application calls

    async def init_transactions(self) -> None:
        """READY, with a producer id and an epoch; the unfinished transaction of a predecessor is aborted first."""
        self._transactional()
        await self._blocking("init_transactions", self._init)

    def begin_transaction(self) -> Promise[None]:
        """IN_TRANSACTION. Nothing is sent: the coordinator learns of it with the first partition."""
        self._transactional()
        self._check_error()
        self.move(ProducerState.IN_TRANSACTION)
        self.started = self.bump_needed = False
        self._record("invoke", "begin_transaction")
        done: Promise[None] = self.port.promise()
        done.resolve(None)
        return done

    async def send(
        self, topic: str, value: str, key: str | None = None, partition: int | None = None
    ) -> Promise[RecordMetadata]:
        """The promise of the record's metadata; the record waits in the accumulator until its batch is sent."""
        if self.config.transactional_id is not None:
            self._check_error()
            if self.state is not ProducerState.IN_TRANSACTION:
                raise IllegalStateError(f"cannot send in state {self.state.name}; call begin_transaction() first")
        metadata = await self.connection.known()
        partitions = metadata.partitions_of(topic)
        if not partitions:
            partitions = (await self.connection.refresh()).partitions_of(topic)
        if not partitions:
            raise KafkaTimeoutError(f"Topic {topic} not present in metadata after {self.config.max_block_ms} ms.")
        if partition is None:
            partition = (java_hash(key) & 0x7FFFFFFF) % len(partitions) if key else 0
        if not 0 <= partition < len(partitions):
            raise KafkaError(f"topic {topic} has partitions 0 to {len(partitions) - 1}, not {partition}")
        name, promise = f"{topic}-{partition}", self.port.promise()
        self.accumulator.add(name, Record(key, value), promise, self.port.now)
        if self.config.transactional_id is not None:
            self.transactions.reach(name)
        self.sender.wake_after(self.config.linger_ms)
        return promise

    async def flush(self) -> None:
        """Every record sent before is acknowledged, or has failed."""
        await self.sender.flush()

    async def send_offsets_to_transaction(self, offsets: dict[str, int], group: GroupMetadata) -> None:
        """The offsets ({"in-0": 3}: the next one to read) are part of the transaction; an empty map does nothing."""
        self._transactional()
        if group.generation_id > 0 and group.member_id == "":
            raise ValueError("a generation without a member id")
        self._check_error()
        if self.state is not ProducerState.IN_TRANSACTION:
            raise IllegalStateError(f"cannot add offsets in state {self.state.name}; call begin_transaction() first")
        if offsets:
            await self._blocking("send_offsets_to_transaction", lambda: self.transactions.add_offsets(offsets, group))

    async def commit_transaction(self) -> None:
        """All or nothing: flushed first, then decided; returns when the decision is replicated, before the markers."""
        self._transactional()
        await self._blocking("commit_transaction", self._commit)

    async def abort_transaction(self) -> None:
        """Nothing of the transaction will be seen; what was not sent yet is dropped."""
        self._transactional()
        await self._blocking("abort_transaction", self._abort)

    # the steps behind the calls

    async def _init(self) -> None:
        self.move(ProducerState.INITIALIZING)
        await self.transactions.init_producer_id(expect=False)
        self._raise_error()
        self.move(ProducerState.READY)

    async def _commit(self) -> None:
        self._check_error()
        self.move(ProducerState.COMMITTING_TRANSACTION)
        await self.sender.flush()
        self._raise_error()
        if self.started:
            await self.transactions.end(committed=True)
        self._raise_error()
        self.move(ProducerState.READY)

    async def _abort(self) -> None:
        if self.state is ProducerState.FATAL_ERROR:
            self._raise_error()
        self.move(ProducerState.ABORTING_TRANSACTION)
        self.error = None
        for batch in self.accumulator.unsent():
            for promise in batch.promises:
                promise.fail(TransactionAbortedError("Failing batch since transaction was aborted"))
        await self.sender.flush()
        if self.started:
            await self.transactions.end(committed=False)
            self._raise_error()
            if self.bump_needed and self.port.transaction_version < 2:
                self.move(ProducerState.INITIALIZING)
                await self.transactions.init_producer_id(expect=True)
        self._raise_error()
        self.move(ProducerState.READY)

    async def _blocking(self, name: str, step: Any) -> None:
        """Wait for a step at most max.block.ms; one that timed out goes on, and the same call waits for it again."""
        if self._pending is not None:
            before, promise = self._pending
            if before != name:
                raise IllegalStateError(f"{before}() timed out and must be retried before {name}() is called")
        else:
            self._record("invoke", name)
            promise = self.port.spawn(step())
            self._pending = (name, promise)
        if not await self.connection.done_within(promise, self.config.max_block_ms):
            self._record("complete", name, {"outcome": "info", "error": "TimeoutException"})
            raise KafkaTimeoutError(f"{name}() took longer than max.block.ms ({self.config.max_block_ms} ms)")
        self._pending = None
        try:
            promise.result()
        except KafkaError as error:
            self._record("complete", name, {"outcome": "fail", "error": error.error.name})
            raise
        self._record("complete", name, {"outcome": "ok", "error": "NONE"})

    # state

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
        self._record("state", "producer", data)

    def adopt(self, producer_id: int, producer_epoch: int) -> None:
        """A new identity: sequences start at 0 again."""
        self.producer_id, self.producer_epoch = producer_id, producer_epoch
        self.accumulator.restart_sequences()
        self.note()

    def fail(self, error: Error, what: Reaction, where: str) -> None:
        """Go into the error state that the table says. While aborting, an abortable error is ignored."""
        exception = exception_for(
            Error.PRODUCER_FENCED if what is Reaction.FATAL and error is Error.INVALID_PRODUCER_EPOCH else error, where
        )
        if self.config.transactional_id is None:
            return
        if what is Reaction.FATAL:
            self.error, self.state = exception, ProducerState.FATAL_ERROR
            self.note()
        elif self.state not in (ProducerState.ABORTING_TRANSACTION, ProducerState.FATAL_ERROR):
            self.error = exception
            self.move(ProducerState.ABORTABLE_ERROR)

    def _check_error(self) -> None:
        if self.state in (ProducerState.ABORTABLE_ERROR, ProducerState.FATAL_ERROR):
            self._raise_error()

    def _raise_error(self) -> None:
        if self.error is not None:
            raise self.error

    def _transactional(self) -> None:
        if self.config.transactional_id is None:
            raise IllegalStateError("Transactional method invoked on a non-transactional producer.")

    def _record(self, kind: str, name: str, data: dict[str, Any] | None = None) -> None:
        self.port.record(kind, name, data or {"transactional_id": self.config.transactional_id})

    def spawn(self, coroutine: Coroutine[Any, Any, Any]) -> Promise[Any]:
        """Run a step beside the application's program."""
        return self.port.spawn(coroutine)
