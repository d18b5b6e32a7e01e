"""The whole course from clean kernels: `python -m tests.benchmarks.course` runs the solutions of labs 0 to 16.

As many run at a time as there are processors, each in a process and a kernel of its own. On a machine that is busy with
other things the seconds of computing, divided by two processors, say what an idle one would need.
"""

from __future__ import annotations

import multiprocessing
import os
import time
from concurrent.futures import ProcessPoolExecutor, as_completed

from kafkalab.course.labs import COURSE
from tests.benchmarks.lines import line
from tests.benchmarks.session_memory import prepare, session

GOAL, PROCESSORS = "below 8 minutes on two processors", 2
FIRST = (12, 16, 11)
"""The labs that take longest begin first, so that none is left over at the end."""


def run_course() -> None:
    """Run every lab's solution; print the seconds of each, and the minutes of all."""
    prepare()
    spawn = multiprocessing.get_context("spawn")
    processes = os.cpu_count() or 1
    names = {lab.number: lab.name for lab in COURSE}
    order = [*FIRST, *(number for number in names if number not in FIRST)]
    computed, begin = 0.0, time.monotonic()
    with ProcessPoolExecutor(processes, mp_context=spawn, max_tasks_per_child=1) as pool:
        running = {pool.submit(session, [names[number]]): names[number] for number in order}
        for done in as_completed(running):
            _, took, spent = done.result()
            computed += spent
            line(running[done], f"{took:6.1f} s, {spent:6.1f} s of computing")
    minutes = (time.monotonic() - begin) / 60
    line(f"labs 0 to {max(names)}, {processes} at a time", f"{minutes:6.1f} min", GOAL)
    line(f"their computing on {PROCESSORS} processors", f"{computed / PROCESSORS / 60:6.1f} min")


if __name__ == "__main__":
    run_course()
