"""The same code runs on a standalone cluster and through Spark Connect; nothing of either is left afterwards."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kafkalab.checks.all import check_all
from kafkalab.protocol.rules import DEDUPLICATION
from kafkalab.reference.rule_matrix import FOLDER
from kafkalab.sim.scenario import Scenario
from kafkalab.spark.simulation.runs import Runs, history_of_seed
from tests.spark import standalone_cluster as cluster
from tests.spark.everywhere import ALL_WORK
from tests.spark.standalone_cluster import HOST, ClusterError, connect_server, free_ports, standalone

ROOT = Path(__file__).resolve().parents[2]
SEEDS = "1-4"
BY_FRAMES = "duplicate,sequence gap,LSO regression"
MINUTES = 60
Finding = list[Any]


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A scenario file in which a retried batch is appended again."""
    scenario = Scenario.load(ROOT / FOLDER / "deduplication.klab")
    path = tmp_path_factory.mktemp("scenario") / "broken.klab"
    replace(scenario, rules_off=(*scenario.rules_off, DEDUPLICATION.name)).save(path)
    return str(path)


@pytest.fixture(scope="module")
def expected(broken: str) -> list[Finding]:
    """Return what the pure-Python checks find in the same runs."""
    runs = Runs.of(SEEDS, scenario=broken)
    found = []
    for seed in runs.seeds:
        for f in check_all(history_of_seed(runs, seed)).findings:
            found.append([seed, f.anomaly, f.policy, list(f.keys), list(f.offsets)])
    assert {row[0] for row in found} == set(runs.seeds)
    assert set(BY_FRAMES.split(",")[:2]) <= {row[1] for row in found}
    return found


def both_ways(expected: list[Finding]) -> list[Finding]:
    """All of them from the checks in tasks, and some from DataFrames."""
    frames = [["key pass", *row] for row in expected if row[1] in BY_FRAMES.split(",")]
    return sorted([["checks", *row] for row in expected] + frames)


@contextmanager
def driver(
    master: str, scenario: str, settings: dict[str, str], by_frames: str = "", executors: int = 0
) -> Iterator[subprocess.Popen[str]]:
    """A process of its own in which the driver runs; killed at the end, if it is still there."""
    command = [sys.executable, "-m", "tests.spark.everywhere", master, scenario, SEEDS, by_frames]
    env = {**os.environ, "SETTINGS": json.dumps(settings)} | ({"EXECUTORS": str(executors)} if executors else {})
    process = subprocess.Popen(
        command, cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "begins\n"
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate(timeout=MINUTES)


def findings(process: subprocess.Popen[str]) -> list[Finding]:
    """Return what the driver prints until it ends."""
    out, _ = process.communicate(timeout=10 * MINUTES)
    *lines, last = out.splitlines()
    assert last == "ends"
    return sorted(json.loads(line) for line in lines)


def listens(address: str) -> bool:
    host, _, port = address.rpartition("/")[2].partition(":")
    with socket.socket() as probe:
        return probe.connect_ex((host, int(port))) == 0


@pytest.mark.spark
def test_a_cluster_finds_the_same_also_when_a_worker_dies_on_the_way(
    program: Callable[[str], str], broken: str, expected: list[Finding]
) -> None:
    program("java")
    with standalone(workers=2, memory="600m") as here:
        assert here.alive() == 2
        with driver(here.master, broken, here.settings, BY_FRAMES, executors=2) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == f"{ALL_WORK}\n"
            here.workers[1].kill()
            assert process.poll() is None
            assert findings(process) == both_ways(expected)
        assert [worker.runs for worker in here.workers] == [True, False]
    assert not any(worker.runs for worker in here.workers)
    assert not listens(here.master)


@pytest.mark.spark
def test_spark_connect_finds_the_same(program: Callable[[str], str], broken: str, expected: list[Finding]) -> None:
    program("java")
    with connect_server(memory="600m") as address, driver(address, broken, {}, BY_FRAMES) as process:
        assert findings(process) == both_ways(expected)
    assert not listens(address)


def test_what_was_started_is_gone_after_a_failure(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    started: list[cluster.Daemon] = []

    def fail() -> None:
        with cluster._daemons() as here:
            here.append(cluster._start("a sleeper", ["sh", "-c", f"exec 3> {fifo}; sleep 600 & sleep 600"], tmp_path))
            started.extend(here)
            writers.append(os.open(fifo, os.O_RDONLY))  # waits until somebody has it open for writing
            raise ZeroDivisionError

    writers: list[int] = []
    with pytest.raises(ZeroDivisionError):
        fail()
    assert not started[0].runs
    assert select.select(writers, [], [], MINUTES)[0] == writers
    assert os.read(writers[0], 1) == b""  # its child has it open no more
    os.close(writers[0])


def test_a_process_that_ends_or_takes_too_long_is_named(tmp_path: Path) -> None:
    with cluster._daemons() as started:
        started.append(cluster._start("the master", ["sh", "-c", "echo no room; exit 3"], tmp_path))
        started[0].process.wait(timeout=MINUTES)
        with pytest.raises(ClusterError, match="the master ended: no room"):
            cluster._wait(started, lambda: False, 60)
        started[0] = cluster._start("the master", ["sleep", "600"], tmp_path)
        with pytest.raises(ClusterError, match=r"the master is not ready after 0.1 s: it said nothing"):
            cluster._wait(started, lambda: False, 0.1)


def test_free_ports_are_free_and_different() -> None:
    ports = free_ports(5)
    assert len(set(ports)) == 5
    for port in ports:
        with socket.socket() as one:
            one.bind((HOST, port))
