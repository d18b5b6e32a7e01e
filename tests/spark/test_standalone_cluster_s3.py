"""Histories in an S3 server, written and read by executors on this machine, on a cluster and through Spark Connect."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from kafkalab.spark.audits.summary import WAYS
from tests.spark.elsewhere import PLANTED
from tests.spark.object_store import BUCKET, CREDENTIALS, Store, object_store
from tests.spark.standalone_cluster import connect_server, standalone

pytestmark = pytest.mark.spark
ROOT = Path(__file__).resolve().parents[2]
LOCAL = "local[2,2]"
MINUTES = 60
RECORDS = 3_000
Row = list[Any]


@pytest.fixture(scope="module", autouse=True)
def java(program: Callable[[str], str]) -> str:
    return program("java")


@pytest.fixture(scope="module")
def store(java: str) -> Iterator[Store]:
    with object_store() as store:
        yield store


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory, java: str) -> list[Row]:
    """Return what the audits find in the same history in a folder."""
    rows = without_scratch(run_audit(LOCAL, str(tmp_path_factory.mktemp("here") / "night"), records=RECORDS))
    for way in WAYS:
        assert set(PLANTED) <= {row[3] for row in rows if row[:2] == [way, "found"]}
    return rows


@pytest.fixture(scope="module")
def night(store: Store, expected: list[Row]) -> str:
    """The history in the server, written by executors on this machine, and found to be the same there."""
    place = store.uri("made/night")
    done = run_audit(LOCAL, place, env=CREDENTIALS, records=RECORDS)
    assert without_scratch(done) == expected
    assert scratch(done) == [tempfile.gettempdir()]
    return place


def new(name: str) -> str:
    """The name of a folder that is not there, also when a test is run again."""
    return f"{name}-{time.monotonic_ns()}"


def run(*words: str, env: Mapping[str, str] = {}, **more: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", *words], cwd=ROOT, env={**os.environ, **env}, capture_output=True, text=True,
        timeout=10 * MINUTES, check=False, **more,
    )  # fmt: skip


def run_audit(
    master: str, place: str, settings: Mapping[str, str] = {}, env: Mapping[str, str] = {}, records: int = 0
) -> list[Row]:
    """Return what a driver of its own prints."""
    words = ["tests.spark.elsewhere", master, place, *([str(records)] if records else [])]
    done = run(*words, env={**env, "SETTINGS": json.dumps(settings)})
    assert done.returncode == 0, done.stderr[-3000:]
    return sorted(map(json.loads, done.stdout.splitlines()), key=json.dumps)


def test_a_cluster_writes_and_finds_the_same_and_leaves_nothing(store: Store, expected: list[Row]) -> None:
    """The workers' own environment has no credentials: Spark's setting gives them to the executors."""
    folder = new("by-cluster")
    place = store.uri(f"{folder}/night")
    with standalone(workers=2, memory="600m") as here:
        settings = here.settings | {f"spark_executorEnv_{name}": value for name, value in CREDENTIALS.items()}
        done = run_audit(here.master, place, settings, CREDENTIALS, RECORDS)
    assert without_scratch(done) == expected
    assert scratch(done) == [f"s3://{BUCKET}/{folder}"]
    assert store.names(f"{folder}/kafkalab-audit") == []


def test_spark_connect_finds_the_same_and_leaves_nothing(
    store: Store, night: str, expected: list[Row], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    with connect_server(memory="600m") as address:
        done = run_audit(address, night)
    assert without_scratch(done) == expected
    assert scratch(done) == [f"s3://{BUCKET}/made"]
    assert store.names("made/kafkalab-audit") == []


def without_scratch(rows: list[Row]) -> list[Row]:
    return [row for row in rows if row[1] != "scratch"]


def scratch(rows: list[Row]) -> list[str]:
    """The places beside which the audits kept their tables."""
    return sorted({row[2] for row in rows if row[1] == "scratch"})


def begin(store: Store, name: str) -> subprocess.Popen[bytes]:
    """A workload that goes to the server, stopped while its first files are there and its list is not."""
    words = f"kafkalab workload synthetic --records 400000 --quiet --out {store.uri(name)}".split()
    process = subprocess.Popen(
        [sys.executable, "-m", *words], cwd=ROOT, env={**os.environ, **CREDENTIALS}, start_new_session=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    until = time.monotonic() + 4 * MINUTES
    while not store.names(f"{name}/") and process.poll() is None and time.monotonic() < until:
        time.sleep(0.05)
    assert f"{name}/history.json" not in store.names(f"{name}/") != []
    return process


def test_a_workload_that_is_killed_leaves_no_history_and_one_that_is_stopped_leaves_nothing(store: Store) -> None:
    killed, stopped = new("killed"), new("stopped")
    process = begin(store, killed)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait(timeout=MINUTES)
    done = run("kafkalab", "audit", store.uri(killed), env=CREDENTIALS)
    said = f"s3://{BUCKET}/{killed} has no history.json: it is no history, or writing it did not come to its end"
    assert (done.returncode, done.stderr) == (2, f"kafkalab audit: {said}\n")
    again = run("kafkalab", "workload", "synthetic", "--out", store.uri(killed), env=CREDENTIALS)
    assert (again.returncode, again.stderr.count("\n")) == (2, 1)
    assert "is there already; give --out a new folder, or remove it" in again.stderr
    process = begin(store, stopped)
    process.terminate()
    assert process.wait(timeout=4 * MINUTES) != 0  # 130, or 2 where the signal came to a call of Java
    assert store.names(f"{stopped}/") == []


def test_the_commands_work_there_and_their_mistakes_cost_one_line(store: Store, night: str) -> None:
    done = run("kafkalab", "audit", night, "--only", "duplicate,G1c", "--quiet", env=CREDENTIALS)
    assert (done.returncode, done.stderr) == (1, "")
    assert "run 5, duplicate: " in done.stdout
    for words, said in (
        (["audit", store.uri("night", bucket="nowhere")], "make the bucket first, or correct its name"),
        (["audit", store.uri("nothing")], f"there is no folder s3://{BUCKET}/nothing"),
        (["audit", "xyz://lab/night"], "the URIs of pyarrow begin with s3://"),
        (["workload", "synthetic", "--out", store.uri("night", bucket="nowhere")], "make the bucket first"),
        (["workload", "synthetic", "--out", night], "is there already; give --out a new folder"),
        (["capture", "127.0.0.1:9", "--topics", "a", "--out", night], "a capture goes to a folder of this machine"),
    ):
        done = run("kafkalab", *words, env=CREDENTIALS)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
        assert said in done.stderr
    store.heed_credentials(True)
    try:
        done = run("kafkalab", "audit", night, env=CREDENTIALS)
    finally:
        store.heed_credentials(False)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, here and for Spark's executors" in done.stderr

