"""What the generators of histories cost: rows a second, simulations a second, and memory under a small driver.

`python -m tests.benchmarks.generators [records]` runs this part alone.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tests.benchmarks.lines import line
from tests.benchmarks.processes import watch

ROOT = Path(__file__).resolve().parents[2]
RECORDS = 1_000_000
SEEDS = 400
CELLS_ALONE = 8


def seconds(action: Callable[[], object]) -> float:
    begin = time.perf_counter()
    action()
    return time.perf_counter() - begin


def alone(records: int) -> None:
    """One core, without Spark: all tables of a few blocks, and simulations."""
    from kafkalab.spark.simulation.runs import Runs, history_of_seed
    from kafkalab.spark.synthetic.generator import MADE
    from kafkalab.spark.synthetic.injected_anomalies import SCENES
    from kafkalab.spark.synthetic.shape import Shape
    from kafkalab.spark.synthetic.tables import batch_of

    for title, inject in (("clean", ()), ("all anomalies, 1e-4 each", tuple((name, 1e-4) for name in SCENES))):
        shape = Shape(records=records, inject=inject)
        for name in MADE:
            batch_of(shape, 0, name)
        rows, begin = 0, time.process_time()
        cells = range(min(CELLS_ALONE, shape.cells))
        for name in MADE:
            rows += sum(batch_of(shape, cell, name).num_rows for cell in cells)
        pace = rows / (time.process_time() - begin)
        line(f"synthetic, one core, {title}", f"{pace / 1e6:6.2f} M rows/s", "millions")
    begin = time.process_time()
    found = [history_of_seed(Runs(first=1, last=40), seed) for seed in range(1, 41)]
    taken = time.process_time() - begin
    rows = sum(len(history.table(name)) for history in found for name in MADE)
    line("simulated, one core", f"{len(found) / taken:6.1f} simulations/s, {rows / taken / 1e3:6.1f} k rows/s")


def on_spark(records: int) -> None:
    """Both generators through Spark; runs in a process of its own."""
    from kafkalab.spark.session.session import spark_session
    from kafkalab.spark.simulation.frames import simulate_histories
    from kafkalab.spark.storage.history_files import write_histories
    from kafkalab.spark.synthetic.generator import MADE, synthetic
    from kafkalab.spark.synthetic.injected_anomalies import SCENES

    taken = seconds(lambda: spark_session().range(10).count())
    line("session to first result", f"{taken:6.1f} s")
    spark = spark_session()
    made = synthetic(spark, records=records, inject=dict.fromkeys(SCENES, 1e-5))
    seconds(lambda: made.leaders.count())
    rows = 0
    taken = 0.0
    for name in MADE:
        written = made.table(name).write.format("noop").mode("overwrite")
        taken += seconds(written.save)
    with tempfile.TemporaryDirectory() as folder:
        writing = seconds(lambda: write_histories(made, Path(folder) / "made"))
        from kafkalab.spark.storage.history_files import files_of

        files = files_of(Path(folder) / "made")
        rows, size = sum(file.rows for file in files), sum(file.bytes for file in files)
    line(f"synthetic, {records:,} records, made", f"{taken:6.1f} s, {rows / taken / 1e6:6.2f} M rows/s of {rows:,}")
    line(
        "the same, made and written as Parquet",
        f"{writing:6.1f} s, {rows / writing / 1e6:6.2f} M rows/s, {size / 1e6:.0f} MB",
    )
    simulated = simulate_histories(spark, f"1-{SEEDS}")
    taken = seconds(lambda: simulated.log.write.format("noop").mode("overwrite").save())
    line(f"{SEEDS} simulations through the data source", f"{taken:6.1f} s, {SEEDS / taken:6.1f} simulations/s")
    spark.stop()


def measure(records: int) -> None:
    """Run `on_spark` in another process and watch its memory."""
    command = [sys.executable, "-m", "tests.benchmarks.generators", "--inside", str(records)]
    running = subprocess.Popen(command, cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)})
    used = watch(running)
    parts = ", ".join(f"{kind} {size:.0f}" for kind, size in used.mib.items())
    line("peak memory with a driver of 768 MB", f"{used.peak_mib:6.0f} MiB ({parts})", "below 1700 MB")
    line("all processes", f"{used.cpu_s:6.0f} CPU s")
    if running.returncode:
        line("generators on Spark", f"ended with {running.returncode}")


def generators(records: int = RECORDS) -> None:
    alone(records)
    measure(records)


if __name__ == "__main__":
    given = [int(word) for word in sys.argv[1:] if word.isdigit()]
    (on_spark if "--inside" in sys.argv else generators)(*(given or [RECORDS]))
