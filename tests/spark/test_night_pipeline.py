"""docs/night_pipeline.py: lab 12's tables as a declarative pipeline hold what the lab's own views hold."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "docs" / "night_pipeline.py"
SECONDS = 300


@pytest.mark.spark
def test_the_pipelines_tables_are_the_views_of_the_lab(spark: SparkSession, tmp_path: Path) -> None:
    from pyspark.sql import functions as F

    from kafkalab.course.lab12.lesson import a_night, lesson
    from kafkalab.spark.storage.history_files import write_histories

    write_histories(a_night(spark), tmp_path / "night")
    command = [sys.executable, str(EXAMPLE), str(tmp_path / "night"), str(tmp_path / "results")]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 0, done.stdout[-3_000:] + done.stderr[-3_000:]
    tables, made = tmp_path / "results" / "spark-warehouse", lesson(spark)
    for name, frame in made.views.items():
        silver = spark.read.parquet(str(tables / f"silver_{name}")).select(*frame.columns)
        assert silver.count() == frame.count() > 0
        assert silver.exceptAll(frame).count() == 0
    duplicates = spark.read.parquet(str(tables / "gold_duplicates"))
    places = duplicates.select("key", F.explode("offsets").alias("offset")).collect()
    assert sorted(map(tuple, places)) == made.truth["duplicate"]
    reads = spark.read.parquet(str(tables / "gold_aborted_reads"))
    assert sorted({(row.key, row.offset) for row in reads.collect()}) == made.truth["G1a"]


def test_without_two_folders_it_says_how_it_is_used(program: Callable[[str], str]) -> None:
    program("java")
    done = subprocess.run([sys.executable, EXAMPLE], check=False, capture_output=True, text=True, timeout=SECONDS)
    assert (done.returncode, done.stderr) == (1, "usage: python docs/night_pipeline.py NIGHT RESULTS\n")
