"""Compare the rows of a learner's code with the truth under both versions, and name the mutant that they fit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from kafkalab.course.lab12.spark_exercise import Key, compare_rows, most_of, rows_of
from kafkalab.course.lab16.traffic import VERSIONS, Record, Traffic, folder_of, make_traffic
from kafkalab.grading.exercise import WrongAnswer
from kafkalab.grading.mutants import Mutant
from kafkalab.grading.remote_query import perform
from kafkalab.grading.seeds import seed

LIKE = 0.5
"""From this share on of what differs from the truth, an answer counts as a mutant's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """An exercise's question about the traffic.

    `task` runs an answer; `columns` are those of its rows, `find` the true ones, `beside` what explains one, in a
    column of this name. `fails` and `blank` say of an answer that it fails, or is blank.
    """

    task: str
    columns: tuple[str, ...]
    find: Callable[[Traffic], Sequence[Key]]
    mutants: Sequence[Mutant]
    beside: tuple[str, Callable[[Traffic, Record], str]]
    fails: str
    blank: str = ""


def judge(audit: Audit, answer: Any) -> str:
    """Let the task run `answer` on new traffic under each version; WrongAnswer shows the rows that differ."""
    for number, version in enumerate(VERSIONS):
        made = make_traffic(version, seed())
        truth = audit.find(made)
        given = perform(audit.task, answer, folder_of(version, seed()), audit.columns, most_of(truth))
        rows = rows_of(given, audit.fails, audit.blank)
        for width in (max(2, len(audit.columns) - 1), len(audit.columns)):  # the last column follows from the others
            part = rows if isinstance(rows, str) else [row[:width] for row in rows]
            difference = compare_rows(part, [row[:width] for row in truth], audit.columns[:width])
            if difference:
                mutant = None if isinstance(rows, str) else find_mutant(rows, truth, made, audit.mutants)
                says = f" That is as if {mutant.says}." if mutant else ""
                title = f"Transaction version {version}: the rows that differ, and the log there"
                table = difference.table(title, partial(describe, audit, made), ("in the log", audit.beside[0]))
                miss = mutant.name if mutant else ""
                said = f"Under transaction version {version}: {difference}.{says}"
                raise WrongAnswer(said, run=table, miss=miss, part=number / len(VERSIONS))
    return f"right under {len(VERSIONS)} versions"


def find_mutant(
    rows: Sequence[Key], truth: Sequence[Key], made: Any, mutants: Sequence[Mutant]
) -> Mutant | None:
    """Return the mutant whose rows differ from the truth most nearly as these do; None if none is near.

    `made` is what the mutants are called with; one that finds nothing is named only where there are no rows. The last
    column counts only if the others are right: it follows from them.
    """
    for width in (len(truth[0]) - 1, len(truth[0])):
        right = Counter(row[:width] for row in truth)
        own = find_differences(Counter(row[:width] for row in rows), right)
        if own and width > 1:
            others = (Counter(row[:width] for row in m.function(made)) for m in mutants)
            likely = (find_differences(other, right) if other or not rows else set() for other in others)
            shares = [measure_likeness(own, other) for other in likely]
            return mutants[shares.index(max(shares))] if max(shares) >= LIKE else None
    return None


def find_differences(rows: Counter[Key], right: Counter[Key]) -> set[tuple[bool, Key]]:
    """Return what is too much and what is missing."""
    return {(True, row) for row in rows - right} | {(False, row) for row in right - rows}


def measure_likeness(one: set[tuple[bool, Key]], other: set[tuple[bool, Key]]) -> float:
    """Return what share of both sets together is in both."""
    return len(one & other) / len(one | other) if one or other else 0.0


def describe(audit: Audit, made: Traffic, row: Key) -> tuple[str, str]:
    """Return what the log has at the key and offset of a row, and the entry that explains it."""
    there = next((r for r in made.log if (r.key, r.offset) == row[:2]), None)
    return ("nothing", "") if there is None else (text_of(there), audit.beside[1](made, there))


def record_before(made: Traffic, there: Record) -> str:
    """Return the record of the same producer and key before this one, with whether it is a repetition."""
    own = [r for r in made.log if (r.key, r.producer_id) == (there.key, there.producer_id) and not r.control]
    earlier = [r for r in own if r.offset < there.offset]
    names = [(r.producer_epoch, r.sequence) for r in earlier]
    return text_of(earlier[-1]) + " again" * (names.count(names[-1]) > 1) if earlier else text_of(None)


def marker_after(made: Traffic, there: Record) -> str:
    """Return the first marker of the same producer and key after this record."""
    own = (r for r in made.log if (r.key, r.producer_id) == (there.key, there.producer_id))
    return text_of(next((r for r in own if r.offset > there.offset and r.control), None))


def text_of(record: Record | None) -> str:
    """Return an entry of a log as a few words."""
    if record is None:
        return "none"
    what = f"{record.control} marker" if record.control else f"sequence {record.sequence}"
    return f"offset {record.offset}: producer {record.producer_id}, epoch {record.producer_epoch}, {what}"
