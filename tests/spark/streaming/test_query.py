"""Streams find what the whole history holds; a process killed in the middle loses nothing and says nothing twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kafkalab.checks.check import Finding
from kafkalab.spark.simulation.runs import Runs, history_of_seed
from kafkalab.spark.streaming.arrivals import Arrival, arrivals_of
from kafkalab.spark.streaming.group import SHARES, watch_arrivals
from kafkalab.spark.streaming.watch import Limits
from tests.spark.streaming.histories import ROOT, all_of_them

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FILES = 4
LIMITS = Limits()


@pytest.fixture(scope="module")
def rows() -> list[Arrival]:
    """The arrivals of several broken runs, in the order of their steps."""
    return sorted(arrivals_of(all_of_them()), key=lambda row: row.step)


@pytest.fixture(scope="module")
def feed(rows: list[Arrival], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of Parquet files, written one after the other."""
    import pyarrow.parquet as pq
    from pyarrow import Table

    from kafkalab.spark.streaming.schema import arrow_arrivals

    folder = tmp_path_factory.mktemp("feed")
    size = -(-len(rows) // FILES)
    for number in range(FILES):
        file = folder / f"{number:04}.parquet"
        pq.write_table(Table.from_batches([arrow_arrivals(rows[number * size : (number + 1) * size])]), file)
        os.utime(file, (1_000_000_000 + number, 1_000_000_000 + number))
    return folder


def from_frame(frame: DataFrame) -> Iterator[tuple[int, Finding]]:
    """Findings as they come from Spark, as objects."""
    from kafkalab.spark.streaming.sink import finding

    for row in frame.collect():
        given = row.asDict()
        yield given.pop("run"), finding(given)


@pytest.mark.spark
def test_the_tables_of_histories_arrive_as_the_histories_do(spark: SparkSession, rows: list[Arrival]) -> None:
    from kafkalab.spark.storage.frames import Histories
    from kafkalab.spark.streaming.frames import arrivals
    from kafkalab.spark.streaming.query import findings
    from kafkalab.spark.streaming.schema import SCHEMA

    made = arrivals(Histories.of(spark, all_of_them()))
    assert made.schema.names == SCHEMA.names
    plain = [{**row.asDict(), "partitions": tuple(row["partitions"])} for row in made.collect()]
    assert Counter(Arrival(**values) for values in plain) == Counter(rows)
    assert Counter(from_frame(findings(made.repartition(3, "offset", "step")))) == Counter(watch_arrivals(rows, LIMITS))


@pytest.mark.spark
def test_a_stream_of_simulations_has_the_findings_of_each(spark: SparkSession, tmp_path: Path) -> None:
    from kafkalab.spark.simulation.frames import stream_of_simulations
    from kafkalab.spark.streaming.query import watch
    from kafkalab.spark.streaming.sink import FindingsFolder

    limits = Limits(open_ms=40, stuck_ms=30)
    query = watch(stream_of_simulations(spark, "1-6", seeds_at_once=3), tmp_path / "out", limits)
    query.processAllAvailable()
    query.stop()
    runs = [(seed, history_of_seed(Runs.of("1-6"), seed)) for seed in range(1, 7)]
    whole = Counter(watch_arrivals(arrivals_of(runs), limits))
    assert len({run for run, _ in whole}) > 1
    assert Counter(FindingsFolder(tmp_path / "out").read_findings()) == whole


def child(*arguments: object) -> subprocess.Popen[str]:
    """A process of its own that watches; with everything that it starts it can be killed by its own group."""
    command = [sys.executable, "-m", "tests.spark.streaming.child", *map(str, arguments)]
    return subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True
    )


def kill(process: subprocess.Popen[str]) -> None:
    """It is gone, and so is its JVM."""
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate(timeout=30)


@pytest.mark.spark
def test_killed_in_the_middle_and_started_again_it_loses_nothing_and_repeats_nothing(
    spark: SparkSession, feed: Path, rows: list[Arrival], tmp_path: Path
) -> None:
    from kafkalab.spark.streaming.frames import read_arrivals
    from kafkalab.spark.streaming.query import watch
    from kafkalab.spark.streaming.sink import FindingsFolder

    into = tmp_path / "out"
    for batch, moment in ((1, "before"), (2, "after")):
        process = child(feed, into, batch, moment)
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "here\n"
        finally:
            kill(process)
        written = {file.name for file in FindingsFolder(into).batches.glob("*.jsonl")}
        assert (f"{batch:08}.jsonl" in written) is (moment == "after")
        assert not (FindingsFolder(into).checkpoint / "commits" / str(batch)).exists()
    watch(read_arrivals(spark, feed), into, whole=True).awaitTermination()
    assert len(list(FindingsFolder(into).batches.glob("*.jsonl"))) == FILES
    assert Counter(FindingsFolder(into).read_findings()) == Counter(watch_arrivals(rows, LIMITS))


@pytest.mark.spark
def test_a_folder_that_is_not_there_is_named(spark: SparkSession, tmp_path: Path) -> None:
    from kafkalab.spark.streaming.frames import read_arrivals

    with pytest.raises(FileNotFoundError, match=r"there is no folder .*nowhere to read arrivals from"):
        read_arrivals(spark, tmp_path / "nowhere")


@pytest.mark.spark
def test_values_are_forgotten_after_the_window_and_shares_are_few(spark: SparkSession, tmp_path: Path) -> None:
    import pyarrow.parquet as pq
    from pyarrow import Table

    from kafkalab.spark.streaming.frames import read_arrivals
    from kafkalab.spark.streaming.query import watch
    from kafkalab.spark.streaming.schema import arrow_arrivals

    feed, values = tmp_path / "feed", 2_000
    feed.mkdir()
    query, groups = None, list[int]()
    try:
        for number in range(3):
            some = [
                Arrival(
                    run=0, step=number * values + n, rank=2, at_ms=0, kind="record", key=f"k-{n % 20}", offset=n,
                    value=f"{number} {n}", producer_id=n, producer_epoch=0,
                )
                for n in range(values)
            ]  # fmt: skip
            pq.write_table(Table.from_batches([arrow_arrivals(some)]), feed / f"{number}.parquet")
            if query is None:
                query = watch(read_arrivals(spark, feed), tmp_path / "out", Limits(window_ms=1))
            query.processAllAvailable()
            progress = query.lastProgress
            groups += [state["numRowsTotal"] for state in progress["stateOperators"]] if progress else []
    finally:
        if query is not None:
            query.stop()
    assert groups == [values + SHARES] * 3
