"""Spark's own Kafka sink and source on brokers of this process: a task that is tried again, and read_committed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from kafkalab.course.lab11.spark_job import PAYMENTS
from kafkalab.sim.scenario import Scenario

FOLDER, CACHE = "KAFKALAB_SPARK_JARS", Path.home() / ".cache" / "kafkalab" / "spark-kafka"
"""The variable that names the folder with Spark's connector, and the folder without it."""
CONNECTOR = "spark-sql-kafka-0-10_2.13-*.jar"
HOW_TO_GET_IT = (
    "Spark's connector for Kafka is not in {}. With Java and Maven, in the project's folder: "
    "mvn -q -f tests/wire/clients/spark/pom.xml dependency:copy-dependencies -DoutputDirectory={}"
)
SAVED = "{}\nSo this is what a saved run has seen (data/spark_and_kafka.json).\n"
WAIT_S, OPEN_MS, MOST_S = 60, 600_000, 300
"""Patience with one call, with an open transaction, and with Spark in all."""
Seen = dict[str, list[str]]


class NoSparkError(Exception):
    """Spark's sink cannot be run here; the message says why."""


def jars() -> Path:
    """Return the folder in which Spark's connector for Kafka has to be."""
    return Path(os.environ.get(FOLDER) or CACHE)


def spark() -> Seen:
    """Run Spark on brokers in this process, which takes half a minute; return by step what was there.

    Where that cannot be had, say so in a line that helps, and return what a saved run has seen.
    """
    try:
        return live()
    except NoSparkError as reason:
        with suppress(OSError):
            sys.stderr.write(SAVED.format(reason))
        return load_seen()


def load_seen() -> Seen:
    """Return what a run of `docs/spark_for_real.py` has seen."""
    found: Seen = json.loads((files(__package__) / "spark.json").read_text(encoding="utf-8"))["seen"]
    return found


def sink_session() -> Scenario:
    """Return what Spark's sink sent in that run, and when (data/spark_sink.klab)."""
    text = (files(__package__) / "spark_sink.json").read_text(encoding="utf-8")
    session = Scenario.from_json(json.loads(text), "spark_sink")
    return replace(session, title="Spark's Kafka sink, and a task that is tried again")


def live(save: Path | None = None) -> Seen:
    """Run Spark on brokers in this process; write what its sink has sent to `save`.

    NoSparkError where something is missing.
    """
    if not list(jars().glob(CONNECTOR)):
        raise NoSparkError(HOW_TO_GET_IT.format(jars(), jars()))
    try:
        import pyarrow  # noqa: F401
        import pyspark  # noqa: F401
        from confluent_kafka import KafkaException, Producer

        from kafkalab.live.cluster import LiveCluster
        from kafkalab.spark.session.java import JavaMissingError, java_home
    except ImportError as missing:
        raise NoSparkError(f"{missing.name or missing} is not installed.") from None
    try:
        java_home()
        with LiveCluster(brokers=1) as cluster, TemporaryDirectory() as folder:
            return _steps(cluster, Path(folder), Producer, save)
    except JavaMissingError as missing:
        raise NoSparkError(str(missing)) from None
    except KafkaException as error:
        raise NoSparkError(f"The producer has given up ({error}).") from None
    except OSError as error:
        raise NoSparkError(f"No brokers can listen here ({error}).") from None


def _steps(cluster: Any, folder: Path, producer_of: Callable[[dict[str, Any]], Any], save: Path | None) -> Seen:
    """Let Spark write, and read what a transactional producer commits, aborts and leaves open."""
    servers = cluster.bootstrap_servers
    with _Spark(servers, folder) as job:
        job.do("write")
        if save is not None:
            cluster.save(save)
        seen = {"written": job.do("read_written")}
        producer = producer_of({
            "bootstrap.servers": servers, "transactional.id": "shop", "linger.ms": 0, "log_level": 0,
            "transaction.timeout.ms": OPEN_MS,
        })  # fmt: skip
        producer.init_transactions(WAIT_S)
        for value, end in (("ann 10", producer.commit_transaction), ("bob 5", producer.abort_transaction)):
            _write(producer, value)
            end(WAIT_S)
        _write(producer, "cyd 7")
        seen["default"] = job.do("default")
        seen["read_committed"] = job.do("copy")
        producer.commit_transaction(WAIT_S)
        seen["later"] = job.do("copy")
        return seen


class _Spark:
    """The process of `spark_job.py`; it is killed after `MOST_S`."""

    def __init__(self, servers: str, folder: Path) -> None:
        self._errors = folder / "errors"
        command = [sys.executable, "-m", "kafkalab.course.lab11.spark_job", str(jars()), servers, str(folder)]
        environment = {name: value for name, value in os.environ.items() if name != "SPARK_REMOTE"}
        with self._errors.open("w") as log:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True, env=environment
            )
        self._patience = threading.Timer(MOST_S, self._process.kill)
        self._patience.daemon = True
        self._patience.start()

    def do(self, step: str) -> list[str]:
        """Return the answer to a step. NoSparkError if the process has ended."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        line = ""
        with suppress(BrokenPipeError):
            self._process.stdin.write(f"{step}\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        if not line:
            said = self._errors.read_text(errors="replace").strip().splitlines() or ["it said nothing"]
            raise NoSparkError(f"Spark has ended: {said[-1][:300]}")
        found: list[str] = json.loads(line)
        return found

    def __enter__(self) -> _Spark:
        return self

    def __exit__(self, *error: object) -> None:
        with suppress(BrokenPipeError, subprocess.TimeoutExpired):
            self._process.communicate(timeout=WAIT_S)  # its stdin ends, and so does it
        self._patience.cancel()
        self._process.kill()
        self._process.wait()


def _write(producer: Any, value: str) -> None:
    """Begin a transaction with one payment, and wait until the leader has it."""
    producer.begin_transaction()
    producer.produce(PAYMENTS, value, partition=0)
    producer.flush(WAIT_S)
