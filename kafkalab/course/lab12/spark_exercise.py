"""Compare a learner's DataFrame with the true rows, and say what the difference is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame

SHOWN = 3
"""So many rows of a difference are shown of each kind."""

Key = tuple[Any, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """What is wrong with a learner's rows. It is false if nothing is; `str()` shows some of each kind of row."""

    columns: tuple[str, ...]
    right: int
    of: int
    missing: tuple[Key, ...] = ()
    extra: tuple[Key, ...] = ()
    repeated: tuple[Key, ...] = ()
    problem: str = ""

    def __bool__(self) -> bool:
        return bool(self.problem or self.missing or self.extra or self.repeated)

    def __str__(self) -> str:
        if self.problem:
            return self.problem
        if not self:
            return f"all {self.of} rows are there, and no other"
        parts = [f"{self.right} of {self.of} rows are right"]
        for what, rows in (("Missing", self.missing), ("Too many", self.extra), ("Repeated", self.repeated)):
            if rows:
                shown = "; ".join(self._shown(row) for row in rows[:SHOWN])
                more = f" and {len(rows) - SHOWN} more" if len(rows) > SHOWN else ""
                parts.append(f"{what}: {shown}{more}")
        return ". ".join(parts)

    def _shown(self, row: Key) -> str:
        return ", ".join(f"{name} {value!r}" for name, value in zip(self.columns, row, strict=True))


def compare(given: Any, truth: Iterable[Sequence[Any]], columns: Sequence[str]) -> Difference:
    """A learner's DataFrame beside the true rows, which have the values of `columns` in that order.

    The order of rows and columns, the case of column names, other columns, and whether a number is int or long make no
    difference; a row that is there twice does. What is no DataFrame, or lacks a column, is a `problem` in one sentence.
    """
    expected = Counter(_row(row) for row in truth)
    names, of = tuple(columns), sum(expected.values())
    problem = _problem(given, names)
    if problem:
        return Difference(columns=names, right=0, of=of, problem=problem)
    by_lower = {name.lower(): name for name in given.columns}
    chosen = given.select(*(f"`{by_lower[name.lower()]}`" for name in names))
    most = 10 * of + 1000
    found = Counter(_row(row) for row in chosen.limit(most + 1).collect())
    if sum(found.values()) > most:
        text = f"there are more than {most} rows, where {of} are true: a condition is missing, of a WHERE or of a join"
        return Difference(columns=names, right=0, of=of, problem=text)
    return Difference(
        columns=names,
        right=sum((found & expected).values()),
        of=of,
        missing=_sorted(expected - found),
        extra=_sorted(row for row in found if row not in expected),
        repeated=_sorted(row for row in found if row in expected and found[row] > expected[row]),
    )


def _problem(given: Any, columns: tuple[str, ...]) -> str:
    if not isinstance(given, DataFrame):
        return f"a DataFrame with the columns {', '.join(columns)} is asked for, not {type(given).__name__}"
    there = {name.lower() for name in given.columns}
    lacking = [name for name in columns if name.lower() not in there]
    if lacking:
        return f"the column {lacking[0]} is missing; your columns are {', '.join(given.columns)}"
    if len(there) < len(given.columns):
        return f"two columns have the same name; your columns are {', '.join(given.columns)}"
    return ""


def _row(row: Iterable[Any]) -> Key:
    return tuple(tuple(value) if isinstance(value, list) else value for value in row)


def _sorted(rows: Iterable[Key]) -> tuple[Key, ...]:
    return tuple(sorted(rows, key=repr))
