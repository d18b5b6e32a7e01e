"""Java's kafka-clients as the program's client: `Client.java` in a JVM."""

from __future__ import annotations

import os
from pathlib import Path

from tests.maven import CACHE, jars_of
from tests.wire.clients.told import HERE, Told

POM = HERE.parents[1] / "kafka" / "clients" / "pom.xml"


def jars() -> Path:
    """Return the folder of kafka-clients, KAFKA_CLIENTS_JARS or one that Maven fills; see `jars_of`."""
    named = os.environ.get("KAFKA_CLIENTS_JARS")
    return Path(named) if named else jars_of(POM, CACHE / "kafka-clients", "kafka-clients-*.jar")


def java(servers: str) -> Told:
    """Start a JVM whose clients ask these servers."""
    options = ("-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", f"{jars()}/*")
    command = ("java", *options, str(HERE / "Client.java"))
    return Told(servers, command, ("ProducerFencedException", "InvalidProducerEpochException"))
