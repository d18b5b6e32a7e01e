"""Run a script with kafkalab's own clients: the scripted broker is a node of the simulator."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from inspect import isawaitable
from types import SimpleNamespace
from typing import Any

from kafkalab.broker.state import BrokerConfig
from kafkalab.client.config.config import ConsumerConfig
from kafkalab.client.config.config_def import configure
from kafkalab.client.config.legacy import producer_config
from kafkalab.client.consumer.consumer import Consumer
from kafkalab.client.exceptions import KafkaError, java_name
from kafkalab.client.producer.producer import Producer
from kafkalab.client.promise import Promise
from kafkalab.client.results import GroupMetadata
from kafkalab.protocol.profiles import Rules
from kafkalab.sim.app import SimPort
from kafkalab.sim.kernel.kernel import LIMIT, Kernel
from kafkalab.sim.network import Network
from kafkalab.trace import Frame
from tests.kafka.clients.outcome import with_classes, without_objects
from tests.kafka.clients.script import Script
from tests.kafka.clients.scripted_broker import NODE, ScriptedBroker

CLIENT = "client"
FUTURES_MS = 3_000
PROFILES = {1: "4.x/TV1", 2: "4.x/TV2"}


def failure(error: BaseException) -> dict[str, Any]:
    """Return an exception by Java's name, with its message and cause."""
    found: dict[str, Any] = {"exception": java_name(error), "message": str(error)}
    if error.__cause__ is not None:
        found["cause"] = failure(error.__cause__)
    return found


class Simulated:
    """One client, one scripted broker, virtual time."""

    def __init__(self, script: Script) -> None:
        self.script, self.broker = script, ScriptedBroker(script)
        rules = Rules(PROFILES[script.transaction_version])
        self.kernel = Kernel(keep=True, title=script.name)
        self.network = Network(self.kernel, 1, rules, ())
        self.kernel.add_node(NODE, self._receive)
        self.kernel.add_node(CLIENT)
        level = SimpleNamespace(config=BrokerConfig(), transaction_version=script.transaction_version)
        self.port = SimPort(self.kernel, self.network, rules, (NODE,), CLIENT, level)
        self.sends: list[Promise[Any]] = []
        self.callbacks: list[Any] = []
        self.calls: list[Any] = []
        self.futures: list[Any] = []

    def _receive(self, frame: Frame) -> None:
        step = self.kernel.trace.steps - 1
        answer = self.broker.answer(frame.name, frame.version, frame.body, self.kernel.now)
        if answer.closes:
            self.network.node_died(NODE, step)
        elif answer.response is not None and answer.wait_ms:
            respond = partial(self.network.respond, frame, answer.response, step)
            self.kernel.timer(NODE, answer.wait_ms, respond, background=True)
        elif answer.response is not None:
            self.network.respond(frame, answer.response, step)

    def run(self) -> dict[str, Any]:
        """Run the script; return what the recorder returns for Java."""
        done = self.kernel.drive(CLIENT, self._program(), main=True)
        self.kernel.run(LIMIT, lambda: False)
        done.result()
        calls, futures = ([without_objects(o) for o in outcomes] for outcomes in (self.calls, self.futures))
        return {"calls": calls, "futures": futures, "requests": with_classes(self.broker.log)}

    async def _program(self) -> None:
        try:
            client = self._client()
        except KafkaError as error:
            self.calls = [failure(error)]
            return
        methods = producer_methods(self, client) if isinstance(client, Producer) else consumer_methods(self, client)
        for name, *arguments in self.script.calls:
            try:
                result = methods[name](*arguments)
                result = await result if isawaitable(result) else result
                self.calls.append("ok" if result is None else result)
            except (KafkaError, ValueError) as error:
                self.calls.append(failure(error))
        until = self.port.now + FUTURES_MS
        for promise in self.sends:
            while not promise.done and self.port.now < until:
                await self.sleep(100)
            self.futures.append(await self.future(promise))
        self.requests_until_now()

    def requests_until_now(self) -> None:
        """Stop logging: what the client sends after the script is not compared."""
        self.broker.log = list(self.broker.log)
        self.network.node_died(CLIENT, -1)
        self.kernel.nodes[CLIENT].incarnation += 1

    def _client(self) -> Producer | Consumer:
        if self.script.client == "producer":
            return Producer(self.port, producer_config(self.port.profile, **self.script.config))
        return Consumer(self.port, configure(ConsumerConfig, self.script.config))

    def sleep(self, delay_ms: int) -> Promise[None]:
        """Return a promise that is done after `delay_ms`."""
        promise = self.kernel.promise()
        self.port.timer(delay_ms, lambda: promise.resolve(None))
        return promise

    async def future(self, promise: Promise[Any]) -> Any:
        """Return the outcome of a send."""
        if not promise.done:
            return "pending"
        try:
            metadata = promise.result()
        except KafkaError as error:
            return failure(error)
        return f"{metadata.partition}@{metadata.offset}"


def producer_methods(run: Simulated, producer: Producer) -> dict[str, Callable[..., Any]]:
    """Return the producer's methods by their names in Java."""

    async def send(partition: str, value: str) -> str:
        topic, _, index = partition.rpartition("-")
        run.sends.append(await producer.send(topic, value, partition=int(index)))
        return f"sent {len(run.sends)}"

    async def get(number: int) -> Any:
        promise = run.sends[number - 1]
        with suppress(KafkaError):
            await promise
        return await run.future(promise)

    def send_offsets(offsets: dict[str, int], group: str, generation: int = -1, member: str = "") -> Any:
        return producer.send_offsets_to_transaction(offsets, GroupMetadata(group, generation, member))

    async def begin() -> None:
        await producer.begin_transaction()

    return {
        "initTransactions": producer.init_transactions,
        "beginTransaction": begin,
        "send": send,
        "get": get,
        "sendOffsetsToTransaction": send_offsets,
        "flush": producer.flush,
        "commitTransaction": producer.commit_transaction,
        "abortTransaction": producer.abort_transaction,
        "close": producer.close,
        "sleep": run.sleep,
    }


def consumer_methods(run: Simulated, consumer: Consumer) -> dict[str, Callable[..., Any]]:
    """Return the consumer's methods by their names in Java."""

    async def poll(timeout_ms: int) -> list[str]:
        return [f"{r.partition}@{r.offset}={r.value}" for r in await consumer.poll(timeout_ms)]

    def commit_async(offsets: dict[str, int]) -> None:
        place = len(run.callbacks)
        run.callbacks.append("pending")

        def on_commit(_offsets: Any, error: KafkaError | None) -> None:
            run.callbacks[place] = "ok" if error is None else failure(error)

        consumer.commit_async(offsets, on_commit)

    return {
        "subscribe": consumer.subscribe,
        "assign": consumer.assign,
        "unsubscribe": consumer.unsubscribe,
        "poll": poll,
        "seek": consumer.seek,
        "position": consumer.position,
        "commitSync": consumer.commit_sync,
        "commitAsync": commit_async,
        "callback": lambda number: run.callbacks[number - 1],
        "committed": consumer.committed,
        "endOffsets": consumer.end_offsets,
        "beginningOffsets": consumer.beginning_offsets,
        "assignment": consumer.assignment,
        "groupMetadata": lambda: consumer.group_metadata().generation_id,
        "close": consumer.close,
        "sleep": run.sleep,
    }
