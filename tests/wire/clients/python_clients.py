"""confluent-kafka, kafka-python and aiokafka as the program's clients."""

from __future__ import annotations

import asyncio
import contextlib
import warnings
from collections.abc import Iterator
from typing import Any

import aiokafka
import confluent_kafka
from aiokafka.errors import InvalidProducerEpoch as AioInvalidEpoch
from aiokafka.errors import ProducerFenced as AioFenced

from tests.wire.clients.script import FencedError

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # kafka-python reads its schemas in the old way
    import kafka
    from kafka.errors import InvalidProducerEpochError, ProducerFencedError
    from kafka.structs import OffsetAndMetadata, TopicPartition

WAIT_S = 60


class Confluent:
    """librdkafka."""

    def __init__(self, servers: str) -> None:
        self.servers = servers

    def producer(self, transactional_id: str) -> ConfluentProducer:
        config = {"bootstrap.servers": self.servers, "linger.ms": 0, "enable.idempotence": True}
        if transactional_id:
            config["transactional.id"] = transactional_id
        return ConfluentProducer(confluent_kafka.Producer(config))

    def consumer(self, group: str, topic: str, isolation: str) -> ConfluentConsumer:
        made = confluent_kafka.Consumer({
            "bootstrap.servers": self.servers, "group.id": group, "isolation.level": isolation,
            "auto.offset.reset": "earliest", "enable.auto.commit": False,
        })  # fmt: skip
        made.subscribe([topic])
        return ConfluentConsumer(made)

    def close(self) -> None:
        pass


class ConfluentProducer:
    def __init__(self, made: Any) -> None:
        self.made = made

    def init(self) -> None:
        self.made.init_transactions(WAIT_S)

    def begin(self) -> None:
        with _fenced_by_librdkafka():
            self.made.begin_transaction()

    def send(self, topic: str, partition: int, value: str) -> int:
        reports: list[tuple[Any, Any]] = []
        with _fenced_by_librdkafka():
            self.made.produce(topic, value, partition=partition, on_delivery=lambda e, m: reports.append((e, m)))
            self.made.flush(WAIT_S)
            error, message = reports[0]
            if error is not None:
                raise confluent_kafka.KafkaException(error)
            return int(message.offset())

    def send_offset(self, topic: str, partition: int, offset: int, consumer: ConfluentConsumer) -> None:
        place = confluent_kafka.TopicPartition(topic, partition, offset)
        self.made.send_offsets_to_transaction([place], consumer.made.consumer_group_metadata(), WAIT_S)

    def commit(self) -> None:
        with _fenced_by_librdkafka():
            self.made.commit_transaction(WAIT_S)

    def abort(self) -> None:
        self.made.abort_transaction(WAIT_S)

    def close(self) -> None:
        self.made.flush(WAIT_S)


@contextlib.contextmanager
def _fenced_by_librdkafka() -> Iterator[None]:
    try:
        yield
    except confluent_kafka.KafkaException as error:
        raise FencedError(str(error)) if error.args[0].fatal() or "FENCED" in error.args[0].name() else error from error


class ConfluentConsumer:
    def __init__(self, made: Any) -> None:
        self.made = made

    def poll(self) -> list[str]:
        messages = self.made.consume(10, 0.3)
        return [m.value().decode() for m in messages if m.error() is None]

    def committed(self, topic: str, partition: int) -> int:
        return int(self.made.committed([confluent_kafka.TopicPartition(topic, partition)], WAIT_S)[0].offset)

    def close(self) -> None:
        self.made.close()


class KafkaPython:
    """kafka-python."""

    def __init__(self, servers: str) -> None:
        self.servers = servers

    def producer(self, transactional_id: str) -> KafkaPythonProducer:
        return KafkaPythonProducer(
            kafka.KafkaProducer(
                bootstrap_servers=self.servers, transactional_id=transactional_id or None, enable_idempotence=True
            )
        )

    def consumer(self, group: str, topic: str, isolation: str) -> KafkaPythonConsumer:
        return KafkaPythonConsumer(
            kafka.KafkaConsumer(
                topic, bootstrap_servers=self.servers, group_id=group, isolation_level=isolation,
                auto_offset_reset="earliest", enable_auto_commit=False,
            )
        )  # fmt: skip

    def close(self) -> None:
        pass


