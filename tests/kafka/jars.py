"""Where the jars of Apache Kafka's broker are, for tests with the marker `kafka`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


def broker_jars() -> Path:
    """Return the folder of the broker's jars, KAFKA_JARS; skip the test without it, for a broker takes a machine."""
    named = os.environ.get("KAFKA_JARS")
    if not named:
        pytest.skip("a running Apache Kafka is asked only where KAFKA_JARS names its jars (`make oracle` fetches them)")
    return Path(named)
