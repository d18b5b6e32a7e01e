"""What kafkalab costs: start-up, one lab run, the simulator's pace and memory, a click in the browser.

Nothing here passes or fails: machines differ. Goals stand beside the figures.
"""

from __future__ import annotations

import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from kafkalab import lab03
from kafkalab.programs.transfers import transactions
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.scenario import Scenario
from kafkalab.widgets.payload.payload import payload_of
from tests.benchmarks import fixture, wire
from tests.benchmarks.lines import line

ROOT = Path(__file__).resolve().parents[2]
PROFILES = ("4.x/TV1", "4.x/TV2")


def milliseconds(action: Callable[[], object], times: int) -> list[float]:
    """Return how long each of `times` calls took, sorted."""
    taken = []
    for _ in range(times):
        begin = time.perf_counter()
        action()
        taken.append((time.perf_counter() - begin) * 1000)
    return sorted(taken)


def spread(taken: list[float]) -> str:
    return f"median {statistics.median(taken):7.1f} ms, p95 {taken[int(len(taken) * 0.95) - 1]:7.1f} ms"


def start_up() -> None:
    def python(code: str) -> Callable[[], object]:
        return lambda: subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)

    bare, with_package = milliseconds(python("pass"), 15), milliseconds(python("import kafkalab"), 15)
    with_lab = milliseconds(python("from kafkalab import Cluster, lab03; Cluster(lab03()).run()"), 15)
    line("python alone", spread(bare))
    line("python and import kafkalab", spread(with_package), "import below 300 ms")
    line("python, import and one lab run", spread(with_lab))


def run_lab(profile: str) -> None:
    Cluster(lab03(profile)).run()


def lab_run() -> None:
    for profile in PROFILES:
        taken = milliseconds(partial(run_lab, profile), 100)
        line(f"lab 03's whole transaction, {profile}", spread(taken), "below 20 ms")
    cluster = Cluster(lab03())
    cluster.run()
    step = cluster.trace.frames["EndTxn#1"].sent_step
    from kafkalab.faults.node import Crash

    line("a fork (coordinator crashes at EndTxn)", spread(milliseconds(lambda: cluster.fork(step, Crash("b3")), 50)))
    line("the payload of a run for the widget", spread(milliseconds(lambda: payload_of(cluster), 50)))
    line("its size", f"{len(json.dumps(payload_of(cluster), separators=(',', ':'))) / 1000:.0f} kB")


def workload(profile: str, producers: int, count: int) -> Cluster:
    """So many producers, each with so many one-record transactions, on one partition with replication factor 3."""
    cluster = Cluster(Scenario(topics={"out": 1}, profile=profile), keep=False)
    for i in range(producers):  # more than a scenario may have
        cluster.spawn(f"p{i}", transactions, transactional_id=f"t{i}", count=count)
    return cluster


def simulator() -> None:
    for producers, count in ((1, 500), (10, 100), (100, 20)):
        for profile in PROFILES:
            cluster = workload(profile, producers, count)
            seconds = milliseconds(partial(cluster.run, limit=10**9), 1)[0] / 1000
            done, frames = producers * count, cluster.network.frames_sent
            line(
                f"{producers} producer(s), {profile}, display data off",
                f"{done / seconds:6.0f} transactions/s, {frames / seconds:6.0f} frames/s, "
                f"{frames / done:4.1f} frames a transaction",
                "1000 transactions/s" if producers == 100 else "",
            )
    share = 1e6 * seconds / frames
    print(f"  What limits it: about {share:.0f} us of Python a frame (latency, heap, dispatch, checks, append).")
    print("  With one producer every append costs its own replication frames; with many, one Fetch carries many.")


