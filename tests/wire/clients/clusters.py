"""Clusters on which the program runs: the lab's, and an Apache Kafka; both can lose the coordinator's broker."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.describe_transactions import DescribeTransactions
from kafkalab.protocol.messages.find_coordinator import TRANSACTION, FindCoordinator
from tests.kafka.running_kafka import RunningKafka
from tests.wire.connection import Connection

TOPICS = {"orders": 4, "bills": 4, "tasks": 2, "results": 2}
"""Partitions of the program's topics; each of the others has one."""
OTHERS = ("plain", "payments", "in", "out", "steady")
"""The lab's brokers create them when a client names them, unless it forbids that as one of CREATES_NONE does."""
CREATES_NONE = ("kacrab",)
PATIENCE_S = 120


class Cluster(Protocol):
    """Brokers on which the program runs: `crash` ends the one that coordinates the id, `restart` starts it again."""

    servers: str

    def crash(self, transactional_id: str) -> None: ...
    def restart(self) -> None: ...


class Lab:
    """`kafkalab serve` in a process of its own."""

    def __init__(self, servers: str, server: subprocess.Popen[str]) -> None:
        self.servers, self._server, self._down = servers, server, ""

    def crash(self, transactional_id: str) -> None:
        """End the broker that coordinates the id."""
        with Connection(self.servers) as connection:
            self._down = connection.ask(FindCoordinator(key=transactional_id, key_type=TRANSACTION), 2).node_id
        self.type(f"Crash:{self._down}")

    def restart(self) -> None:
        """Start the broker again."""
        self.type(f"Restart:{self._down}")

    def type(self, fault: str) -> None:
        """Type a fault into the server's stdin."""
        assert self._server.stdin is not None
        self._server.stdin.write(f"{fault}\n")
        self._server.stdin.flush()


@contextlib.contextmanager
def lab(folder: Path, level: int, *faults: str, client: str = "") -> Iterator[Lab]:
    """Serve with the topics that this client does not create; what the server logs is in `folder`/serve.log."""
    counts = TOPICS | dict.fromkeys(OTHERS if client in CREATES_NONE else (), 1)
    topics = ",".join(f"{name}:{count}" for name, count in counts.items())
    options = ["--port", "0", "--cluster-level", str(level), "--topics", topics]
    options += ["--config", "group.initial.rebalance.delay.ms=0"]
    options += [word for fault in faults for word in ("--fault", fault)]
    command = [sys.executable, "-m", "kafkalab.cli.main", "serve", *options]
    with (folder / "serve.log").open("w") as log:
        server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True)
        assert server.stdin is not None
        assert server.stdout is not None
        try:
            yield Lab(server.stdout.readline().removeprefix("ready: ").strip(), server)
        finally:
            server.stdin.close()
            server.terminate()
            assert server.wait(60) == 0
            server.stdout.close()


class Apache:
    """One process of Apache Kafka, which is all of the cluster: a crash is over when it has started again.

    `clients` share it, and a crash is one for all of them.
    """

    def __init__(self, kafka: RunningKafka, clients: int) -> None:
        self._kafka, self.servers = kafka, f"127.0.0.1:{kafka.ports[1]}"
        self._ready = threading.Barrier(clients, self._kill, PATIENCE_S)

    def create(self, prefix: str) -> None:
        """Create the program's topics, and wait for their leaders: franz-go asks four times for one that is unknown."""
        admin = AdminClient({"bootstrap.servers": self.servers})
        topics = {prefix + name: count for name, count in (TOPICS | dict.fromkeys(OTHERS, 1)).items()}
        for done in admin.create_topics([NewTopic(name, count, 1) for name, count in topics.items()]).values():
            done.result(60)
        until = time.monotonic() + PATIENCE_S
        while not all(self._is_led(admin, name) for name in topics):
            assert time.monotonic() < until, f"a topic of {prefix} has no leader"
            time.sleep(0.2)

    def _is_led(self, admin: AdminClient, topic: str) -> bool:
        found = admin.list_topics(topic, 30).topics[topic].partitions.values()
        return bool(found) and all(one.leader >= 0 for one in found)

    def crash(self, transactional_id: str) -> None:
        """Wait until all clients want a crash; BrokenBarrierError if one has given up.

        The crash is over when the coordinator of this id has read its log: kafkajs asks it once (README.md).
        """
        self._ready.wait()
        question, until = DescribeTransactions(transactional_ids=(transactional_id,)), time.monotonic() + PATIENCE_S
        with Connection(self.servers) as connection:
            while connection.ask(question, 0).error is not Error.NONE:
                assert time.monotonic() < until, f"the coordinator of {transactional_id} does not answer"
                time.sleep(0.1)

    def give_up(self) -> None:
        """Let nobody wait for a client that has failed."""
        self._ready.abort()

    def _kill(self) -> None:
        self._kafka.stop(1, kill=True)
        self._kafka.start(1)

    def restart(self) -> None:
        """Do nothing: it runs."""


@contextlib.contextmanager
def apache(libs: Path, home: Path, level: int, clients: int = 1) -> Iterator[Apache]:
    """Start Apache Kafka from the jars in `libs` at this level of transaction.version, with its data in `home`.

    Its ports are below those that the system gives to outgoing connections, of which one may have any of those.
    """
    kafka = RunningKafka(libs, home, first_port=29_192 + 10 * level, more="auto.create.topics.enable=true\n")
    kafka.format(level)
    try:
        kafka.start()
        yield Apache(kafka, clients)
    finally:
        kafka.stop_all()
