"""The memory of a session that does several labs in one kernel: `python -m tests.benchmarks.session_memory 03 12`.

With `all`, each notebook of the course in a kernel of its own: its seconds and its memory, as `make bench` says them.

Counted is what the kernel and all its children (Spark's Java, its Python workers) have to themselves, and their share
of what they share (PSS), twenty times a second. Linux only.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from kafkalab.grading.builder import SOLUTIONS, execute, read
from kafkalab.grading.process_tree import members
from tests.benchmarks.processes import shares_mib

ROOT = Path(__file__).resolve().parents[2]
EVERY_S = 0.05
WITH_SPARK, LONG = ("12",), ("11",)


def processor_s(pid: int) -> float:
    """For how long the process has computed, in seconds; 0 if it is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def session(names: list[str]) -> tuple[float, float, float]:
    """The peak in MiB, the seconds and the seconds of computing of one kernel that runs these labs in turn."""
    notebooks = [read(next((ROOT / SOLUTIONS).glob(f"{name}*.ipynb"))) for name in names]
    for name, notebook in zip(names, notebooks, strict=True):
        for cell in notebook["cells"]:
            cell["id"] = f"{name}-{cell['id']}"
    whole = {**notebooks[0], "cells": [cell for notebook in notebooks for cell in notebook["cells"]]}
    peak, computed, done = 0.0, dict[int, float](), threading.Event()

    def watch() -> None:
        nonlocal peak
        while not done.wait(EVERY_S):
            there = members(os.getpid())
            peak = max(peak, sum(shares_mib(there).values()))
            computed.update({pid: spent for pid in there if (spent := processor_s(pid))})

    watcher = threading.Thread(target=watch)
    watcher.start()
    begin = time.monotonic()
    try:
        execute(whole, ROOT / SOLUTIONS)
    finally:
        done.set()
        watcher.join()
    return peak, time.monotonic() - begin, sum(computed.values())


def prepare() -> None:
    """Kernels started from here on take kafkalab from this folder, and keep no progress."""
    os.environ["KAFKALAB_PROGRESS"] = "off"
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))


def labs() -> Iterator[tuple[str, float, float, float, str]]:
    """Each notebook in a kernel of its own, all of them in sum, and 3 and 12 in one kernel.

    Yield what, peak MiB, seconds, seconds of computing, and the goal.
    """
    prepare()
    most = took = computed = 0.0
    graded = sorted(p.name for p in (ROOT / SOLUTIONS).glob("[0-9]*.ipynb") if p.name != "00_start.ipynb")
    for name in graded:
        memory = "1.7 GB" if name.startswith(WITH_SPARK) else "1 GB"
        goal = f"below {120 if name.startswith((*WITH_SPARK, *LONG)) else 30} s and {memory}"
        one = session([name.removesuffix(".ipynb")])
        most, took, computed = max(most, one[0]), took + one[1], computed + one[2]
        yield name.removesuffix(".ipynb"), *one, goal
    yield "the whole course, one after another", most, took, computed, "below 8 minutes and 1.7 GB"
    yield "labs 3 and 12 in one kernel", *session(["03", "12"]), "below 1.7 GB"


if __name__ == "__main__":
    if sys.argv[1:] == ["all"]:
        for what, most, took, computed, goal in labs():
            print(f"{what:40} {took:6.1f} s, {computed:6.1f} s of computing, peak {most:5.0f} MiB ({goal})", flush=True)
        sys.exit()
    prepare()
    chosen = sys.argv[1:] or ["03"]
    most, took, computed = session(chosen)
    print(f"labs {', '.join(chosen)} in one kernel: peak {most:.0f} MiB, {took:.1f} s, {computed:.1f} s of computing")
