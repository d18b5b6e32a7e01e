"""A cell of the scorecard: what a client did under one fault, and the file that keeps all of them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

KEEPS, DUPLICATES, LOSES, HANGS, DIES = "keeps", "duplicates", "loses", "hangs", "dies"
UNKNOWN, NEVER_STRUCK = "unknown", "never struck"
CELLS = (KEEPS, DUPLICATES, LOSES, HANGS, DIES, UNKNOWN, NEVER_STRUCK)
BAD = (DUPLICATES, LOSES, HANGS)
"""The cells that break a promise, or that no error tells of."""
NO_FAULT = ""


class Setting(NamedTuple):
    """A client and the brokers that it meets: how many, and their level of `transaction.version`."""

    client: str
    brokers: int = 1
    level: int = 2

    def __str__(self) -> str:
        return f"{self.client}, {self.brokers} broker{'s' * (self.brokers > 1)}, level {self.level}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """Hold what one run showed. `ends` are the errors with which processes of the application ended by themselves.

    `waits` says of each time that nothing went on what the application had asked for last. `undecided` are the inputs
    whose fate the brokers' history does not tell, `anomalies` the other forbidden ones that it shows.
    """

    struck: bool = True
    held: bool = False
    """True if a request is late without end: the request before which it was to arrive has not been sent."""
    ends: tuple[str, ...] = ()
    begins: int = 1
    waits: tuple[str, ...] = ()
    finished: bool = True
    duplicated: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    undecided: tuple[str, ...] = ()
    anomalies: tuple[str, ...] = ()
    causes: tuple[str, ...] = ()
    broken: str = ""
    """Why the run cannot be judged; "" if it can."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A cell with the setting and the fault in words, how often it was run, and a note that says more."""

    client: str
    brokers: int
    level: int
    fault: str
    cell: str
    note: str = ""
    runs: int = 1
    seconds: float = 0.0
    causes: tuple[str, ...] = ()
    version: str = ""
    """The client's version."""
    day: str = ""
    kafka: str = ""
    """The answer to whether a running Apache Kafka shows the same, in words; "" if it was not tried."""
    fewest: str = ""
    """The smallest plot that shows the cell; "" if it was not reduced."""
    planned: dict[str, int] = field(default_factory=dict)
    """The number of faults of each kind that there are for the frames of a run; only a run without a fault has it."""

    @property
    def setting(self) -> Setting:
        return Setting(self.client, self.brokers, self.level)

    @property
    def place(self) -> tuple[Setting, str]:
        """Return what no two rows have in common."""
        return self.setting, self.fault

    @property
    def file(self) -> str:
        """Return the name of the file of its run."""
        fault = "".join(c if c.isalnum() else "-" for c in self.fault) or "no-fault"
        return f"{self.client}-{self.brokers}-{self.level}-{fault}.klab"


def judge(seen: Observed) -> tuple[str, str]:
    """Return the cell of one run and its note. Wrong data come first: nothing else matters beside them."""
    if seen.broken:
        return UNKNOWN, seen.broken
    if seen.lost or seen.duplicated:
        told = {"lost": seen.lost, "duplicated": seen.duplicated}
        note = "; ".join(f"{what}: {', '.join(values)}" for what, values in told.items() if values)
        return (LOSES if seen.lost else DUPLICATES), note
    if not seen.struck and not (seen.held and seen.waits):
        return NEVER_STRUCK, "; ".join([*seen.waits, *seen.ends])
    if seen.waits:
        return HANGS, seen.waits[0] + ", while the late request waits" * seen.held + (
            "" if seen.finished else "; a new process goes no further"
        )
    if seen.anomalies:
        return UNKNOWN, f"the brokers' history shows {', '.join(seen.anomalies)}, but no input is lost or duplicated"
    if not seen.finished:
        return DIES, f"and so does each new process: {seen.ends[-1] if seen.ends else ''}"
    if seen.undecided:
        return UNKNOWN, f"the fate of {', '.join(seen.undecided)} is not certain"
    if seen.ends:
        return DIES, seen.ends[0]
    return KEEPS, "" if seen.begins <= 1 else f"with {seen.begins} producers, as the documentation asks for"


def decide(runs: list[Observed], needed: int) -> tuple[str, str]:
    """Return the cell of several runs: hangs only if `needed` of them hung; else the first that did not."""
    judged = [judge(seen) for seen in runs]
    others = [one for one in judged if one[0] != HANGS]
    if not others:
        return judged[0] if len(runs) >= needed else (UNKNOWN, f"hung in {len(runs)} of {needed} runs: {judged[0][1]}")
    cell, note = min(others, key=lambda one: CELLS.index(one[0]) if one[0] != KEEPS else len(CELLS))
    if hung := len(judged) - len(others):
        note = f"{note}; hung in {hung} of {len(runs)} runs".lstrip("; ")
    return cell, note


def read_rows(path: Path) -> list[Row]:
    """Return the rows of a file; a last line that was cut off counts for nothing. [] without a file."""
    text = path.read_text("utf-8") if path.exists() else ""
    return [_row_of(line) for line in text[: text.rfind("\n") + 1].splitlines()]


def _row_of(line: str) -> Row:
    fields = json.loads(line)
    return Row(**{**fields, "causes": tuple(fields.get("causes", ()))})


def add_row(path: Path, row: Row) -> None:
    """Append a row to a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(line_of(row))


def amend_row(path: Path, row: Row, **changes: Any) -> Row:
    """Append the newest row of this place with these changes, and return it: others may have changed it meanwhile."""
    known = [one for one in read_rows(path) if one.place == row.place]
    changed = replace(known[-1] if known else row, **changes)
    add_row(path, changed)
    return changed


def line_of(row: Row) -> str:
    """Return the line that keeps a row; what is empty is left out."""
    fields = {name: value for name, value in asdict(row).items() if value or name in ("fault", "cell")}
    return json.dumps(fields, ensure_ascii=False) + "\n"


def newest(rows: Iterable[Row]) -> list[Row]:
    """Return the last row of each place, in the order of the places' first."""
    return list({row.place: row for row in rows}.values())
