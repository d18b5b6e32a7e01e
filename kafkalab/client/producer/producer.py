"""The producer: methods named and behaving as those of Java's `KafkaProducer`, in snake_case, as coroutines."""

from __future__ import annotations

from kafkalab.client.config.config import ProducerConfig
from kafkalab.client.connection import ClientPort, Connection
from kafkalab.client.exceptions import (
    ApiError,
    IllegalStateError,
    InvalidTxnStateError,
    KafkaError,
    KafkaTimeoutError,
    TransactionAbortedError,
    UnsupportedVersionError,
)
from kafkalab.client.producer.accumulator import Accumulator
from kafkalab.client.producer.blocking_calls import BlockingCalls
from kafkalab.client.producer.partitioner import StickyPartitioner
from kafkalab.client.producer.sender import Sender
from kafkalab.client.promise import Promise
from kafkalab.client.results import GroupMetadata, Offsets, RecordMetadata
from kafkalab.client.transaction_manager.coordinator_requests import CoordinatorRequests
from kafkalab.client.transaction_manager.transaction_manager import TransactionManager
from kafkalab.protocol.errors import Error
from kafkalab.protocol.partitions import topic_of
from kafkalab.protocol.records import Headers, Record
from kafkalab.protocol.transition_tables.producer import Action, Call, ProducerState

NO_TRANSACTIONS = "Transactional method invoked on a non-transactional producer."
NO_TRANSACTION_MANAGER = (
    "Cannot use transactional methods without enabling transactions by setting the transactional.id "
    "configuration property"
)
CLOSED = "Cannot perform operation after producer has been closed"
FORCED = "Producer is closed forcefully."
NO_TWO_PHASE = "Cannot prepare a transaction when 2PC is not enabled"
NOT_RELEASED = (
    "No released client can prepare a transaction. KIP-939 plans prepareTransaction(), and needs InitProducerId 6, "
    "which these brokers do not offer"
)


