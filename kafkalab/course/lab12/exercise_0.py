"""L12.E0: the guarantee, computed: what became of each input, by configuration, isolation level and run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from kafkalab.grading.exercise import Exercise, WrongAnswer, WrongType, describe
from kafkalab.grading.remote_query import perform
from kafkalab.grading.seeds import random_for

if TYPE_CHECKING:
    from kafkalab.course.lab12.configurations import CopyTables, Fates

COLUMNS = ("configuration", "isolation_level", "run", "lost", "once", "more", "unfinished")
FORM = f"a function fates(inputs, reads, positions) that returns a DataFrame with the columns {', '.join(COLUMNS)}"
SETS = ("26-30", "54-64")
"""Seeds, written down beforehand: in each set every fate occurs (tests/course/test_guarantee.py)."""
Key = tuple[str, str, int]


def check(answer: object) -> str:
    """The function counts the fates of runs made anew, of which Spark has not been told; WrongAnswer names the rows."""
    from kafkalab.course.lab12.configurations import fates_of, folder_of, simulate_copies
    from kafkalab.course.lab12.spark_exercise import compare_rows, most_of, rows_of
    from kafkalab.course.lab12.tasks import TABLES

    if not callable(answer):
        raise WrongType(f"Give {FORM}, not {describe(answer)}.")
    for number, seeds in enumerate(_sets()):
        tables = simulate_copies(seeds)
        truth = fates_of(tables)
        given = perform(TABLES, answer, folder_of(seeds), type(tables)._fields, COLUMNS, most_of(truth))
        blank = f"The function is still blank: it returns nothing. Give {FORM}."
        rows = rows_of(given, "fates(inputs, reads, positions) fails", blank)
        difference = compare_rows(rows, truth, COLUMNS)
        if difference:
            title = "The rows that differ, with what is true of that run"
            table = difference.table(title, partial(_true_of, truth), ("true: lost, once, more, unfinished",))
            miss = "" if isinstance(rows, str) else _miss(rows, tables)
            text = f"In {len(truth) // 10} runs of each configuration, made anew: {difference}."
            raise WrongAnswer(text, run=table, miss=miss, part=number / len(SETS))
    return f"the fates of {len(SETS)} sets of runs, one by one"


def _sets() -> tuple[str, ...]:
    """Return the sets in an order that the seed decides."""
    return tuple(random_for("L12.E0").sample(SETS, len(SETS)))


def _true_of(truth: list[Fates], row: tuple[object, ...]) -> tuple[str]:
    found = next((one for one in truth if one[:3] == row[:3]), None)
    return (", ".join(map(str, found[3:])) if found else "there is no such run",)


def _count_fates(
    tables: CopyTables, key: Callable[[Any, str], Any], floor: int = 0, slack: int = 0
) -> list[tuple[Any, ...]]:
    """Count the fates as `fates_of` does, with copies added up by another `key`, at least `floor` of them."""
    from kafkalab.course.lab12.configurations import LEVELS

    copies = Counter(key(read, read.isolation_level) for read in tables.reads)
    committed = {(p.configuration, p.run, p.key): p.committed for p in tables.positions}
    found: dict[Key, list[int]] = {}
    for row, level in ((row, level) for row in tables.inputs for level in LEVELS):
        number = max(copies[key(row, level)], floor)
        passed = committed.get((row.configuration, row.run, row.key), -1) + slack > row.offset
        place = 2 if number > 1 else 1 if number else 0 if passed else 3
        found.setdefault((row.configuration, level, row.run), [0] * 4)[place] += 1
    return [(*place, *counts) for place, counts in found.items()]


def _inner(tables: CopyTables) -> list[tuple[object, ...]]:
    return [(*row[:3], 0, row[4], row[5], 0) for row in _count_fates(tables, _place) if row[4] or row[5]]


def _place(row: Any, level: str) -> Any:
    return row.configuration, level, row.run, row.value


MISTAKES: dict[str, Callable[[CopyTables], list[tuple[Any, ...]]]] = {
    "inner join": _inner,
    "no read is a row": lambda tables: _count_fates(tables, _place, floor=1),
    "never unfinished": lambda tables: _count_fates(tables, _place, slack=1_000),
    "one too far": lambda tables: _count_fates(tables, _place, slack=1),
    "both levels": lambda tables: _count_fates(tables, lambda row, _: (row.configuration, row.run, row.value)),
    "all runs": lambda tables: _count_fates(tables, lambda row, level: (row.configuration, level, row.value)),
    "all configurations": lambda tables: _count_fates(tables, lambda row, level: (level, row.run, row.value)),
}
"""Plausible wrong counts, by the misconception; whoever gives their rows gets the hint that fits."""


def _miss(rows: list[tuple[object, ...]], tables: CopyTables) -> str:
    given = Counter(rows)
    return next((name for name, mistake in MISTAKES.items() if given and Counter(mistake(tables)) == given), "")


EXERCISE = Exercise(
    "L12.E0",
    check,
    (
        "Begin with the inputs, each once for read_committed and once for read_uncommitted. How many copies of it did "
        "that reader get? Then give every input one word, and count the words of each run.",
        "An input without a copy has no row in reads: only a LEFT JOIN keeps it. A copy belongs to an input if "
        "configuration, run, isolation level and value are the same.",
        "n = count of a column of reads, grouped by configuration, isolation_level, run, key, offset, value. more: "
        "n > 1. once: n = 1. Else lost if committed > offset, unfinished if not. Then sum each over the run.",
    ),
    points=20,
    misses={
        "inner join": "Where are the inputs of which a reader got no copy? An inner join drops them, but the question "
        "is about them.",
        "no read is a row": "count(*) counts the row that a LEFT JOIN keeps for an input without a copy. Count a "
        "column of reads: it is null there.",
        "never unfinished": "The run may have ended before any member came to the input. It is lost only if the group "
        "has committed an offset after it: no member will ever copy it.",
        "one too far": "The group continues at its committed offset. The input at that offset has not been copied yet.",
        "both levels": "You have added up what both readers got. Each isolation level has its own reader, and its own "
        "answer.",
        "all runs": "The same values occur in every run. Join on the run, too.",
        "all configurations": "The same runs occur in every configuration. Join on the configuration, too.",
    },
    afterwards=(
        "Why: a guarantee is about effects, so you count them for each input. A LEFT JOIN keeps the inputs without a "
        "copy, and the committed offset says whether they are lost or not copied yet. Next: the rates."
    ),
)
