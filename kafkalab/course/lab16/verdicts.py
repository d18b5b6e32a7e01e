"""Compare the rows of a learner's code with the truth under both versions, and name the mutant that they fit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from kafkalab.course.lab12.spark_exercise import Key, compared, most_of, rows_of
from kafkalab.course.lab16.traffic import VERSIONS, Record, Traffic, folder_of, traffic
from kafkalab.grading.elsewhere import perform
from kafkalab.grading.exercise import WrongAnswer
from kafkalab.grading.mutants import Mutant
from kafkalab.grading.seeds import seed

LIKE = 0.5
"""From this share on of what differs from the truth, an answer counts as a mutant's."""
LOG_COLUMNS = ("in the log", "the record of its producer before it")


def judge(
    task: str,
    answer: Any,
    columns: Sequence[str],
    find: Callable[[Traffic], Sequence[Key]],
    mutants: Sequence[Mutant],
    words: tuple[str, str],
) -> str:
    """Let the task run `answer` on new traffic under each version; WrongAnswer shows the rows that differ.

    `words` are what to call an answer that fails, and one that is blank.
    """
    fails, blank = words
    for number, version in enumerate(VERSIONS):
        made = traffic(version, seed())
        truth = find(made)
        given = perform(task, answer, folder_of(version, seed()), tuple(columns), most_of(truth))
        rows = rows_of(given, fails, blank)
        difference = compared(rows, truth, columns)
        if difference:
            mutant = None if isinstance(rows, str) else find_mutant(rows, truth, made, mutants)
            says = f" That is as if {mutant.says}." if mutant else ""
            title = f"Transaction version {version}: the rows that differ, and the log there"
            table = difference.table(title, lambda row, made=made: describe(made, row), LOG_COLUMNS)  # type: ignore[misc]
            miss = mutant.name if mutant else ""
            raise WrongAnswer(
                f"Under transaction version {version}: {difference}.{says}", run=table, miss=miss, part=number / 2
            )
    return f"right under {len(VERSIONS)} versions"


def find_mutant(
    rows: Sequence[Key], truth: Sequence[Key], made: Any, mutants: Sequence[Mutant]
) -> Mutant | None:
    """Return the mutant whose rows differ from the truth most nearly as these do; None if none is near.

    `made` is what the mutants are called with. The last column counts only if the others are right: it follows them.
    """
    for width in (len(truth[0]) - 1, len(truth[0])):
        right = Counter(row[:width] for row in truth)
        own = differing(Counter(row[:width] for row in rows), right)
        if own and width > 1:
            others = (Counter(row[:width] for row in m.function(made)) for m in mutants)
            shares = [likeness(own, differing(other, right)) for other in others]
            return mutants[shares.index(max(shares))] if max(shares) >= LIKE else None
    return None


def differing(rows: Counter[Key], right: Counter[Key]) -> set[tuple[bool, Key]]:
    """Return what is too much and what is missing."""
    return {(True, row) for row in rows - right} | {(False, row) for row in right - rows}


def likeness(one: set[tuple[bool, Key]], other: set[tuple[bool, Key]]) -> float:
    """Return what share of both sets together is in both."""
    return len(one & other) / len(one | other) if one or other else 0.0


def describe(made: Traffic, row: Key) -> tuple[str, str]:
    """Return what the log has at the key and offset of a row, and before it of the same producer."""
    key, offset = row[:2]
    there = next((r for r in made.log if (r.key, r.offset) == (key, offset)), None)
    if there is None:
        return "nothing", ""
    return text_of(there), text_of(next(before(made, there), None))


def before(made: Traffic, there: Record) -> Iterator[Record]:
    """Yield the entries of the same producer and key before this one, the nearest first."""
    own = (r for r in reversed(made.log) if (r.key, r.producer_id) == (there.key, there.producer_id))
    return (r for r in own if r.offset < there.offset)


def text_of(record: Record | None) -> str:
    """Return an entry of a log as a few words."""
    if record is None:
        return "none"
    what = f"{record.control} marker" if record.control else f"sequence {record.sequence}"
    return f"producer {record.producer_id}, epoch {record.producer_epoch}, {what}"
