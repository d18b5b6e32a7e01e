"""Java's kafka-clients as the program's client: `Client.java` in a JVM."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.wire.clients.told import HERE, Told

POM = HERE.parents[1] / "kafka" / "clients" / "pom.xml"


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


def java(servers: str) -> Told:
    """Start a JVM whose clients ask these servers."""
    options = ("-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", f"{jars()}/*")
    command = ("java", *options, str(HERE / "Client.java"))
    return Told(servers, command, ("ProducerFencedException", "InvalidProducerEpochException"))