class Producer:
    """One producer. Without `transactional_id` it is idempotent only.

    An error that ends the transaction puts it into ABORTABLE_ERROR: call `abort_transaction`. One that ends the
    producer, such as ProducerFencedError, puts it into FATAL_ERROR: make a new one.
    """

    def __init__(self, port: ClientPort, config: ProducerConfig) -> None:
        self.port, self.config = port, config
        self.connection = Connection(port, config.request_timeout_ms, backs_off_evenly=True)
        self.partitioner = StickyPartitioner(config.batch_size)
        self.transaction_manager = TransactionManager(port, config, lambda: self.sender.wake())
        self.accumulator = Accumulator(config, self.transaction_manager.sequences)
        self.requests = CoordinatorRequests(self.transaction_manager, self.connection)
        self.sender = Sender(self.requests, self.accumulator)
        self.calls = BlockingCalls(self.transaction_manager, self.connection)
        self._topics: set[str] = set()
        """Topics of records or offsets by now: those of which Java's producer has metadata."""
        self.closed = False

    @property
    def state(self) -> ProducerState:
        """The transaction manager's state."""
        return self.transaction_manager.state

    # what an application calls

    async def init_transactions(self) -> None:
        """Become READY with a producer id and an epoch; a predecessor's unfinished transaction is aborted first."""
        self._check_transactional()
        await self.calls.run(Call.INIT, self.requests.initialise)
        self.transaction_manager.finish_init()

    def begin_transaction(self) -> Promise[None]:
        """Become IN_TRANSACTION. Nothing is sent: the coordinator learns of it with the first partition."""
        self._check_transactional()
        self.calls.apply(Call.BEGIN)
        self.transaction_manager.record("invoke", "begin_transaction")
        done: Promise[None] = self.port.promise()
        done.resolve(None)
        return done

    async def send(
        self, topic: str, value: str, key: str | None = None, partition: int | None = None, headers: Headers = ()
    ) -> Promise[RecordMetadata]:
        """Add the record to a batch; return the promise of its metadata. `headers`: (key, bytes or text).

        An ApiError, such as a topic that is not there within max.block.ms, fails the promise and the transaction, and
        nothing is raised. In the wrong state, or after another error, KafkaError is raised; as in `doSend`, the record
        is in its batch by then, and goes out with the next transaction that writes to its partition.
        """
        self._check_open()
        promise: Promise[RecordMetadata] = self.port.promise()
        given = ((name, data.encode() if isinstance(data, str) else data) for name, data in headers)
        record = Record(key, value, tuple(given))
        try:
            self._check_not_prepared()
            until = self.port.now + self.config.max_block_ms
            name = await self._partition_for(topic, record, partition)
            self.accumulator.check_size(record)
            await self._wait_for_memory(name, record, until)
            self.accumulator.add(name, record, promise, self.port.now)
            self._check_may_send(name)
        except ApiError as error:
            if self.config.enable_idempotence:
                self.transaction_manager.fail_send(error)
            failed: Promise[RecordMetadata] = self.port.promise()
            failed.fail(error)
            return failed
        finally:
            self.sender.wake_after(self.config.linger_ms)
        return promise

    async def flush(self) -> None:
        """Wait until every record sent before is acknowledged or has failed."""
        await self.sender.flush()

    async def send_offsets_to_transaction(self, offsets: Offsets, group: GroupMetadata) -> None:
        """Add offsets ({"in-0": 3}: the next one to read) to the transaction; an empty map does nothing."""
        if group is None:
            raise ValueError("Consumer group metadata could not be null")
        if group.generation_id > 0 and group.member_id == "":
            raise ValueError(f"Passed in group metadata {group} has generationId > 0 but member.id is empty")
        self._check_manager()
        if offsets:
            self._check_transactional()
            await self._wait_for_topic_ids({topic_of(partition) for partition in offsets})
            await self.calls.run(Call.SEND_OFFSETS, lambda: self.requests.add_offsets(dict(offsets), group))

    async def prepare_transaction(self) -> tuple[int, int]:
        """Flush and become PREPARED_TRANSACTION; return producer id and epoch, which name the transaction (KIP-939).

        InvalidTxnStateError unless transaction.two.phase.commit.enable is set; UnsupportedVersionError if the brokers
        do not offer InitProducerId 6, which is unstable in Kafka 4.4.
        """
        self._check_manager()
        if self.config.transaction_two_phase_commit_enable and not self.transaction_manager.port.two_phase_commit:
            raise UnsupportedVersionError(NOT_RELEASED, Error.UNSUPPORTED_VERSION)
        if self.state is ProducerState.PREPARED_TRANSACTION or self.config.transaction_two_phase_commit_enable:
            if self.state is not ProducerState.PREPARED_TRANSACTION:
                await self.sender.flush()
            self.calls.apply(Call.PREPARE)
            return self.transaction_manager.identity
        raise InvalidTxnStateError(NO_TWO_PHASE, Error.NONE)

    async def complete_transaction(self, prepared: tuple[int, int]) -> None:
        """Commit if `prepared` names the transaction that this producer has prepared, else abort (KIP-939)."""
        self._check_manager()
        self.calls.apply(Call.COMPLETE)
        await (self.commit_transaction() if prepared == self.transaction_manager.identity else self.abort_transaction())

    async def commit_transaction(self) -> None:
        """Flush, then commit; return when the decision is replicated, before the markers are written."""
        self._check_transactional()
        await self.calls.run(Call.COMMIT, self._commit)

    async def abort_transaction(self) -> None:
        """Abort the transaction; what was not sent yet is dropped."""
        self._check_transactional()
        await self.calls.run(Call.ABORT, self._abort)

    async def close(self, timeout_ms: int | None = None) -> None:
        """Wait for what was sent, abort an open transaction, and take no other call.

        After `timeout_ms` (0: at once) what has no answer yet fails, and an open transaction is left to its timeout.
        """
        if self.closed:
            return
        self.closed = True
        if timeout_ms != 0:
            closing = self.port.spawn(self._close())
            if timeout_ms is None:
                await closing
            else:
                await self.connection.done_within(closing, timeout_ms)
        self.transaction_manager.close()
        self.sender.drop(self.accumulator.all(), KafkaError(FORCED))

    # the steps behind the calls

    async def _commit(self) -> None:
        await self.sender.flush()
        await self.requests.end(committed=True)

    async def _abort(self) -> None:
        self.sender.drop(self.accumulator.never_sent(), TransactionAbortedError())
        await self.sender.flush()
        await self.requests.finish()
        await self.requests.end(committed=False)

    async def _close(self) -> None:
        await self.sender.flush()
        await self.calls.finish()
        try:
            if self.transaction_manager.transactional and self.calls.apply(Call.CLOSE).action is Action.MOVE:
                await self._abort()
        except KafkaError:
            self.sender.drop(self.accumulator.all(), KafkaError(FORCED))

    async def _wait_for_topic_ids(self, topics: set[str]) -> None:
        """Ask once for the metadata of topics that are new here, as Java's producer does since 4.4 (KIP-1319).

        KafkaTimeoutError after max.block.ms.
        """
        new = topics - self._topics
        self._topics |= new
        if new and self.port.commits_by_topic_id:
            waits_ms = self.config.max_block_ms
            if not await self.connection.done_within(self.port.spawn(self.connection.refresh()), waits_ms):
                text = f"Failed to update metadata after {waits_ms} ms."
                raise KafkaTimeoutError(text, Error.REQUEST_TIMED_OUT)

    async def _partition_for(self, topic: str, record: Record, partition: int | None) -> str:
        """Wait for the topic's metadata and return the partition; KafkaTimeoutError after max.block.ms."""
        if partition is not None and partition < 0:
            raise ValueError(f"Invalid partition: {partition}. Partition number should always be non-negative or null.")
        self._topics.add(topic)
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
            asking = self.port.spawn(self.connection.try_refresh())
            await self.connection.done_within(asking, max(until - self.port.now, 0))
            attempt += 1
        if partition is None:
            partition = self.partitioner.choose(topic, record, count)
        return f"{topic}-{partition}"

    async def _wait_for_memory(self, partition: str, record: Record, until: int) -> None:
        """Wait for memory for the record; BufferExhaustedError at the time `until`."""
        accumulator = self.accumulator
        while not accumulator.has_room(partition, record):
            freed: Promise[None] = self.port.promise()
            accumulator.waiting.append(freed)
            self.sender.wake()
            if not await self.connection.done_within(freed, max(until - self.port.now, 0)):
                accumulator.waiting.remove(freed)
                raise accumulator.describe_exhaustion(record)

    # checks

    def _check_not_prepared(self) -> None:
        if self.state is ProducerState.PREPARED_TRANSACTION:
            self.calls.apply(Call.SEND)

    def _check_may_send(self, partition: str) -> None:
        """Add the partition to the transaction, if the producer has them; raise unless `send` is allowed now."""
        manager = self.transaction_manager
        if manager.transactional:
            self.calls.apply(Call.SEND, partition)
            manager.add_partition(partition)
        elif manager.fatal and self.config.enable_idempotence:
            manager.apply_call(Call.SEND)

    def _check_manager(self) -> None:
        if not self.config.enable_idempotence:
            raise IllegalStateError(NO_TRANSACTION_MANAGER)
        self._check_open()

    def _check_transactional(self) -> None:
        self._check_manager()
        if not self.transaction_manager.transactional:
            raise IllegalStateError(NO_TRANSACTIONS)

    def _check_open(self) -> None:
        if self.closed:
            raise IllegalStateError(CLOSED)
