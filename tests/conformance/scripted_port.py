"""A world of one client and brokers that answer as a test says: a `ClientPort` with a clock of its own."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from kafkalab.client.config.config import ProducerConfig
from kafkalab.client.producer.producer import Producer
from kafkalab.client.promise import Promise
from kafkalab.client.results import GroupMetadata
from kafkalab.protocol.cluster_metadata import ClusterMetadata, PartitionInfo
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.add_offsets_to_txn import AddOffsetsToTxn, AddOffsetsToTxnResponse
from kafkalab.protocol.messages.add_partitions_to_txn import AddPartitionsToTxn, AddPartitionsToTxnResponse
from kafkalab.protocol.messages.api_versions import ApiVersions, ApiVersionsResponse
from kafkalab.protocol.messages.end_txn import EndTxn, EndTxnResponse
from kafkalab.protocol.messages.find_coordinator import FindCoordinator, FindCoordinatorResponse
from kafkalab.protocol.messages.init_producer_id import InitProducerId, InitProducerIdResponse
from kafkalab.protocol.messages.metadata import Metadata, MetadataResponse
from kafkalab.protocol.messages.produce import PartitionProduced, Produce, ProduceResponse
from kafkalab.protocol.messages.txn_offset_commit import TxnOffsetCommit, TxnOffsetCommitResponse
from kafkalab.sim.kernel.schedule import Schedule

PID, EPOCH = 13131, 5
LATENCY_MS = 1
HOLD = "no answer until the test gives one"
LOST = "the connection breaks"
TIMED_OUT = "no answer within request.timeout.ms, so that the connection is closed"
OFFSETS, GROUP = {"in-0": 7}, GroupMetadata("g")
QUIET = ("ApiVersions", "Metadata", "FindCoordinator")


def image(*topics: str) -> ClusterMetadata:
    info = PartitionInfo(leader="b1", leader_epoch=0, replicas=("b1",), isr=("b1",))
    return ClusterMetadata(1, ("b1",), {f"{t}-{i}": info for t in topics for i in (0, 1)})


class ScriptedPort:
    """`script[api]` lists the answers to come: an Error, HOLD, LOST, TIMED_OUT, a response, or a function of
    the request.

    When the list is used up, every request succeeds.
    """

    def __init__(self, version: int = 2, bumps: bool = True, **script: Any) -> None:
        self.node = "app"
        self.bootstrap: tuple[str, ...] = ("b1",)
        self.transaction_version, self.coordinator_bumps_epoch = version, bumps
        self.filters_aborted = True
        self.two_phase_commit = self.commits_by_topic_id = self.timed_out = False
        self.script: dict[str, list[Any]] = {k: v if isinstance(v, list) else [v] for k, v in script.items()}
        self.requests: list[tuple[int, Any]] = []
        self.versions: list[int] = []
        self.held: list[tuple[Any, Callable[[Any], None]]] = []
        self.schedule = Schedule()
        self.next_offset = 0

    # the port

    @property
    def now(self) -> int:
        return self.schedule.now

    @now.setter
    def now(self, value: int) -> None:
        raise AttributeError("the schedule moves the clock")

    def request(
        self, to: str, body: Any, answered: Callable[[Any], None], *, timeout_ms: int,
        transaction_version: int | None = None,
    ) -> None:  # fmt: skip
        self.requests.append((self.now, body))
        self.versions.append(self.transaction_version if transaction_version is None else transaction_version)
        waiting = self.script.get(type(body).__name__)
        answer = waiting.pop(0) if waiting else Error.NONE
        if answer is HOLD:
            self.held.append((body, answered))
            return
        if answer is TIMED_OUT:
            self.timer(timeout_ms, lambda: self._time_out(answered))
            return
        self._answer(body, answer, answered)

    def _time_out(self, answered: Callable[[Any], None]) -> None:
        self.timed_out = True
        answered(None)
        self.timed_out = False

    def _answer(self, body: Any, answer: Any, answered: Callable[[Any], None]) -> None:
        response = None if answer is LOST else answer(body) if callable(answer) else answer
        if isinstance(response, Error):
            response = self.response_to(body, response)
        self.timer(LATENCY_MS, lambda: answered(response))

    def timer(self, delay_ms: int, action: Callable[[], None]) -> None:
        self.schedule.at(self.now + delay_ms, "app", 0, action)

    def deadline(self, delay_ms: int, action: Callable[[], None]) -> None:
        self.schedule.at(self.now + delay_ms, "app", 0, action, True)

    def record(self, kind: str, name: str, data: Any) -> int:
        return 0

    def promise(self) -> Promise[Any]:
        return Promise(lambda promise: False)

    def spawn(self, coroutine: Coroutine[Any, Any, Any]) -> Promise[Any]:
        result: Promise[Any] = self.promise()

        def resume() -> None:
            try:
                awaited = coroutine.send(None)
            except StopIteration as end:
                result.resolve(end.value)
            except Exception as error:
                result.fail(error)
            else:
                awaited.when_done(lambda: self.timer(0, resume))

        self.timer(0, resume)
        return result

    # what tests use

    def response_to(self, body: Any, error: Error) -> Any:
        """A response with this error, for every partition where a response has one for each."""
        if isinstance(body, Produce):
            count = sum(len(b.records) for b in body.batches.values())
            base, self.next_offset = self.next_offset, self.next_offset + (count if error is Error.NONE else 0)
            base = base if error is Error.NONE else -1
            produced = {p: PartitionProduced(error=error, base_offset=base) for p in body.batches}
            return ProduceResponse(partitions=produced)
        epoch = EPOCH if not isinstance(body, InitProducerId) or body.producer_epoch < 0 else body.producer_epoch + 1
        if isinstance(body, EndTxn) and self.version_of(body) >= 2:
            return EndTxnResponse(error=error, producer_id=body.producer_id, producer_epoch=body.producer_epoch + 1)
        answers: dict[type, Callable[[], Any]] = {
            ApiVersions: lambda: ApiVersionsResponse(),
            Metadata: lambda: MetadataResponse(metadata=image("t", "u")),
            FindCoordinator: lambda: FindCoordinatorResponse(error=error, node_id="b1"),
            InitProducerId: lambda: InitProducerIdResponse(error=error, producer_id=PID, producer_epoch=epoch),
            AddPartitionsToTxn: lambda: AddPartitionsToTxnResponse(errors=dict.fromkeys(body.partitions, error)),
            AddOffsetsToTxn: lambda: AddOffsetsToTxnResponse(error=error),
            TxnOffsetCommit: lambda: TxnOffsetCommitResponse(errors=dict.fromkeys(body.offsets, error)),
            EndTxn: lambda: EndTxnResponse(error=error),
        }
        return answers[type(body)]()

    def version_of(self, body: Any) -> int:
        """The transaction version in whose version the request was sent."""
        return next(v for (_, b), v in zip(self.requests, self.versions, strict=True) if b is body)

    def release(self, answer: Any = Error.NONE) -> None:
        """Answer the request that has been held longest."""
        body, answered = self.held.pop(0)
        self._answer(body, answer, answered)

    def sleep(self, delay_ms: int) -> Promise[None]:
        done = self.promise()
        self.timer(delay_ms, lambda: done.resolve(None))
        return done

    def producer(self, **config: Any) -> Producer:
        """A transactional producer, unless the settings say otherwise; linger.ms is 0."""
        settings = {"transactional_id": "a", "linger_ms": 0, **config}
        return Producer(self, ProducerConfig(**settings))

    def list_sent(self, *names: str) -> list[Any]:
        """The requests, in order: those of these APIs, or all but look-ups."""
        bodies = [body for _, body in self.requests]
        return [b for b in bodies if (type(b).__name__ in names if names else type(b).__name__ not in QUIET)]

    def names(self) -> list[str]:
        """The names of all requests but look-ups, in order."""
        return [type(b).__name__ for b in self.list_sent()]

    def run(self, program: Coroutine[Any, Any, Any]) -> Any:
        """The program's result; time moves on until it is there."""
        result = self.spawn(program)
        for _ in range(100_000):
            if result.done:
                return result.result()
            assert len(self.schedule), "the program waits and nothing happens any more"
            self.schedule.pop()[-1]()
        raise AssertionError("the program does not end")


async def begin(port: ScriptedPort, **config: Any) -> Producer:
    """A producer in a transaction."""
    producer = port.producer(**config)
    await producer.init_transactions()
    producer.begin_transaction()
    return producer


async def error_of(awaitable: Any) -> Any:
    """The exception that awaiting it raises; None if it raises none."""
    try:
        await awaitable
    except Exception as error:
        return error
    return None


async def one_transaction(port: ScriptedPort) -> tuple[Any, Any]:
    """Init, one record, offsets, commit; the first thing that goes wrong ends it: the error and the producer."""
    producer = port.producer()
    error = await error_of(producer.init_transactions())
    if error is None:
        producer.begin_transaction()
        error = await error_of(await producer.send("t", "v", partition=0))
    if error is None:
        error = await error_of(producer.send_offsets_to_transaction(OFFSETS, GROUP))
    if error is None:
        error = await error_of(producer.commit_transaction())
    return error, producer