def memory() -> None:
    code = (
        "from tests.benchmarks.__main__ import workload; workload('4.x/TV2', 50, 200).run(limit=10**9); "
        "import resource; print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True, text=True)
    line("peak memory of 10,000 transactions", f"{int(done.stdout.split()[-1]) / 1024:.0f} MB", "below 300 MB")


def random_schedules() -> None:
    from tests.benchmarks.campaign import SCHEDULES, Part, campaign
    from tests.benchmarks.coverage_table import tables

    whole = Part()
    for part in campaign():
        whole.add(part)
    pace = f"{SCHEDULES / whole.drawing:6.1f} drawn/s, {SCHEDULES / whole.simulating:6.1f} run/s"
    line(f"{SCHEDULES} scenarios by chance", f"{pace}; {whole.pace:6.1f} with all checks")
    line("findings", "; ".join(f"seed {seed}: {what}" for seed, what in whole.found.items()) or "none", "none")
    print(tables(whole.coverage))
    print("  More: python -m tests.benchmarks.campaign --runs 3000 --jobs 2 --save FOLDER")


def histories() -> None:
    from tests.benchmarks.generators import generators

    generators()


def streaming() -> None:
    from tests.benchmarks.streams import streams

    streams()


def pure_checks() -> None:
    from tests.benchmarks.checks import checks

    checks()


def audits() -> None:
    from tests.benchmarks.audits import main as side_by_side

    side_by_side()


def labs() -> None:
    from tests.benchmarks.session_memory import labs as measured

    for what, most, took, computed, goal in measured():
        line(what, f"{took:6.1f} s, {computed:6.1f} s of computing, peak {most:5.0f} MiB with the kernel", goal)


def course() -> None:
    from tests.benchmarks.course import run_course

    run_course()


def searches() -> None:
    from tests.explore.campaign import engines, pace
    from tests.explore.defects import search_known

    for what, figures, goal in pace():
        line(what, figures, goal)
    for row in engines([], 150):
        print(f"  {row}", flush=True)
    for row in search_known():
        print(f"  {row}", flush=True)
    print("  More: python -m tests.explore table | campaign | pairs | engines | defects")


def clicks() -> None:
    folder = ROOT / "tests" / "browser"
    measures = [str(folder / name) for name in ("measure_click_to_paint.py", "measure_frames.py")]
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-s",
        "-p",
        "no:nbval",
        "-o",
        "addopts=",
        "--import-mode=importlib",
    ]
    done = subprocess.run([*command, *measures], cwd=ROOT, capture_output=True, text=True, env=dict(os.environ))
    said = [row for row in done.stdout.splitlines() if row.startswith("  ")]
    print("\n".join(said) if said else f"  not measured: {done.stdout.strip().splitlines()[-1]}")


def book() -> None:
    from tests.browser.measure_book import main as measured

    measured([])


def faults() -> None:
    from tests.browser.measure_faults import main as measured

    measured([])


def diagnosis() -> None:
    from tests.benchmarks.diagnosis import measure

    measure()


def main() -> None:
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores, {platform.machine()}")
    for title, part in (
        ("Start-up", start_up),
        ("One run", lab_run),
        ("Simulator", simulator),
        ("Memory", memory),
        ("Random testing", random_schedules),
        ("Search: rules that are off, found by lineage and by random", searches),
        ("Click to paint in Chromium, localhost", clicks),
        ("The book of the labs", book),
        ("Faults in the book", faults),
        ("The labs, run from top to bottom; memory is that of all processes", labs),
        ("The whole course, as many labs at a time as there are processors", course),
        ("Histories: synthetic and simulated, on two cores", histories),
        ("Streaming audits", streaming),
        ("Pure-Python checks of one history, on one core", pure_checks),
        ("Audits, side by side on the same files", audits),
        ("Real clients, side by side with librdkafka's mock cluster", lambda: wire.main([])),
        ("Brokers for a test", fixture.measure),
        ("Reading logs: kafkalab diagnose", diagnosis),
    ):
        print(title)
        part()
    line("peak memory of this benchmark", f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    main()
