"""Summarise a class: for each exercise, how many learners are right, and how many show each misconception."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from kafkalab.grading.beliefs import sentence_of
from kafkalab.grading.check import find

if TYPE_CHECKING:
    from kafkalab.grading.grade import Row

NO_BELIEF = "wrong, and no misconception fits"
NOT_REACHED = "not reached"


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One misconception in one exercise: `holders` of `learners` show it; `right` of them solved the exercise.

    `helps` is the exercise's hint for it.
    """

    exercise: str
    learners: int
    right: int
    holders: int
    belief: str
    helps: str = ""


def summarise(rows: Iterable[Row]) -> list[Line]:
    """Return the lines of each exercise in the order of the rows, the misconception of most learners first.

    A learner counts once in an exercise: the best of her answers, and if none is right the last one.
    """
    by_exercise: dict[str, dict[str, Row]] = {}
    for row in rows:
        if row.exercise:
            of_learner = by_exercise.setdefault(row.exercise, {})
            if row.student not in of_learner or of_learner[row.student].result != "right":
                of_learner[row.student] = row
    return [
        line
        for exercise, found in sorted(by_exercise.items(), key=_place)
        for line in _lines(exercise, [*found.values()])
    ]


def _place(item: tuple[str, object]) -> tuple[int, ...]:
    return tuple(int(part[1:]) for part in item[0].split("."))


def _lines(exercise: str, rows: Sequence[Row]) -> list[Line]:
    counts = partial(Line, exercise=exercise, learners=len(rows), right=sum(row.result == "right" for row in rows))
    held = Counter(_miss_of(row) for row in rows if row.result != "right")
    if not held:
        return [counts(holders=0, belief="")]
    ordered = sorted(held.items(), key=lambda item: (item[0] in (NO_BELIEF, NOT_REACHED), -item[1], item[0]))
    known = find(exercise)
    return [
        counts(holders=number, belief=sentence_of(miss, known.misses), helps=known.hint_for(miss))
        for miss, number in ordered
    ]


def _miss_of(row: Row) -> str:
    return NOT_REACHED if row.result == NOT_REACHED else row.misconception or NO_BELIEF
