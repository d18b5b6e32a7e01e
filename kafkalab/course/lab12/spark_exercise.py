"""Compare a learner's DataFrame with the true rows, and say what the difference is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from kafkalab.grading.exercise import BlankAnswer, WrongValue
from kafkalab.grading.tables import Table

SHOWN, ROWS = 3, 8
"""The numbers of rows of a difference that are named of each kind, and that are shown as a table."""

Key = tuple[Any, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """The difference of a learner's rows from the right ones; false if there is none. `str()` shows some rows."""

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
                shown = "; ".join(self._format_row(row) for row in rows[:SHOWN])
                more = f" and {len(rows) - SHOWN} more" if len(rows) > SHOWN else ""
                parts.append(f"{what}: {shown}{more}")
        return ". ".join(parts)

    def table(self, title: str, facts: Callable[[Key], Key] = lambda _: (), more: tuple[str, ...] = ()) -> Table | None:
        """Return the rows that differ, at most `ROWS`, with what `facts` says of each below the columns `more`.

        None where there are none to show.
        """
        kinds = (("missing", self.missing), ("too many", self.extra), ("repeated", self.repeated))
        found = [(what, *row, *facts(row)) for what, rows in kinds for row in rows[:ROWS]][:ROWS]
        return Table(title=title, columns=("", *self.columns, *more), rows=tuple(found)) if found else None

    def _format_row(self, row: Key) -> str:
        return ", ".join(f"{name} {value!r}" for name, value in zip(self.columns, row, strict=True))


def most_of(truth: Sequence[Sequence[Any]]) -> int:
    """Return how many rows are read of an answer, beyond which a condition is missing in it."""
    return 10 * len(truth) + 1000


def take_rows(given: Any, columns: Sequence[str], most: int) -> dict[str, Any]:
    """Return, as data, the rows of a learner's DataFrame in these columns, `most` and one more at most.

    What is no DataFrame, or lacks a column, is a `problem` in one sentence.
    """
    problem = _problem(given, tuple(columns))
    if problem:
        return {"problem": problem}
    by_lower = {name.lower(): name for name in given.columns}
    chosen = given.select(*(f"`{by_lower[name.lower()]}`" for name in columns))
    return {"rows": [tuple(row) for row in chosen.limit(most + 1).collect()]}


def rows_of(answer: Any, what: str, blank: str) -> list[Key] | str:
    """Return the rows, or the problem, that a task of `kafkalab.course.lab12.tasks` found.

    WrongValue, beginning with `what`, if the learner's query or function failed; BlankAnswer with `blank` if it
    returned nothing. Another process may have sent the answer: what is not of the form is a WrongValue, too.
    """
    match answer:
        case {"blank": True}:
            raise BlankAnswer(blank)
        case {"failed": str(why)}:
            raise WrongValue(f"{what}: {why}")
        case {"problem": str(problem)}:
            return problem
        case {"rows": list(rows)} if all(isinstance(row, tuple) for row in rows):
            with suppress(TypeError):
                found = [_row(row) for row in rows]
                hash(tuple(found))
                return found
    raise WrongValue(f"{what}: what came back are no rows")


def compare(given: Any, truth: Sequence[Sequence[Any]], columns: Sequence[str]) -> Difference:
    """A learner's DataFrame beside the true rows, which have the values of `columns` in that order.

    The order of rows and columns, the case of column names, other columns, and whether a number is int or long make no
    difference; a row that is there twice does.
    """
    return compare_rows(rows_of(take_rows(given, columns, most_of(truth)), "it fails", ""), truth, columns)


def compare_rows(rows: list[Key] | str, truth: Sequence[Sequence[Any]], columns: Sequence[str]) -> Difference:
    """The rows of an answer, or the problem with it, beside the true rows."""
    expected = Counter(_row(row) for row in truth)
    names, of, most = tuple(columns), len(truth), most_of(truth)
    if isinstance(rows, str):
        return Difference(columns=names, right=0, of=of, problem=rows)
    if len(rows) > most:
        text = f"there are more than {most} rows, where {of} are true: a condition is missing, of a WHERE or of a join"
        return Difference(columns=names, right=0, of=of, problem=text)
    if any(len(row) != len(names) for row in rows):
        return Difference(columns=names, right=0, of=of, problem=f"its rows do not have {len(names)} columns")
    found = Counter(rows)
    return Difference(
        columns=names,
        right=sum((found & expected).values()),
        of=of,
        missing=_sort_rows(expected - found),
        extra=_sort_rows(row for row in found if row not in expected),
        repeated=_sort_rows(row for row in found if row in expected and found[row] > expected[row]),
    )


def _problem(given: Any, columns: tuple[str, ...]) -> str:
    from pyspark.sql import DataFrame

    if not isinstance(given, DataFrame):
        kind = type(given)
        name = kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__.split('.')[0]}.{kind.__name__}"
        return f"the answer must be a PySpark DataFrame with the columns {', '.join(columns)}, not {name}"
    there = {name.lower() for name in given.columns}
    lacking = [name for name in columns if name.lower() not in there]
    if lacking:
        return f"the column {lacking[0]} is missing; your columns are {', '.join(given.columns)}"
    if len(there) < len(given.columns):
        return f"two columns have the same name; your columns are {', '.join(given.columns)}"
    return ""


def _row(row: Iterable[Any]) -> Key:
    return tuple(tuple(value) if isinstance(value, list) else value for value in row)


def _sort_rows(rows: Iterable[Key]) -> tuple[Key, ...]:
    return tuple(sorted(rows, key=repr))
