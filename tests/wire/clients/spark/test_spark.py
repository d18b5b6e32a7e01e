"""Spark's own source and sink of Kafka on the lab's brokers: batches and Structured Streaming."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.wire.clients.clusters import lab
from tests.wire.clients.told import BUILD

pytestmark = [pytest.mark.clients, pytest.mark.spark]

POM = Path(__file__).parent / "pom.xml"
EXPECTED = {
    "written": ["1", "2", "3"],
    "read_committed": ["1", "2"],
    "read_uncommitted": ["1", "no", "2"],
    "copied": ["1", "2"],
    "copied later": ["1", "2", "3", "4"],
}


@pytest.fixture(scope="module")
def jars() -> Path:
    """The folder of spark-sql-kafka's jars, filled by Maven once; the test is skipped without Java or Maven Central."""
    folder = BUILD / "spark-kafka"
    if not list(folder.glob("spark-sql-kafka*.jar")):
        if shutil.which("mvn") is None or shutil.which("java") is None:
            pytest.skip("Spark's Kafka source needs java and Maven")
        goal = ("dependency:copy-dependencies", f"-DoutputDirectory={folder}")
        run = subprocess.run(["mvn", "-q", "-B", "-f", str(POM), *goal], capture_output=True, text=True, timeout=600)
        if run.returncode:
            pytest.skip(f"Maven could not get Spark's Kafka source: {run.stdout.strip()[-300:]}")
    return folder


@pytest.mark.parametrize("profile", ["4.x/TV1", "4.x/TV2"])
def test_spark_reads_and_writes_what_is_committed(profile: str, jars: Path, tmp_path: Path):
    pytest.importorskip("pyspark")
    environment = {name: value for name, value in os.environ.items() if name != "SPARK_REMOTE"}
    with lab(tmp_path, profile) as cluster:
        command = [sys.executable, "-m", "tests.wire.clients.spark.program", cluster.servers, str(jars), str(tmp_path)]
        run = subprocess.run(command, capture_output=True, text=True, timeout=600, env=environment)
    assert run.returncode == 0, run.stderr[-3000:]
    assert json.loads(run.stdout.splitlines()[-1]) == EXPECTED
