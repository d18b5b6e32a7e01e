"""Audits side by side on the same files: seconds, ratios of CPU seconds, peak memory, growth with the records.

`python -m tests.benchmarks.audits [RECORDS ...]`; without numbers 1 and 10 million. Every engine runs in a process of
its own; its memory is the proportional set size of that process and all below it.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.benchmarks.engines import ENGINES, FIVE
from tests.benchmarks.processes import Used, watch

ROOT = Path(__file__).resolve().parents[2]
SIZES = (1_000_000, 10_000_000)
RATE = 1e-5
"""Windows of every anomaly per record."""

Result = dict[str, tuple[float, int]]
GENERATE = """
import sys
from kafkalab.spark.session.session import spark_session
from kafkalab.spark.storage.history_files import write_histories
from kafkalab.spark.synthetic.generator import synthetic
from kafkalab.spark.synthetic.injected_anomalies import SCENES
records, rate = int(sys.argv[1]), float(sys.argv[3])
inject = dict.fromkeys(SCENES, rate) if rate else {}
made = synthetic(spark_session(), records=records, partitions=max(8, records // 150_000), inject=inject)
write_histories(made, sys.argv[2])
made.truth.write.parquet(sys.argv[2] + "-truth")
"""


def main(sizes: tuple[int, ...] = SIZES) -> None:
    """Print one table for each size, how the times grow, and what all audits find where nothing was injected."""
    seconds: dict[tuple[str, int], float] = {}
    with tempfile.TemporaryDirectory(prefix="kafkalab-bench-") as folder:
        for size in sizes:
            path = Path(folder) / str(size)
            write_history(path, size, RATE)
            seconds |= {(engine, size): taken for engine, taken in compare_engines(path).items()}
        clean = Path(folder) / "clean"
        write_history(clean, sizes[0], 0)
        result, used = measure("Spark, audit()", clean)
        taken, found = next(iter(result.values()))
        cost = f"{taken:.1f} s, {used.cpu_s:.0f} CPU s, {used.peak_mib:.0f} MiB"
        print(f"  nothing injected: all audits in {cost}, {found} findings   (goal: no finding)")
    growth(seconds, sizes)


def write_history(path: Path, records: int, rate: float) -> None:
    """Make a history in a process of its own, and say what that took."""
    began = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-c", GENERATE, str(records), str(path), str(rate)], cwd=ROOT,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
    used = watch(process)
    if process.wait():
        raise SystemExit(f"the generator ended with {process.returncode}")
    taken = f"{time.perf_counter() - began:.0f} s, {used.cpu_s:.0f} CPU s, {used.peak_mib:.0f} MiB"
    print(f"  {records:,} records written in {taken}", flush=True)


def compare_engines(path: Path) -> dict[str, float]:
    """All engines over one history; the seconds of each. What they found is compared."""
    results: dict[str, Result] = {}
    cpu_s: dict[str, float] = {}
    print(f"  {'':<16}{''.join(f'{name:>19}' for name in FIVE)}{'sum':>9}{'CPU s':>9}{'peak MiB':>9}")
    for engine in ENGINES:
        results[engine], used = measure(engine, path)
        cpu_s[engine] = used.cpu_s
        cells = [f"{s:.2f} s ({n})" for s, n in results[engine].values()]
        total = sum(s for s, _ in results[engine].values())
        what = "" if len(cells) == len(FIVE) else f"   ({', '.join(results[engine])})"
        numbers = f"{total:>9.2f}{used.cpu_s:>9.1f}{used.peak_mib:>9.0f}"
        print(f"  {engine:<16}{''.join(f'{cell:>19}' for cell in cells)}{numbers}{what}", flush=True)
    found = {engine: [n for _, n in result.values()] for engine, result in results.items() if len(result) == len(FIVE)}
    if len({tuple(n) for n in found.values()}) > 1:
        print(f"  THE ENGINES DISAGREE: {found}")
    for engine in ("Spark SQL", "Spark, the five", "Spark, key pass", "Spark, audit()"):
        against = ", ".join(f"{cpu_s[engine] / cpu_s[other]:.1f}x {other}" for other in ("pandas", "Polars", "DuckDB"))
        print(f"  {engine}: {against}   (CPU seconds of whole processes, the start of Java with them)")
    return {engine: sum(s for s, _ in result.values()) for engine, result in results.items()}


def measure(engine: str, path: Path) -> tuple[Result, Used]:
    """Return the seconds an engine took and what it found, and what its processes used."""
    command = [sys.executable, "-m", "tests.benchmarks.audits", "--engine", engine, str(path)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    used = watch(process)
    said, _ = process.communicate()
    if process.returncode:
        return {"failed": (float("nan"), 0)}, used
    return {name: (taken, found) for name, taken, found in json.loads(said.splitlines()[-1])}, used


def growth(seconds: dict[tuple[str, int], float], sizes: tuple[int, ...]) -> None:
    """By how much each engine's time rose from the first size to the last."""
    if len(sizes) > 1:
        rates = [f"{engine} {seconds[engine, sizes[-1]] / seconds[engine, sizes[0]]:.1f}x" for engine in ENGINES]
        print(f"  {sizes[-1] / sizes[0]:g} times the records: {', '.join(rates)}   (goal: at most linear)")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--engine"]:
        print(json.dumps(list(ENGINES[sys.argv[2]](Path(sys.argv[3])))))
    else:
        main(tuple(int(float(size)) for size in sys.argv[1:]) or SIZES)
