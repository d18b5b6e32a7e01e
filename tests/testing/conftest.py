"""Labs for tests, raw clients of them, and runs of pytest with the plugin."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.metadata import entry_points

import pytest

from kafkalab.testing import failure_artifacts, verdict
from kafkalab.testing.kafka_lab import KafkaLab
from tests.live.conftest import Client

PLUGIN = "kafka_lab" if entry_points(group="pytest11", name="kafka_lab") else "kafkalab.testing.plugin"
"""The plugin by the name under which it is installed; else by its module."""
ARGS = ("-p", PLUGIN, "-p", "no:nbval", "-p", "no:rerunfailures", "-p", "no:randomly", "-W", "error")


assert failure_artifacts  # loaded once: a run within this process begins with the modules of this one
assert verdict


@pytest.fixture
def lab() -> Iterator[KafkaLab]:
    with KafkaLab(topics={"in": 1, "out": 1}) as made:
        yield made


@pytest.fixture
def connect(lab: KafkaLab) -> Iterator[Callable[..., Client]]:
    """Make a transactional producer of raw requests, by transactional id and client id."""
    made: list[Client] = []

    def connect(tid: str = "pay", name: str = "app") -> Client:
        made.append(Client(lab, tid, name))
        return made[-1]

    yield connect
    lab.free_run()
    for client in made:
        client.close()
