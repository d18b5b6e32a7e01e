"""Java's kafka-clients as the program's client: `Client.java` in a JVM."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from tests.maven import CACHE, jars_of
from tests.wire.clients.told import BUILD, HERE, Told

POM = HERE.parents[1] / "kafka" / "clients" / "pom.xml"


def jars() -> Path:
    """Return the folder of kafka-clients, KAFKA_CLIENTS_JARS or one that Maven fills; see `jars_of`."""
    named = os.environ.get("KAFKA_CLIENTS_JARS")
    return Path(named) if named else jars_of(POM, CACHE / "kafka-clients", "kafka-clients-*.jar")


def compile_client() -> Path:
    """Return the folder of the compiled client; a JVM that compiles it at each start needs a second more."""
    source, made = HERE / "Client.java", BUILD / "java" / "Client.class"
    if not made.exists() or made.stat().st_mtime < source.stat().st_mtime:
        path = os.pathsep.join(map(str, sorted(jars().glob("*.jar"))))
        command = ("java", "-m", "jdk.compiler/com.sun.tools.javac.Main", "-cp", path, "-d", str(made.parent))
        subprocess.run((*command, str(source)), check=True, timeout=120)
    return made.parent


def java(servers: str) -> Told:
    """Start a JVM whose clients ask these servers."""
    options = ("-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", f"{compile_client()}:{jars()}/*")
    command = ("java", *options, "Client")
    return Told(servers, command, ("ProducerFencedException", "InvalidProducerEpochException"))
