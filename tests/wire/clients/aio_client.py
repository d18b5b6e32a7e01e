"""aiokafka as the program's client, in an event loop of its own."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
from typing import Any

import aiokafka
from aiokafka.errors import InvalidProducerEpoch, ProducerFenced

from tests.wire.clients.application import Application
from tests.wire.clients.script import FencedError, Read
from tests.wire.clients.timeouts import shorten


class Aio:
    """aiokafka, in an event loop of its own."""

    def __init__(self, servers: str) -> None:
        self.servers, self.runner = servers, asyncio.Runner()
        self.producers: list[AioProducer] = []

    def producer(self, transactional_id: str) -> AioProducer:
        async def make() -> Any:
            return aiokafka.AIOKafkaProducer(
                bootstrap_servers=self.servers,
                transactional_id=transactional_id or None,
                enable_idempotence=True,
                **shorten("request_timeout_ms", "transaction_timeout_ms", "metadata_max_age_ms"),
            )

        made = AioProducer(self.runner.run(make()), self.runner)
        self.producers.append(made)
        if not transactional_id:
            made.init()
        return made

    def consumer(self, group: str, topic: str, isolation: str) -> AioConsumer:
        return AioConsumer(self.runner, self._consumer(group, isolation), topic)

    def instance(self, group: str, topic: str, out: str, transactional_id: str) -> AioApplication:
        return AioApplication(self, group, topic, out, lambda partition: f"{group}-{partition}")

    def committed(self, group: str, topic: str, partition: int) -> int:
        asking = AioConsumer(self.runner, self._consumer(group, "read_committed"))
        with contextlib.closing(asking):
            found = self.runner.run(asking.made.committed(aiokafka.TopicPartition(topic, partition)))
            return -1 if found is None else int(found)

    def _consumer(self, group: str, isolation: str) -> Any:
        async def make() -> Any:
            made = aiokafka.AIOKafkaConsumer(
                bootstrap_servers=self.servers, group_id=group, isolation_level=isolation,
                auto_offset_reset="earliest", enable_auto_commit=False, heartbeat_interval_ms=500,
                **shorten("request_timeout_ms", "metadata_max_age_ms", session="session_timeout_ms"),
            )  # fmt: skip
            await made.start()
            return made

        return self.runner.run(make())

    def close(self) -> None:
        for producer in self.producers:
            with contextlib.suppress(ProducerFenced, InvalidProducerEpoch):
                producer.close()
        self.runner.close()


class AioProducer:
    def __init__(self, made: Any, runner: asyncio.Runner) -> None:
        self.made, self.runner = made, runner
        self.in_flight: list[asyncio.Future[Any]] = []

    def init(self) -> None:
        self.runner.run(self.made.start())

    def begin(self) -> None:
        self.runner.run(self.made.begin_transaction())

    def send(self, topic: str, partition: int, value: str) -> int:
        with _fenced_by_aiokafka():
            return int(self.runner.run(self.made.send_and_wait(topic, value.encode(), partition=partition)).offset)

    def enqueue(self, topic: str, partition: int, value: str) -> None:
        with _fenced_by_aiokafka():
            self.in_flight.append(self.runner.run(self.made.send(topic, value.encode(), partition=partition)))

    def send_offsets(self, topic: str, offsets: dict[int, int], consumer: AioConsumer) -> None:
        places = {aiokafka.TopicPartition(topic, one): offset for one, offset in offsets.items()}
        with _fenced_by_aiokafka():
            self.runner.run(self.made.send_offsets_to_transaction(places, consumer.group))

    def commit(self) -> None:
        """Commit once all records are acknowledged: aiokafka commits also where one of them has failed."""
        with _fenced_by_aiokafka():
            self.runner.run(self._collect())
            self.runner.run(self.made.commit_transaction())

    async def _collect(self) -> None:
        in_flight, self.in_flight = self.in_flight, []
        await asyncio.gather(*in_flight)

    def abort(self) -> None:
        with _fenced_by_aiokafka():
            self.runner.run(self.made.abort_transaction())
        self.in_flight.clear()

    def close(self) -> None:
        self.runner.run(self.made.stop())


@contextlib.contextmanager
def _fenced_by_aiokafka() -> Iterator[None]:
    try:
        yield
    except (ProducerFenced, InvalidProducerEpoch) as error:
        raise FencedError(str(error)) from error


class AioConsumer:
    def __init__(self, runner: asyncio.Runner, made: Any, topic: str = "") -> None:
        self.runner, self.made, self.group = runner, made, made._group_id
        self.revoked: Any = None
        if topic:
            made.subscribe([topic], listener=Listener(self))

    def poll(self) -> list[Read]:
        return self.runner.run(self._poll())

    async def _poll(self) -> list[Read]:
        """Poll, but do not wait for partitions: getmany does so without a limit, and the listener may wait for us."""
        found: dict[Any, Any] = {}
        with contextlib.suppress(TimeoutError):
            found = await asyncio.wait_for(self.made.getmany(timeout_ms=300), 1)
        return [Read(r.partition, r.offset, r.value.decode()) for records in found.values() for r in records]

    def commit(self) -> None:
        self.runner.run(self.made.commit())

    def assigned(self) -> int:
        self.runner.run(asyncio.sleep(0.05))
        return len(self.made.assignment())

    def rewind(self) -> None:
        for place in self.made.assignment():
            self.made.seek(place, self.runner.run(self.made.committed(place)) or 0)

    def close(self) -> None:
        self.runner.run(self.made.stop())


class Listener(aiokafka.ConsumerRebalanceListener):  # type: ignore[misc]  # aiokafka has no types
    """Calls the consumer's `revoked` before partitions are given up."""

    def __init__(self, consumer: AioConsumer) -> None:
        self.consumer = consumer

    async def on_partitions_revoked(self, revoked: Any) -> None:
        if self.consumer.revoked is not None:
            await self.consumer.revoked()

    async def on_partitions_assigned(self, assigned: Any) -> None:
        pass


class AioApplication(Application):
    """aiokafka joins groups in the background, and sends no generation with a transaction's offsets: partitions are
    given up between steps only, and each has a transactional id."""

    def __init__(self, client: Aio, *more: Any) -> None:
        super().__init__(client, *more)
        self.runner, self.stepping = client.runner, asyncio.Lock()
        self.consumer.revoked = self._on_revoke

    async def _on_revoke(self) -> None:
        async with self.stepping:
            for producer in self.producers.values():
                await producer.made.stop()
            self.producers.clear()

    def step(self, commit: bool) -> list[str]:
        self.runner.run(self.stepping.acquire())
        try:
            return super().step(commit)
        finally:
            self.stepping.release()
