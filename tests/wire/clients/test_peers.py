"""The broker of the libraries' own suites starts as they ask for it, from whatever folder they run in."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kafkalab.protocol.messages.create_topics import CreateTopics, NewTopic
from kafkalab.protocol.messages.describe_topic_partitions import DescribeTopicPartitions, TopicRequest
from tests.wire.clients.peers import docker
from tests.wire.clients.peers.__main__ import set_environment
from tests.wire.connection import Connection

pytestmark = pytest.mark.clients


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "environ", dict(os.environ))
    monkeypatch.chdir(tmp_path)
    set_environment(tmp_path)


@pytest.mark.usefixtures("environment")
def test_a_container_is_a_broker_with_the_partitions_that_the_suite_asks_for() -> None:
    container = docker.from_env().containers.run(environment={"ADVERTISED_PORT": 0, "NUM_PARTITIONS": 3}, image="any")
    try:
        with Connection(f"127.0.0.1:{container.port}") as client:
            client.ask(CreateTopics(topics=(NewTopic(name="made"),)), 5)
            [made] = client.ask(DescribeTopicPartitions(topics=(TopicRequest(name="made"),)), 0).topics
            assert len(made.partitions) == 3
    finally:
        container.stop()


@pytest.mark.usefixtures("environment")
def test_a_broker_that_does_not_start_is_an_error_and_no_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(os.environ, "PEER_BROKER", os.environ["PEER_BROKER"].replace("num.partitions", "no.such"))
    with pytest.raises(RuntimeError, match="did not start"):
        docker.run({"ADVERTISED_PORT": 0})
    assert docker.run().exec_run("gen-ssl-certs.sh") == (0, b"")
