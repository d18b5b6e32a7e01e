"""The table: which cells there are, which are missing, and the runs that fill them, several at a time."""

from __future__ import annotations

import multiprocessing
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from datetime import date
from itertools import islice
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
from tests.scorecard.running import HANG_S, OWN_FRAMES, Command, run_cell
from tests.scorecard.trials import KINDS, frames_of, list_faults
from tests.scorecard.versions import versions

HANG_RUNS = 3
"""A cell hangs if each of so many runs does."""


def fill(setting: Setting, fault: str, runs: Path, command: Command | None = None, hang_s: float = HANG_S) -> Row:
    """Run a cell, again if it hangs, and return its row; the run that decided it is saved in the folder `runs`."""
    began, seen = time.monotonic(), []
    row = Row(**setting._asdict(), fault=fault, cell="")
    faults = [fault_of(fault)] if fault else []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(HANG_RUNS):
            seen.append(run_cell(setting, faults, Path(folder), command, runs / row.file, hang_s))
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

    def of_kinds(self, kinds: Iterable[str], failover: bool = False) -> Iterator[str]:
        """Return the faults of these kinds."""
        return (one for one in (self.failover if failover else self.faults) if one.partition(":")[0] in kinds)


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

    def run(self, clients: Sequence[str], kinds: Iterable[str] = KINDS, seconds: float = float("inf")) -> None:
        """Fill the missing cells of these clients: one broker; the bad ones with level 1 and with three brokers; then
        the crashes among three brokers.

        No cell is begun after `seconds`; the next call goes on.
        """
        until = time.monotonic() + seconds
        with ProcessPoolExecutor(self.jobs, multiprocessing.get_context("spawn")) as pool:
            plans = dict(zip(clients, pool.map(plan_client, clients), strict=True))
        for client, plan in plans.items():
            self._add(plan.row)
            if not plan.faults:
                self.say(f"{client}: no cell is run: {plan.row.note}")
        self._fill(_in_turn([(Setting(c), plan.of_kinds(kinds)) for c, plan in plans.items()]), until)
        bad = [row for row in self.rows if row.cell in BAD and row.client in clients and row.setting[1:] == (1, 2)]
        places = [(r.setting._replace(level=1), r.fault) for r in bad]
        places += [(r.setting._replace(brokers=3), r.fault) for r in bad]
        self._fill(places, until)
        self._fill(_in_turn([(Setting(c, 3), plan.of_kinds(kinds, failover=True)) for c, plan in plans.items()]), until)

    def _add(self, row: Row) -> None:
        self.rows = newest([*self.rows, row])
        add_row(self.path, row)

    def _fill(self, places: Iterable[tuple[Setting, str]], until: float) -> None:
        done = {row.place for row in self.rows}
        missing = [place for place in dict.fromkeys(places) if place not in done]
        if not missing:
            return
        began, waiting = time.monotonic(), iter(missing)
        with ProcessPoolExecutor(self.jobs, multiprocessing.get_context("spawn")) as pool:
            under_way = {pool.submit(fill, *place, self.runs) for place in islice(waiting, self.jobs)}
            count = 0
            while under_way:
                finished = next(as_completed(under_way))
                under_way.remove(finished)
                count += 1
                row = finished.result()
                self._add(row)
                if time.monotonic() < until and (place := next(waiting, None)):
                    under_way.add(pool.submit(fill, *place, self.runs))
                each = (time.monotonic() - began) / count
                left = (len(missing) - count) * each / 60
                told = f"{row.setting}: {row.fault}: {row.cell}" + (f" ({row.note})" if row.note else "")
                self.say(f"{count}/{len(missing)}, {each:.1f} s each, {left:.0f} min left: {told}")


def _in_turn(of_clients: Sequence[tuple[Setting, Iterator[str]]]) -> Iterator[tuple[Setting, str]]:
    """Yield a cell of each client in turn, so that a table that was stopped says something of all."""
    waiting = list(of_clients)
    while waiting:
        for one in list(waiting):
            setting, faults = one
            if fault := next(faults, ""):
                yield setting, fault
            else:
                waiting.remove(one)
