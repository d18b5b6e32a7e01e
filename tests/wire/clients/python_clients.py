"""confluent-kafka and kafka-python as the program's clients."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from typing import Any

import confluent_kafka

from tests.wire.clients.application import Application
from tests.wire.clients.script import FencedError, Read
from tests.wire.clients.timeouts import CALL_S, shorten

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # kafka-python reads its schemas in the old way
    import kafka
    from kafka.errors import InvalidProducerEpochError, ProducerFencedError
    from kafka.structs import OffsetAndMetadata, TopicPartition

WAIT_S = CALL_S
AGE = "metadata_max_age_ms"


class Confluent:
    """librdkafka."""

    def __init__(self, servers: str) -> None:
        self.servers = servers

    def producer(self, transactional_id: str) -> ConfluentProducer:
        config: dict[str, Any] = {"bootstrap.servers": self.servers, "linger.ms": 0, "enable.idempotence": True}
        if transactional_id:
            config |= {"transactional.id": transactional_id}
            config |= shorten("socket.timeout.ms", "transaction.timeout.ms", "topic.metadata.refresh.interval.ms")
        return ConfluentProducer(confluent_kafka.Producer(config))

    def consumer(self, group: str, topic: str, isolation: str) -> ConfluentConsumer:
        made = self._consumer(group, isolation)
        made.subscribe([topic])
        return ConfluentConsumer(made)

    def instance(self, group: str, topic: str, out: str, transactional_id: str) -> Application:
        return Application(self, group, topic, out, lambda partition: transactional_id)

    def committed(self, group: str, topic: str, partition: int) -> int:
        with contextlib.closing(self._consumer(group)) as asking:
            found = asking.committed([confluent_kafka.TopicPartition(topic, partition)], WAIT_S)[0].offset
            return max(-1, int(found))

    def _consumer(self, group: str, isolation: str = "read_committed") -> Any:
        return confluent_kafka.Consumer({
            "bootstrap.servers": self.servers, "group.id": group, "isolation.level": isolation,
            "auto.offset.reset": "earliest", "enable.auto.commit": False,
            **shorten("socket.timeout.ms", "topic.metadata.refresh.interval.ms", session="session.timeout.ms"),
        })  # fmt: skip

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

    def enqueue(self, topic: str, partition: int, value: str) -> None:
        with _fenced_by_librdkafka():
            self.made.produce(topic, value, partition=partition)
            self.made.poll(0)

    def send_offsets(self, topic: str, offsets: dict[int, int], consumer: ConfluentConsumer) -> None:
        places = [confluent_kafka.TopicPartition(topic, *place) for place in offsets.items()]
        with _fenced_by_librdkafka():
            self.made.send_offsets_to_transaction(places, consumer.made.consumer_group_metadata(), WAIT_S)

    def commit(self) -> None:
        with _fenced_by_librdkafka():
            self.made.commit_transaction(WAIT_S)

    def abort(self) -> None:
        with _fenced_by_librdkafka():
            self.made.abort_transaction(WAIT_S)

    def close(self) -> None:
        self.made.flush(WAIT_S)


@contextlib.contextmanager
def _fenced_by_librdkafka() -> Iterator[None]:
    try:
        yield
    except confluent_kafka.KafkaException as error:
        raise _told_by(error) from error
    except SystemError as error:  # `flush` has raised a fatal error, and then called `on_delivery` (2.16.1)
        if not isinstance(error.__cause__, confluent_kafka.KafkaException):
            raise
        raise _told_by(error.__cause__) from error


def _told_by(error: confluent_kafka.KafkaException) -> Exception:
    return FencedError(str(error)) if error.args[0].fatal() or "FENCED" in error.args[0].name() else error


class ConfluentConsumer:
    def __init__(self, made: Any) -> None:
        self.made = made

    def poll(self) -> list[Read]:
        messages = self.made.consume(10, 0.3)
        return [Read(m.partition(), m.offset(), m.value().decode()) for m in messages if m.error() is None]

    def commit(self) -> None:
        self.made.commit(asynchronous=False)

    def assigned(self) -> int:
        return len(self.made.assignment())

    def rewind(self) -> None:
        for place in self.made.committed(self.made.assignment(), WAIT_S):
            if place.offset < 0:
                place.offset = confluent_kafka.OFFSET_BEGINNING
            self.made.seek(place)

    def close(self) -> None:
        self.made.close()


class KafkaPython:
    """kafka-python."""

    def __init__(self, servers: str) -> None:
        self.servers = servers

    def producer(self, transactional_id: str) -> KafkaPythonProducer:
        return KafkaPythonProducer(
            kafka.KafkaProducer(
                bootstrap_servers=self.servers,
                transactional_id=transactional_id or None,
                enable_idempotence=True,
                **shorten("request_timeout_ms", "delivery_timeout_ms", "transaction_timeout_ms", "max_block_ms", AGE),
            )
        )

    def consumer(self, group: str, topic: str, isolation: str) -> KafkaPythonConsumer:
        return KafkaPythonConsumer(self._consumer(group, isolation, topic))

    def instance(self, group: str, topic: str, out: str, transactional_id: str) -> Application:
        return Application(self, group, topic, out, lambda partition: transactional_id)

    def committed(self, group: str, topic: str, partition: int) -> int:
        with contextlib.closing(self._consumer(group)) as asking:
            found = asking.committed(TopicPartition(topic, partition))
            return -1 if found is None else int(found)

    def _consumer(self, group: str, isolation: str = "read_committed", *topics: str) -> Any:
        return kafka.KafkaConsumer(
            *topics, bootstrap_servers=self.servers, group_id=group, isolation_level=isolation,
            auto_offset_reset="earliest", enable_auto_commit=False,
            **shorten("heartbeat_interval_ms", AGE, session="session_timeout_ms"),
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

    def enqueue(self, topic: str, partition: int, value: str) -> None:
        with _fenced_by_kafka_python():
            self.made.send(topic, value.encode(), partition=partition)

    def send_offsets(self, topic: str, offsets: dict[int, int], consumer: KafkaPythonConsumer) -> None:
        places = {TopicPartition(topic, one): OffsetAndMetadata(offset, "", -1) for one, offset in offsets.items()}
        with _fenced_by_kafka_python():
            self.made.send_offsets_to_transaction(places, consumer.made.group_metadata())

    def commit(self) -> None:
        with _fenced_by_kafka_python():
            self.made.commit_transaction()

    def abort(self) -> None:
        with _fenced_by_kafka_python():
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

    def poll(self) -> list[Read]:
        found = self.made.poll(300)
        return [Read(r.partition, r.offset, r.value.decode()) for records in found.values() for r in records]

    def commit(self) -> None:
        self.made.commit()

    def assigned(self) -> int:
        return len(self.made.assignment())

    def rewind(self) -> None:
        for place in self.made.assignment():
            self.made.seek(place, self.made.committed(place) or 0)

    def close(self) -> None:
        self.made.close()
