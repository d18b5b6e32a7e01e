"""Where the jars of Apache Kafka's broker are, for tests with the marker `kafka`."""

from __future__ import annotations

import os
from pathlib import Path

from tests.maven import CACHE, jars_of

POM = Path(__file__).parent / "pom.xml"


def broker_jars() -> Path:
    """Return the folder of the broker's jars, KAFKA_JARS or one that Maven fills; see `jars_of`."""
    named = os.environ.get("KAFKA_JARS")
    return Path(named) if named else jars_of(POM, CACHE / "kafka", "kafka_2.13-*.jar")
