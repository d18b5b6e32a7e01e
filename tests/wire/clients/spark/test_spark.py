"""Spark's own source and sink of Kafka on the lab's brokers: batches and Structured Streaming."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.maven import CACHE, jars_of
from tests.wire.clients.clusters import lab

pytestmark = [pytest.mark.clients, pytest.mark.spark]

POM = Path(__file__).parent / "pom.xml"
LEVELS = (1, 2)
EXPECTED = {
    "written": ["1", "2", "3"],
    "read_committed": ["1", "2"],
    "read_uncommitted": ["1", "no", "2"],
    "copied": ["1", "2"],
    "position": {"paid-0": 6},  # three transactions of a record and a marker
    "copied later": ["1", "2", "3", "4"],
    "position later": {"paid-0": 12},
}


@pytest.fixture(scope="module")
def read_rows(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Any]:
    """Return what one session of Spark saw on clusters of both levels."""
    pytest.importorskip("pyspark")
    jars = jars_of(POM, CACHE / "spark-kafka", "spark-sql-kafka-*.jar")
    folders = [tmp_path_factory.mktemp("spark") for _ in LEVELS]
    environment = {name: value for name, value in os.environ.items() if name != "SPARK_REMOTE"}
    with lab(folders[0], LEVELS[0]) as first, lab(folders[1], LEVELS[1]) as second:
        words = [word for one, folder in zip((first, second), folders, strict=True) for word in (one.servers, folder)]
        command = [sys.executable, "-m", "tests.wire.clients.spark.program", str(jars), *map(str, words)]
        run = subprocess.run(command, capture_output=True, text=True, timeout=600, env=environment)
    assert run.returncode == 0, run.stderr[-3000:]
    return dict(zip(LEVELS, map(json.loads, run.stdout.splitlines()[-2:]), strict=True))


@pytest.mark.parametrize("level", LEVELS)
def test_spark_reads_and_writes_what_is_committed(level: int, read_rows: dict[int, Any]) -> None:
    assert read_rows[level] == EXPECTED