class KafkaPythonProducer:
    def __init__(self, made: Any) -> None:
        self.made = made

    def init(self) -> None:
        self.made.init_transactions()

    def begin(self) -> None:
        self.made.begin_transaction()

    def send(self, topic: str, partition: int, value: str) -> int:
        with _fenced_by_kafka_python():
            return int(self.made.send(topic, value.encode(), partition=partition).get(WAIT_S).offset)

    def send_offset(self, topic: str, partition: int, offset: int, consumer: KafkaPythonConsumer) -> None:
        places = {TopicPartition(topic, partition): OffsetAndMetadata(offset, "", -1)}
        self.made.send_offsets_to_transaction(places, consumer.made.group_metadata())

    def commit(self) -> None:
        with _fenced_by_kafka_python():
            self.made.commit_transaction()

    def abort(self) -> None:
        self.made.abort_transaction()

    def close(self) -> None:
        self.made.close()


@contextlib.contextmanager
def _fenced_by_kafka_python() -> Iterator[None]:
    try:
        yield
    except (ProducerFencedError, InvalidProducerEpochError) as error:
        raise FencedError(str(error)) from error


class KafkaPythonConsumer:
    def __init__(self, made: Any) -> None:
        self.made = made

    def poll(self) -> list[str]:
        return [r.value.decode() for records in self.made.poll(300).values() for r in records]

    def committed(self, topic: str, partition: int) -> int:
        return int(self.made.committed(TopicPartition(topic, partition)))

    def close(self) -> None:
        self.made.close()


class Aio:
    """aiokafka, in an event loop of its own."""

    def __init__(self, servers: str) -> None:
        self.servers, self.runner = servers, asyncio.Runner()
        self.producers: list[AioProducer] = []

    def producer(self, transactional_id: str) -> AioProducer:
        async def make() -> Any:
            return aiokafka.AIOKafkaProducer(
                bootstrap_servers=self.servers, transactional_id=transactional_id or None, enable_idempotence=True
            )

        made = AioProducer(self.runner.run(make()), self.runner)
        self.producers.append(made)
        if not transactional_id:
            made.init()
        return made

    def consumer(self, group: str, topic: str, isolation: str) -> AioConsumer:
        async def make() -> Any:
            made = aiokafka.AIOKafkaConsumer(
                topic, bootstrap_servers=self.servers, group_id=group, isolation_level=isolation,
                auto_offset_reset="earliest", enable_auto_commit=False,
            )  # fmt: skip
            await made.start()
            return made

        return AioConsumer(self.runner.run(make()), group, self.runner)

    def close(self) -> None:
        for producer in self.producers:
            with contextlib.suppress(AioFenced, AioInvalidEpoch):
                producer.close()
        self.runner.close()


class AioProducer:
    def __init__(self, made: Any, runner: asyncio.Runner) -> None:
        self.made, self.runner = made, runner

    def init(self) -> None:
        self.runner.run(self.made.start())

    def begin(self) -> None:
        self.runner.run(self.made.begin_transaction())

    def send(self, topic: str, partition: int, value: str) -> int:
        with _fenced_by_aiokafka():
            return int(self.runner.run(self.made.send_and_wait(topic, value.encode(), partition=partition)).offset)

    def send_offset(self, topic: str, partition: int, offset: int, consumer: AioConsumer) -> None:
        places = {aiokafka.TopicPartition(topic, partition): offset}
        self.runner.run(self.made.send_offsets_to_transaction(places, consumer.group))

    def commit(self) -> None:
        with _fenced_by_aiokafka():
            self.runner.run(self.made.commit_transaction())

    def abort(self) -> None:
        self.runner.run(self.made.abort_transaction())

    def close(self) -> None:
        self.runner.run(self.made.stop())


@contextlib.contextmanager
def _fenced_by_aiokafka() -> Iterator[None]:
    try:
        yield
    except (AioFenced, AioInvalidEpoch) as error:
        raise FencedError(str(error)) from error


class AioConsumer:
    def __init__(self, made: Any, group: str, runner: asyncio.Runner) -> None:
        self.made, self.group, self.runner = made, group, runner

    def poll(self) -> list[str]:
        found = self.runner.run(self.made.getmany(timeout_ms=300))
        return [r.value.decode() for records in found.values() for r in records]

    def committed(self, topic: str, partition: int) -> int:
        return int(self.runner.run(self.made.committed(aiokafka.TopicPartition(topic, partition))))

    def close(self) -> None:
        self.runner.run(self.made.stop())
