"""Java's kafka-clients as the program's client: `Client.java` in a JVM, told what to do line by line."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.wire.clients.script import FencedError

HERE = Path(__file__).parent
POM = HERE.parents[1] / "kafka" / "clients" / "pom.xml"
FENCED = ("ProducerFencedException", "InvalidProducerEpochException")


def jars() -> Path:
    """Return the folder of kafka-clients, KAFKA_CLIENTS_JARS or one that Maven fills; skip the test without both."""
    named = os.environ.get("KAFKA_CLIENTS_JARS")
    if named:
        return Path(named)
    folder = Path.home() / ".cache" / "kafkalab" / "kafka-clients"
    if not list(folder.glob("kafka-clients-*.jar")):
        if shutil.which("mvn") is None or shutil.which("java") is None:
            pytest.skip("Java's clients need java, and Maven or KAFKA_CLIENTS_JARS")
        goal = ("dependency:copy-dependencies", f"-DoutputDirectory={folder}")
        subprocess.run(["mvn", "-q", "-f", str(POM), *goal], check=True, timeout=600)
    return folder


class Java:
    """One JVM; its producers and consumers have names."""

    def __init__(self, servers: str) -> None:
        self.servers, self.count = servers, 0
        options = ("-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", f"{jars()}/*")
        self.process = subprocess.Popen(
            ["java", *options, str(HERE / "Client.java")],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip

    def ask(self, *words: Any) -> str:
        """Make one call; return its result. FencedError, or RuntimeError for any other exception."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write("\t".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        outcome, _, rest = self.process.stdout.readline().rstrip("\n").partition("\t")
        if outcome != "ok":
            raise (FencedError if rest.startswith(FENCED) else RuntimeError)(f"{words}: {rest}")
        return rest

    def producer(self, transactional_id: str, *config: str) -> Called:
        return self._made("producer", transactional_id, *config)

    def consumer(self, group: str, topic: str, isolation: str) -> Called:
        return self._made("consumer", group, isolation, topic)

    def _made(self, kind: str, *words: str) -> Called:
        self.count += 1
        self.ask(self.count, kind, self.servers, *words)
        return Called(self, self.count)

    def close(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait(60)
        self.process.stdout.close()


class Called:
    """A producer or a consumer of the JVM."""

    def __init__(self, java: Java, name: int) -> None:
        self.java, self.name = java, name

    def init(self) -> None:
        self.java.ask(self.name, "init")

    def begin(self) -> None:
        self.java.ask(self.name, "begin")

    def send(self, topic: str, partition: int, value: str) -> int:
        return int(self.java.ask(self.name, "send", topic, partition, value))

    def send_offset(self, topic: str, partition: int, offset: int, consumer: Called) -> None:
        self.java.ask(self.name, "offsets", topic, partition, offset, consumer.name)

    def commit(self) -> None:
        self.java.ask(self.name, "commit")

    def abort(self) -> None:
        self.java.ask(self.name, "abort")

    def poll(self) -> list[str]:
        return [value for value in self.java.ask(self.name, "poll").split(",") if value]

    def committed(self, topic: str, partition: int) -> int:
        return int(self.java.ask(self.name, "committed", topic, partition))

    def close(self) -> None:
        self.java.ask(self.name, "close")
