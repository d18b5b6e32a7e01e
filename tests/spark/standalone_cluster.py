"""A real Spark cluster, or a Spark Connect server, on this machine: started from the pip package, on loopback alone.

    with standalone() as cluster:
        spark = spark_session(master=cluster.master, **cluster.settings)

Every process is gone at the end, also after a failure, and every port is free again.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from kafkalab.spark.session.class_archive import archive_options
from kafkalab.spark.session.java import java_home

HOST = "127.0.0.1"
DAEMON_JVM = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xss512k"
PACKAGES = str(Path(__file__).resolve().parents[2])
"""The path on which the executors' Pythons find this kafkalab."""


class ClusterError(RuntimeError):
    """A process of a cluster did not start, or ended; the message says which, and its last line."""


@dataclass(slots=True)
class Daemon:
    """A process that runs until it is killed, with everything that it started."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path

    @property
    def runs(self) -> bool:
        """True if it is still there."""
        return self.process.poll() is None

    def kill(self) -> None:
        """It and its children are gone at once, without a word of farewell."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(timeout=60)

    def last_line(self) -> str:
        """Return what it said last."""
        lines = self.log.read_text(encoding="utf-8", errors="replace").split("\n")
        return next((line for line in reversed(lines) if line.strip()), "it said nothing")


@dataclass(slots=True, kw_only=True)
class Standalone:
    """A master and its workers. `settings` are for `spark_session(master=cluster.master, **cluster.settings)`."""

    master: str
    settings: dict[str, str]
    workers: list[Daemon] = field(default_factory=list)
    page: str = ""

    def alive(self) -> int:
        """Return how many workers the master counts on."""
        with urllib.request.urlopen(f"{self.page}/json/", timeout=10) as answer:
            return int(json.load(answer)["aliveworkers"])


@contextmanager
def standalone(workers: int = 2, cores: int = 1, memory: str = "1g", timeout_s: float = 240) -> Iterator[Standalone]:
    """A cluster of a master and so many workers, each with so many cores and so much memory for executors.

    ClusterError if it does not stand after `timeout_s` seconds, JavaMissingError without Java.
    """
    with tempfile.TemporaryDirectory(prefix="kafkalab-cluster-") as name, _daemons() as started:
        folder = Path(name)
        port, page = free_ports(2)
        address = f"spark://{HOST}:{port}"
        master = [_program("spark-class"), "org.apache.spark.deploy.master.Master", "--host", HOST]
        started.append(_start("the master", [*master, "--port", str(port), "--webui-port", str(page)], folder))
        cluster = Standalone(master=address, settings=_settings(cores, memory), page=f"http://{HOST}:{page}")
        _wait(started, lambda: _listens(port) and _listens(page), timeout_s)
        for number in range(1, workers + 1):
            (its_page,) = free_ports(1)
            worker = [_program("spark-class"), "org.apache.spark.deploy.worker.Worker", "--host", HOST]
            worker += ["--webui-port", str(its_page), "--cores", str(cores), "--memory", memory]
            worker += ["--work-dir", str(folder / f"worker-{number}"), address]
            daemon = _start(f"worker {number}", worker, folder)
            cluster.workers.append(daemon)
            started.append(daemon)
        _wait(started, lambda: cluster.alive() == workers, timeout_s)
        yield cluster


@contextmanager
def connect_server(master: str = "local[2,2]", memory: str = "768m", timeout_s: float = 240) -> Iterator[str]:
    """A Spark Connect server; what it is reached by, such as sc://127.0.0.1:15002, is a master for `spark_session`."""
    from kafkalab.spark.session.session import BRIEF_JVM, LEAN_JVM

    with tempfile.TemporaryDirectory(prefix="kafkalab-connect-") as name, _daemons() as started:
        (port,) = free_ports(1)
        conf = {
            "spark.connect.grpc.binding.address": HOST,
            "spark.connect.grpc.binding.port": str(port),
            "spark.driver.host": HOST,
            "spark.driver.bindAddress": HOST,
            "spark.driver.memory": memory,
            "spark.driver.extraJavaOptions": f"{LEAN_JVM} {BRIEF_JVM} {archive_options(java_home())}",
            "spark.ui.enabled": "false",
            "spark.sql.shuffle.partitions": "4",
            "spark.sql.catalogImplementation": "in-memory",
            "spark.sql.session.timeZone": "UTC",
        }
        command = [_program("spark-submit"), "--master", master]
        command += ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer"]
        for key, value in conf.items():
            command += ["--conf", f"{key}={value}"]
        started.append(_start("the Spark Connect server", [*command, "spark-internal"], Path(name), memory))
        _wait(started, lambda: _listens(port), timeout_s)
        yield f"sc://{HOST}:{port}"


def free_ports(number: int) -> list[int]:
    """So many ports of loopback that nobody listens on now."""
    taken = [socket.socket() for _ in range(number)]
    try:
        for one in taken:
            one.bind((HOST, 0))
        return [int(one.getsockname()[1]) for one in taken]
    finally:
        for one in taken:
            one.close()


@contextmanager
def _daemons() -> Iterator[list[Daemon]]:
    """Kill at the end what is started in here, the last first."""
    started: list[Daemon] = []
    try:
        yield started
    finally:
        for daemon in reversed(started):
            daemon.kill()


def _start(name: str, command: list[str], folder: Path, memory: str = "256m") -> Daemon:
    log = folder / f"{name.replace(' ', '-')}.log"
    java = f"{DAEMON_JVM} {archive_options(home := java_home())}"
    env = {**os.environ, "JAVA_HOME": str(home), "SPARK_LOCAL_IP": HOST, "SPARK_DAEMON_MEMORY": memory}
    env |= {"SPARK_DAEMON_JAVA_OPTS": java, "PYSPARK_PYTHON": sys.executable, "PYTHONPATH": PACKAGES}
    env.pop("SPARK_REMOTE", None)
    with log.open("wb") as out:
        return Daemon(name, _group(command, folder, env, out), log)


def _group(command: list[str], folder: Path, env: dict[str, str], out: IO[bytes]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        command, cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True
    )


def _program(name: str) -> str:
    import pyspark

    return str(Path(pyspark.__file__).parent / "bin" / name)


def _settings(cores: int, memory: str) -> dict[str, str]:
    """Executors as large as their worker allows, less what a JVM needs besides its heap."""
    from kafkalab.spark.session.session import BRIEF_JVM, LEAN_JVM, megabytes

    return {
        "spark_driver_host": HOST,
        "spark_driver_bindAddress": HOST,
        "spark_executor_cores": str(cores),
        "spark_executor_memory": f"{megabytes(memory)}m",
        "spark_executor_extraJavaOptions": f"{LEAN_JVM} {BRIEF_JVM} {archive_options(java_home())}",
        "spark_executorEnv_PYTHONPATH": PACKAGES,
        "spark_sql_shuffle_partitions": "4",
    }


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(2)
        return probe.connect_ex((HOST, port)) == 0


def _wait(daemons: list[Daemon], ready: Callable[[], bool], timeout_s: float) -> None:
    """Wait until it is ready; ClusterError if a process ends before, or time is up."""
    until = time.monotonic() + timeout_s
    while True:
        for daemon in daemons:
            if not daemon.runs:
                raise ClusterError(f"{daemon.name} ended: {daemon.last_line()}")
        with suppress(OSError, ValueError):
            if ready():
                return
        if time.monotonic() > until:
            raise ClusterError(f"{daemons[-1].name} is not ready after {timeout_s:g} s: {daemons[-1].last_line()}")
        time.sleep(0.2)
