"""Each client's exactly-once processor, with no fault and with every answer lost once; the brokers' history judges."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kafkalab.testing.kafka_lab import KafkaLab
from tests.wire.clients.clusters import TOPICS
from tests.wire.clients.drops import APIS
from tests.wire.clients.running import CLIENTS, NEEDS, run_client
from tests.wire.clients.script import EXPECTED, TASKS

pytestmark = pytest.mark.clients

ALWAYS = ("InitProducerId", "TxnOffsetCommit", "EndTxn", "Produce")
"""The APIs that each client calls in a transaction, whatever its protocol: an answer of each was lost."""
MOST = 40


class InThisProcess:
    """The brokers of a `KafkaLab` as the program's cluster."""

    def __init__(self, lab: KafkaLab) -> None:
        self.lab, self.servers, self.down = lab, lab.bootstrap_servers, ""

    def crash(self, transactional_id: str) -> None:
        self.down = self.lab.coordinator_of(transactional_id)
        self.lab.crash(self.down)

    def restart(self) -> None:
        self.lab.restart(self.down)


@pytest.fixture
def brokers() -> Iterator[KafkaLab]:
    with KafkaLab(topics=TOPICS, allow_unused_faults=True) as lab:
        lab.pipeline("tasks", "results", lambda task: task.value, lambda result: result.value)
        yield lab


@pytest.mark.parametrize("client", CLIENTS)
def test_a_processor_handles_each_record_once(client: str, brokers: KafkaLab, tmp_path: Path) -> None:
    NEEDS.get(client, Path)()
    assert_each_task_is_done_once(client, brokers, tmp_path)


@pytest.mark.parametrize("client", CLIENTS)
def test_a_processor_survives_the_loss_of_every_answer(client: str, brokers: KafkaLab, tmp_path: Path) -> None:
    NEEDS.get(client, Path)()
    for api in APIS:
        for number in range(1, MOST, 2):
            brokers.drop(f"{api}Response#{number}")
    assert_each_task_is_done_once(client, brokers, tmp_path)
    unused = {fault.frames[0] for fault in brokers.unused_faults}
    assert not unused & {f"{api}Response#1" for api in ALWAYS}


def assert_each_task_is_done_once(client: str, brokers: KafkaLab, folder: Path) -> None:
    found = run_client(InThisProcess(brokers), client, folder / "errors", "", "process")
    assert found == {"process": EXPECTED["process"]}, (folder / "errors").read_text()[-2_000:]
    assert sorted(value or "" for value in brokers.values("results")) == sorted(TASKS)
    assert brokers.committed_offsets("processor") == {"tasks-0": 6, "tasks-1": 6}
    brokers.check("exactly-once")
