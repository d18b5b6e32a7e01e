"""What streaming audits cost: arrivals a second in micro-batches, what was found, and memory. Two cores.

`python -m tests.benchmarks.streams [seeds]` runs this part alone.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.benchmarks.lines import line
from tests.benchmarks.processes import watch

ROOT = Path(__file__).resolve().parents[2]
SEEDS, BATCHES = 200, 10


def on_spark(seeds: int) -> None:
    """All arrivals of so many broken runs as a stream of files, and once more as one batch; both find the same."""
    from pyspark.sql import functions as F

    from kafkalab.protocol.rules import DEDUPLICATION
    from kafkalab.spark.session.session import spark_session
    from kafkalab.spark.simulation.frames import simulate_histories
    from kafkalab.spark.streaming.frames import arrivals, read_arrivals
    from kafkalab.spark.streaming.query import findings, watch
    from kafkalab.spark.streaming.sink import FindingsFolder

    spark = spark_session()
    made = arrivals(simulate_histories(spark, f"1-{seeds}", rules_off=DEDUPLICATION.name))
    with tempfile.TemporaryDirectory() as folder:
        files = f"{folder}/arrivals"
        made.repartition(BATCHES, F.pmod("run", F.lit(BATCHES))).write.parquet(files)
        there = spark.read.parquet(files)
        rows, batches = there.count(), len(list(Path(files).glob("*.parquet")))
        begin = time.perf_counter()
        query = watch(read_arrivals(spark, files), f"{folder}/found", whole=True)
        query.awaitTermination()
        taken = time.perf_counter() - begin
        found = sorted((run, one.anomaly, one.text) for run, one in FindingsFolder(f"{folder}/found").read_findings())
        begin = time.perf_counter()
        at_once = sorted((row.run, row.anomaly, row.text) for row in findings(there).collect())
        batch = time.perf_counter() - begin
    same = "the same" if found == at_once else "NOT THE SAME"
    line(f"{rows:,} arrivals in {batches} micro-batches", f"{taken:6.1f} s, {rows / taken:7,.0f} arrivals/s")
    line("the same as one batch", f"{batch:6.1f} s, {rows / batch:7,.0f} arrivals/s")
    line("found", f"{len(found)} findings in {seeds} runs without {DEDUPLICATION.name}; as one batch {same}")
    spark.stop()


def streams(seeds: int = SEEDS) -> None:
    """Run `on_spark` in another process and watch its memory."""
    command = [sys.executable, "-m", "tests.benchmarks.streams", "--inside", str(seeds)]
    running = subprocess.Popen(command, cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)}, stderr=subprocess.DEVNULL)
    used = watch(running)
    line("peak memory with a driver of 768 MB", f"{used.peak_mib:6.0f} MiB, {used.cpu_s:.0f} CPU s")
    if running.returncode:
        line("streaming audits", f"ended with {running.returncode}")


if __name__ == "__main__":
    given = [int(word) for word in sys.argv[1:] if word.isdigit()]
    (on_spark if "--inside" in sys.argv else streams)(*(given or [SEEDS]))
