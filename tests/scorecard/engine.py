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
from tests.scorecard.trials import KINDS, Frames, frames_of, list_faults
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
        """Fill the missing cells of these clients: one broker, then three, then level 1 for the bad cells.

        No cell is begun after `seconds`; the next call goes on.
        """
        until = time.monotonic() + seconds
        frames = {client: found for client in clients if (found := self.frames(client)) is not None}
        self._fill(_in_turn([(Setting(c), list_faults(f, kinds)) for c, f in frames.items()]), until)
        self._fill(_in_turn([(Setting(c, 3), list_faults(f, kinds, True)) for c, f in frames.items()]), until)
        bad = [(r.setting._replace(level=1), r.fault) for r in self.rows if r.cell in BAD and r.client in clients]
        self._fill([place for place in bad if place[0].brokers == 1], until)

    def frames(self, client: str) -> Frames | None:
        """Run a client without a fault and return its frames; None, and a row that says so, if it does not keep."""
        setting, found = Setting(client), {}
        with tempfile.TemporaryDirectory() as folder:
            seen = run_cell(setting, (), Path(folder), look=lambda lab: found.update(lab.trace.frames))
        cell, note = judge(seen)
        frames, planned = None, Counter[str]()
        try:
            frames = frames_of(found, OWN_FRAMES)
            planned = Counter(fault.partition(":")[0] for fault in list_faults(frames))
        except ValueError as error:
            self.say(f"{client}: no cell is run, {error}: {note}")
        self._add(_row(setting, fault=NO_FAULT, cell=cell, note=note, planned=dict(planned)))
        return frames

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
