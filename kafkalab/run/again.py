"""Make runs of scenarios, and the same run once more."""

from __future__ import annotations

import builtins
from contextlib import suppress
from dataclasses import replace
from itertools import takewhile
from typing import Any, Protocol

from kafkalab.client import exceptions
from kafkalab.programs.raw_requests import StepError
from kafkalab.programs.transfers import read_to_the_end
from kafkalab.run.run import Notes, Run, Simulator
from kafkalab.run.source import run_of
from kafkalab.sim.kernel.kernel import IDLE_MS, QUIET
from kafkalab.sim.run_errors import RunawayError, StuckError
from kafkalab.sim.scenario import Scenario
from kafkalab.trace import Event, Frame, Trace, plain

SLICE, MOST = 250, 100_000
ENDLESS = "the run goes on and on"
EXCEPTIONS = tuple(
    name
    for module in (exceptions, builtins)
    for name, kind in vars(module).items()
    if isinstance(kind, type) and issubclass(kind, Exception)
)
"""The names of all that a program may end with: Kafka's exceptions, and Python's."""


class Watch(Protocol):
    """Takes note of a run while it goes on: see `Cluster(watch=...)`."""

    def __call__(self, cluster: Simulator) -> None:
        """Note what the last event has changed."""

    def notes(self, cluster: Simulator) -> Notes:
        """Return what was noted; the run has ended."""
        ...


def run_scenario(scenario: Scenario, most: int = MOST, watch: Watch | None = None) -> Run:
    """Run the scenario to its end, or as far as anything but repeated requests happens, or up to a limit."""
    cluster = Simulator(scenario, watch=watch)
    ending = _run(cluster, most)
    return replace(run_of(cluster), ending=ending, notes=watch.notes(cluster) if watch else None)


def run_as_far(scenario: Scenario, limit: int, read: bool = False) -> tuple[Run, Exception | None]:
    """Run the scenario up to a number of entries of its schedule; return the run, and what ended it before its end.

    With `read` every topic is read to its end after the end of the run.
    """
    cluster = Simulator(scenario)
    try:
        cluster.run(limit)
    except Exception as error:
        return run_of(cluster), error
    if read:
        with suppress(StuckError, RunawayError):
            read_to_the_end(cluster)
    return run_of(cluster), None


def go_on(run: Run, limit: int) -> Run:
    """Return the run as far as it comes after this many entries more, whatever ends it."""
    cluster = run.cluster_or_why()
    with suppress(Exception):
        cluster.run(limit)
    return run_of(cluster)


def _run(cluster: Simulator, most: int) -> str:
    """Run the cluster; return why the run has no end, "" if it has one."""
    changed_ms, looked = 0, 0
    for _ in range(most // SLICE + 1):
        try:
            cluster.run(SLICE)
            return ""
        except StepError as error:
            return f"a program by hand gives up: {error}"
        except StuckError as error:
            return str(error).partition(";")[0]
        except RunawayError:
            events = cluster.trace.events
            changed_ms = max((e.at_ms for e in events[looked:] if e.kind not in QUIET), default=changed_ms)
            looked = len(events)
            ahead = cluster.schedule.last_foreground_ms - cluster.now
            if cluster.now - changed_ms > IDLE_MS and ahead < IDLE_MS:
                return "a program waits for ever"
    return f"{ENDLESS}; shown are its first {cluster.trace.steps} events"


def read_again(run: Run, spend: bool = False) -> Run:
    """Return a run that is the same up to the end of this one, where every topic is then read to its end.

    It is the run itself, unread, where no scenario makes it again, or it has no end. `spend` reads in the run itself,
    which must have ended and be of no more use: that spares the second run.
    """
    if run.scenario is None:
        return run
    try:
        cluster = run.cluster_or_why() if spend else Simulator(run.scenario)
        cluster.run()
        if spend or agreement(cluster.trace, run.trace) == run.trace.steps:
            read_to_the_end(cluster)
            return run_of(cluster)
    except (StuckError, RunawayError, ValueError):
        pass  # a run without an end cannot be read to its end: what was read in it must do
    return run_scenario(run.scenario) if spend else run


def agreement(a: Trace, b: Trace) -> int:
    """Return how many events, from the first on, are the same in both."""
    pairs = zip(a.events, b.events, strict=False)
    return sum(1 for _ in takewhile(lambda pair: _same(*pair), pairs))


def _same(a: Event, b: Event) -> bool:
    if a is b:
        return True
    if (a.kind, a.name, a.node, a.frame, a.at_ms, a.cause) != (b.kind, b.name, b.node, b.frame, b.at_ms, b.cause):
        return False
    return a.data is b.data or _drop_future(a.data) == _drop_future(b.data)


def _drop_future(data: Any) -> Any:
    """Return what an event says when it happens: of a frame all but its future."""
    if isinstance(data, Frame):
        return data.receiver, data.version, data.body
    return data if isinstance(data, dict) else plain(data)
