"""The table: which cells there are, which are missing, and the runs that fill them, several at a time."""

from __future__ import annotations

import multiprocessing
import tempfile
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from datetime import date
from itertools import zip_longest
from pathlib import Path
from typing import Any

from kafkalab.wire.live import fault_of
from tests.scorecard.cells import (
    BAD,
    DUPLICATES,
    HANGS,
    LOSES,
    NO_FAULT,
    Row,
    Setting,
    add_row,
    decide,
    judge,
    newest,
    read_rows,
)
from tests.scorecard.running import FULL, HANG_S, OWN_FRAMES, Command, Plot, run_cell
from tests.scorecard.trials import KINDS, frames_of, list_faults
from tests.scorecard.versions import versions

Place = tuple[Setting, str]
"""A client with its brokers, and a fault in words: what no two cells have in common."""
HANG_RUNS = 3
"""A cell hangs if each of so many runs does."""


def fill(
    setting: Setting, fault: str, runs: Path, command: Command | None = None, hang_s: float = HANG_S, plot: Plot = FULL
) -> Row:
    """Run a cell, again if it hangs, and return its row; the run that decided it is saved in the folder `runs`."""
    began, seen = time.monotonic(), []
    row = Row(**setting._asdict(), fault=fault, cell="")
    faults = [fault_of(fault)] if fault else []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(HANG_RUNS):
            seen.append(run_cell(setting, faults, Path(folder), command, runs / row.file, hang_s, plot=plot))
            if judge(seen[-1])[0] != HANGS:
                break
    cell, note = decide(seen, HANG_RUNS)
    seconds, causes = round(time.monotonic() - began, 1), seen[-1].causes if cell in (DUPLICATES, LOSES) else ()
    return _row(setting, fault=fault, cell=cell, note=note, runs=len(seen), seconds=seconds, causes=causes)


def _row(setting: Setting, **fields: Any) -> Row:
    """Return a row of today and of this version of the client."""
    version = versions().get(setting.client, "")
    return Row(**setting._asdict(), version=version, day=date.today().isoformat(), **fields)


@dataclass(frozen=True)
class Plan:
    """What is to be run for a client: the row of its run without a fault, and the faults in words, the last ones for
    three brokers."""

    row: Row
    faults: Sequence[str]
    failover: Sequence[str]

    def lanes(self, kinds: Iterable[str]) -> Iterator[list[Place]]:
        """Yield the cells of each of these kinds, the crashes among three brokers last."""
        here = Setting(self.row.client)
        for setting, faults in ((here, self.faults), (here._replace(brokers=3), self.failover)):
            for kind in kinds:
                yield [(setting, fault) for fault in faults if fault.partition(":")[0] == kind]


def plan_client(client: str) -> Plan:
    """Run a client without a fault, and list the faults of its frames; none, and a note, if it does not get so far."""
    setting, found = Setting(client), {}
    with tempfile.TemporaryDirectory() as folder:
        seen = run_cell(setting, (), Path(folder), look=lambda lab: found.update(lab.trace.frames))
    cell, note = judge(seen)
    try:
        frames = frames_of(found, OWN_FRAMES)
    except ValueError as error:
        return Plan(_row(setting, fault=NO_FAULT, cell=cell, note=f"{error}: {note}"), (), ())
    faults = tuple(list_faults(frames))
    planned = dict(Counter(fault.partition(":")[0] for fault in faults))
    row = _row(setting, fault=NO_FAULT, cell=cell, note=note, planned=planned)
    return Plan(row, faults, tuple(list_faults(frames, failover=True)))


@dataclass
class Table:
    """The results file, the folder of the runs, and what is to be run."""

    path: Path
    runs: Path
    jobs: int = 1
    say: Callable[[str], None] = print
    rows: list[Row] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.rows = [row for row in newest(read_rows(self.path)) if row.version == versions().get(row.client, "")]

    def run(self, clients: Sequence[str], kinds: Iterable[str] = tuple(KINDS), seconds: float = float("inf")) -> None:
        """Fill the missing cells of these clients, and each bad one with level 1 and with three brokers, too.

        No cell is begun after `seconds`; the next call goes on.
        """
        until = time.monotonic() + seconds
        with ProcessPoolExecutor(self.jobs, multiprocessing.get_context("spawn")) as pool:
            plans = list(pool.map(plan_client, clients))
        for plan in plans:
            self._add(plan.row)
            if not plan.faults:
                self.say(f"{plan.row.client}: no cell is run: {plan.row.note}")
        again = [place for row in self.rows if row.client in clients for place in harder(row)]
        self._fill([*take_turns([plan.lanes(kinds) for plan in plans]), *again], until)

    def _add(self, row: Row) -> None:
        self.rows = newest([*self.rows, row])
        add_row(self.path, row)

    def _fill(self, places: Iterable[Place], until: float) -> None:
        done = {row.place for row in self.rows}
        waiting = deque(place for place in dict.fromkeys(places) if place not in done)
        if not waiting:
            return
        began, count = time.monotonic(), 0
        under_way: set[Future[Row]] = set()
        with ProcessPoolExecutor(self.jobs, multiprocessing.get_context("spawn")) as pool:
            while under_way or waiting:
                while waiting and len(under_way) < self.jobs and time.monotonic() < until:
                    under_way.add(pool.submit(fill, *waiting.popleft(), self.runs))
                if not under_way:
                    return
                finished = next(as_completed(under_way))
                under_way.remove(finished)
                row = finished.result()
                self._add(row)
                waiting.extend(place for place in harder(row) if place not in done)
                count += 1
                each = (time.monotonic() - began) / count
                left = len(waiting) * each / 60
                told = f"{row.setting}: {row.fault}: {row.cell}" + (f" ({row.note})" if row.note else "")
                self.say(f"{count}, {each:.1f} s each, {left:.0f} min left: {told}")


def harder(row: Row) -> list[Place]:
    """Return the places in which a bad cell is run again: level 1, and three brokers; none for any other cell."""
    if row.cell not in BAD or row.setting[1:] != (1, 2):
        return []
    return [(row.setting._replace(level=1), row.fault), (row.setting._replace(brokers=3), row.fault)]


def take_turns(clients: Iterable[Iterable[Sequence[Place]]]) -> Iterator[Place]:
    """Yield a cell of each kind of each client in turn, so that a table that was stopped says something of all."""
    kinds = zip_longest(*clients, fillvalue=())
    lanes = [lane for of_kind in kinds for lane in of_kind]
    return (place for turn in zip_longest(*lanes) for place in turn if place)
