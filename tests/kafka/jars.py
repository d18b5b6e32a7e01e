"""Where the jars of Apache Kafka's broker are, for tests with the marker `kafka`."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

POM = Path(__file__).parent / "pom.xml"


def broker_jars() -> Path:
    """Return the folder of the broker's jars, KAFKA_JARS or one that Maven fills; skip the test without both."""
    named = os.environ.get("KAFKA_JARS")
    if named:
        return Path(named)
    folder = Path.home() / ".cache" / "kafkalab" / "kafka"
    if not list(folder.glob("kafka_2.13-*.jar")):
        if shutil.which("mvn") is None or shutil.which("java") is None:
            pytest.skip("a running Apache Kafka needs java, and Maven or KAFKA_JARS")
        goal = ("dependency:copy-dependencies", f"-DoutputDirectory={folder}")
        subprocess.run(["mvn", "-q", "-B", "-f", str(POM), *goal], check=True, timeout=900)
    return folder
