"""`kafkalab explore FILE.klab`: the fewest faults with which a saved scenario breaks a promise."""

from __future__ import annotations

import argparse
import json
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path

from kafkalab.cli.command_line import CommandLineError, number_from, stoppable
from kafkalab.cli.kept_runs import kept_runs
from kafkalab.cli.saved_scenarios import load_scenario
from kafkalab.explore.experiment import Job, Trial
from kafkalab.explore.fault_sequence import ALL_KINDS, KINDS
from kafkalab.explore.result import FOUND, Coverage, Result
from kafkalab.explore.search import ENGINES, MOST_FAULTS, RUNS, Mapper, explore
from kafkalab.explore.shrink import shrink

MOST_JOBS = 64
NOTHING = 1
"""The exit status when nothing was found."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """FILE, what to find, what may go wrong, and the budget."""
    add = parser.add_argument
    add("file", help="a saved scenario (.klab)")
    what = 'what to look for, also "failed program: ProducerFencedError" (default: any forbidden anomaly)'
    add("--find", action="append", default=[], metavar="ANOMALY", help=what)
    add("--off", action="append", default=[], metavar="RULE", help="a rule to switch off, by its name")
    kinds = f"a kind of fault, by default {', '.join(KINDS)}; there is also {', '.join(ALL_KINDS[len(KINDS) :])}"
    add("--kind", action="append", default=[], metavar="KIND", help=kinds)
    add("--faults", type=number_from(0, most=9), default=MOST_FAULTS, help=f"the most faults (default {MOST_FAULTS})")
    add("--runs", type=number_from(1), default=RUNS, help=f"the most runs (default {RUNS:,})")
    add("--seconds", type=number_from(1), default=0, help="the most seconds (default: no limit)")
    add("--engine", choices=ENGINES, default=ENGINES[0], help="how fault sets are chosen (default lineage)")
    add("--seed", type=number_from(0), default=1, help="of the engines random and informed")
    add("--jobs", type=number_from(1, most=MOST_JOBS), default=1, help="processes; the result is the same")
    add("--keep", metavar="RUNS.sqlite", help="keep each run in this file, and go on from those that it has")
    add("--no-shrink", action="store_true", help="leave the scenario as large as it was found")
    add("--out", metavar="FOUND.klab", help="save the scenario that was found")
    add("--json", action="store_true", help="print JSON")


def act(options: argparse.Namespace, root: Path) -> int:
    """Search, print the verdict and what was covered; return 0 if something was found, else 1."""
    scenario = load_scenario(options.file)
    try:
        with stoppable(), processes(options.jobs) as made, kept_runs(options.keep, made) as mapper:
            found = explore(
                scenario, options.find, options.off, options.faults, options.engine, options.runs, options.seed,
                tuple(options.kind), stop=after(options.seconds), mapper=mapper,
            )  # fmt: skip
    except ValueError as error:
        raise CommandLineError(str(error)) from None
    if found.verdict == FOUND and not options.no_shrink:
        found = shrink(found)
    if found.found is not None and options.out:
        found.found.save(options.out)
    print(json.dumps(found.as_json(), indent=1) if options.json else _text(found, options.out))
    return 0 if found.verdict == FOUND else NOTHING


def _text(result: Result, out: str | None) -> str:
    lines = [str(result)]
    if result.found is not None:
        lines += ["", result.explanation]
        lines += ["", f"saved as {out}; `kafkalab run {out}` runs it"] if out else []
    return "\n".join(lines)


def after(seconds: float) -> Callable[[Coverage], str]:
    """Return what ends a search after so many seconds; 0 is never."""
    end = time.monotonic() + seconds
    return lambda covered: f"{seconds:,} s were over" if seconds and time.monotonic() >= end else ""


@contextmanager
def processes(count: int) -> Iterator[Mapper]:
    """Within, runs are made in `count` processes, and come back in their order."""
    if count == 1:
        yield map
        return
    with get_context("spawn").Pool(count, signal.signal, (signal.SIGINT, signal.SIG_IGN)) as pool:

        def map_jobs(make: Callable[[Job], Trial], jobs: list[Job]) -> Iterable[Trial]:
            return pool.imap(make, jobs)

        yield map_jobs
