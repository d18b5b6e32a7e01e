"""librdkafka with `group.protocol=consumer` against `kafkalab serve`: lost answers, and a restart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.consumer_group_describe import ConsumerGroupDescribe
from tests.wire.connection import Connection
from tests.wire.serving import serving

kafka = pytest.importorskip("confluent_kafka")
LOST = ("ConsumerGroupHeartbeatResponse#1", "ConsumerGroupHeartbeatResponse#2", "OffsetCommitResponse#1")


def consume(servers: str, count: int) -> Any:
    """Write `count` records, read them as a member of group g, commit; return the consumer, which is still a member."""
    producer = kafka.Producer({"bootstrap.servers": servers, "log_level": 0})
    for number in range(count):
        producer.produce("read", value=str(number), partition=number % 2)
    assert producer.flush(20) == 0
    settings = {"bootstrap.servers": servers, "group.id": "g", "group.protocol": "consumer", "log_level": 0}
    consumer = kafka.Consumer({**settings, "auto.offset.reset": "earliest", "enable.auto.commit": False})
    consumer.subscribe(["read"])
    values: set[bytes] = set()
    while len(values) < count:
        message = consumer.poll(20)
        assert message is not None
        assert message.error() is None
        values.add(message.value())
    assert [one.offset for one in consumer.commit(asynchronous=False)] == [count // 2, count // 2]
    return consumer


def test_a_member_joins_and_commits_although_answers_are_lost(tmp_path: Path) -> None:
    faults = [word for frame in LOST for word in ("--fault", f"Drop:{frame}")]
    with serving(tmp_path, "--brokers", "1", "--topics", "read:2", *faults) as servers:
        consume(servers, 10).close()
    lines = (tmp_path / "serve.log").read_text().splitlines()
    unanswered = sorted(line.split("closed, ")[1].split()[0] for line in lines if "has no answer" in line)
    assert unanswered == ["ConsumerGroupHeartbeat", "ConsumerGroupHeartbeat", "OffsetCommit"]


def test_a_group_is_read_back_from_its_records(tmp_path: Path) -> None:
    given = ("--brokers", "1", "--topics", "read:2", "--data", str(tmp_path / "data"))
    with serving(tmp_path, *given) as servers:
        consumer = consume(servers, 4)
        before = describe(servers)
    with serving(tmp_path, *given) as servers:
        after = describe(servers)
    consumer.close()
    assert before == after
    assert (after.error, after.group_state, after.members[0].assignment) == (Error.NONE, "Stable", ("read-0", "read-1"))


def describe(servers: str) -> Any:
    with Connection(servers) as client:
        client.names.topic_id("read")
        [group] = client.ask(ConsumerGroupDescribe(group_ids=("g",)), 1).groups
        return group
