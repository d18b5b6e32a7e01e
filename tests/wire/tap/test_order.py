"""The frames of Java's clients, as a tap sees them, come in the order of the simulator's for the same program."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kafkalab.live.tap import Tap
from kafkalab.sim.app import App
from kafkalab.sim.cluster import ran
from kafkalab.sim.scenario import Program, Scenario
from kafkalab.trace import Frame
from tests.kafka.jars import broker_jars
from tests.wire.clients.clusters import apache
from tests.wire.clients.java_client import jars, java
from tests.wire.clients.script import read
from tests.wire.clients.told import Told
from tests.wire.serving import serving

BY_TIME = ("ApiVersions", "Metadata", "Fetch", "Heartbeat")
"""Left out: Java asks for versions on each connection and for metadata when it pleases, the simulator's clients once;
how often a consumer fetches, and its heartbeats, depend on time."""
NOT_YET = (
    *("CONCURRENT_TRANSACTIONS", "COORDINATOR_NOT_AVAILABLE", "COORDINATOR_LOAD_IN_PROGRESS", "NOT_COORDINATOR"),
    "MEMBER_ID_REQUIRED",
)
"""A request with such an answer is left out: it is sent again, how often depends on how fast the brokers are."""


async def same_program(app: App) -> None:
    """Do what `java_program` does, by the simulator's clients: transactions, then consume, transform, produce."""
    pay = app.producer(transactional_id="pay")
    await pay.init_transactions()
    for value, ends in (("1", pay.commit_transaction), ("no", pay.abort_transaction), ("2", pay.commit_transaction)):
        pay.begin_transaction()
        await (await pay.send("in", value, partition=0))
        await ends()
    reader = app.consumer(
        group_id="group", isolation_level="read_committed", auto_offset_reset="earliest", enable_auto_commit=False
    )
    reader.subscribe(["in"])
    count = 0
    while count < 2:
        count += len(await reader.poll())
    for value, ends in (("lost", pay.abort_transaction), ("sum", pay.commit_transaction)):
        pay.begin_transaction()
        await (await pay.send("out", value, partition=0))
        await pay.send_offsets_to_transaction({"in-0": 5}, reader.group_metadata())
        await ends()
    await reader.close()
    await pay.close()


def java_program(jvm: Told) -> None:
    """The same by Java's clients."""
    pay = jvm.producer("pay")
    pay.init()
    for value, ends in (("1", pay.commit), ("no", pay.abort), ("2", pay.commit)):
        pay.begin()
        pay.send("in", 0, value)
        ends()
    reader = jvm.consumer("group", "in", "read_committed")
    assert read(reader, 2) == ["1", "2"]
    for value, ends in (("lost", pay.abort), ("sum", pay.commit)):
        pay.begin()
        pay.send("out", 0, value)
        pay.send_offset("in", 0, 5, reader)
        ends()
    reader.close()
    pay.close()


def order(frames: dict[str, Frame], clients: tuple[str, ...]) -> list[str]:
    """Return the names of the clients' requests in their order, without those of BY_TIME and NOT_YET."""
    answers = {f.of: f.error for f in frames.values() if f.kind == "response"}
    return [
        f.name
        for f in frames.values()
        if f.kind == "request" and f.sender.startswith(clients) and f.name not in BY_TIME
        and answers.get(f.id) not in NOT_YET
    ]  # fmt: skip


def looked_up_once(names: list[str]) -> list[str]:
    """Without a lookup that follows a lookup: on a new cluster the first coordinators are not ready, and asked for
    again."""
    return [n for n, before in zip(names, ["", *names], strict=False) if (n, before) != ("FindCoordinator",) * 2]


@contextmanager
def running_kafka(folder: Path, level: int) -> Iterator[str]:
    """Start Apache Kafka at this level of transaction.version; give its bootstrap server."""
    with apache(broker_jars(), folder / "kafka", level) as kafka:
        yield kafka.servers


@contextmanager
def lab_brokers(folder: Path, level: int) -> Iterator[str]:
    """Start `kafkalab serve` with a cluster of this level; give its first bootstrap server."""
    with serving(folder, "--cluster-level", str(level)) as servers:
        yield servers.split(",")[0]


@pytest.mark.parametrize("level", [1, 2])
@pytest.mark.parametrize(
    "brokers",
    [
        pytest.param(lab_brokers, marks=pytest.mark.clients, id="kafkalab"),
        pytest.param(running_kafka, marks=[pytest.mark.clients, pytest.mark.kafka], id="kafka"),
    ],
)
def test_javas_frames_come_in_the_simulators_order(brokers: object, level: int, tmp_path: Path) -> None:
    jars()
    simulated = ran(
        Scenario(profile=f"4.x/TV{level}", topics={"in": 1, "out": 1}, programs=(Program("app", same_program),))
    )
    with brokers(tmp_path, level) as server, Tap(server) as tap:  # type: ignore[operator]
        jvm = java(tap.bootstrap_servers)
        try:
            java_program(jvm)
        finally:
            jvm.close()
        recording = tap.recording()
    assert recording.cast.rules.profile == f"4.x/TV{level}"
    expected = order(simulated.trace.frames, ("app",))
    found = order(recording.trace.frames, ("producer-pay", "consumer-group-1"))
    assert looked_up_once(found) == looked_up_once(expected)
    assert "EndTxn" in found
