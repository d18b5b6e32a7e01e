"""Apache Kafka's own command line tools on the lab's brokers, as an operator types them."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer

from tests.kafka.jars import broker_jars
from tests.wire.serving import serving

pytestmark = [pytest.mark.clients, pytest.mark.kafka]

TOOLS = "org.apache.kafka.tools"
Tool = Callable[..., str]


@pytest.fixture(scope="module")
def tool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tool]:
    """A function that runs a tool on brokers with a topic, a group, and a transaction that is open; it returns what the
    tool prints."""
    jars = broker_jars()
    with serving(tmp_path_factory.mktemp("tools"), "--topics", "orders:2") as servers:
        producer = Producer({"bootstrap.servers": servers, "transactional.id": "pay"})
        producer.init_transactions(10)
        producer.begin_transaction()
        producer.produce("orders", "one", partition=0)
        producer.commit_transaction(10)
        read(servers)
        producer.begin_transaction()
        producer.produce("orders", "two", partition=1)
        producer.flush(10)

        def run(name: str, *words: str) -> str:
            options = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", f"{jars}/*")
            command = ("java", *options, name, "--bootstrap-server", servers, *words)
            done = subprocess.run(command, capture_output=True, text=True, timeout=120)
            assert done.returncode == 0, done.stdout + done.stderr
            return done.stdout

        yield run
        producer.abort_transaction(10)


def read(servers: str) -> None:
    """Read the order in the group g, and commit."""
    settings = {"group.id": "g", "auto.offset.reset": "earliest", "enable.auto.commit": False}
    consumer = Consumer({"bootstrap.servers": servers, **settings})
    consumer.subscribe(["orders"])
    while (message := consumer.poll(10)) is not None and message.error():
        pass
    consumer.commit(asynchronous=False)
    consumer.close()


def test_topics_are_described(tool: Tool) -> None:
    said = tool(f"{TOOLS}.TopicCommand", "--describe", "--topic", "orders")
    assert "Topic: orders" in said
    assert "PartitionCount: 2\tReplicationFactor: 3\tConfigs: min.insync.replicas=1" in said
    assert said.count("Isr: ") == 2
    assert "orders" in tool(f"{TOOLS}.TopicCommand", "--list").split()


def test_groups_are_listed_and_described(tool: Tool) -> None:
    command = f"{TOOLS}.consumer.group.ConsumerGroupCommand"
    assert ["g", "Empty"] in [line.split() for line in tool(command, "--list", "--state").splitlines()]
    rows = [line.split() for line in tool(command, "--describe", "--group", "g").splitlines()]
    (row,) = (row for row in rows if row[:3] == ["g", "orders", "0"])
    assert row[3] in ("1", "2")  # the position is behind the record, or behind the marker


def test_configs_are_described(tool: Tool) -> None:
    words = ("--describe", "--all", "--entity-type", "topics", "--entity-name", "orders")
    said = tool("kafka.admin.ConfigCommand", *words)
    assert "max.message.bytes=1048588 sensitive=false synonyms={DEFAULT_CONFIG:message.max.bytes=1048588}" in said
    of_broker = tool("kafka.admin.ConfigCommand", *words[:2], "--entity-type", "brokers", "--entity-name", "1")
    assert "transaction.max.timeout.ms=900000" in of_broker


def test_a_log_on_disk_is_dumped(tmp_path: Path) -> None:
    with serving(tmp_path, "--topics", "orders:1", "--brokers", "1", "--data", str(tmp_path / "data")) as servers:
        producer = Producer({"bootstrap.servers": servers, "transactional.id": "pay"})
        producer.init_transactions(10)
        producer.begin_transaction()
        producer.produce("orders", "one")
        producer.commit_transaction(10)
    (log,) = tmp_path.glob("data/b1/orders-0/*.log")
    command = ("java", "-cp", f"{broker_jars()}/*", f"{TOOLS}.DumpLogSegments", "--print-data-log", "--files", str(log))
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert "payload: one" in done.stdout
    assert "endTxnMarker: COMMIT coordinatorEpoch: 0" in done.stdout
    assert done.stdout.count("isvalid: true") == 2


def test_transactions_are_listed_and_described(tool: Tool) -> None:
    command = f"{TOOLS}.TransactionsCommand"
    assert [[row[0], row[3]] for row in map(str.split, tool(command, "list").splitlines()) if row[:1] == ["pay"]] == [
        ["pay", "Ongoing"]
    ]
    assert "orders-1" in tool(command, "describe", "--transactional-id", "pay")
