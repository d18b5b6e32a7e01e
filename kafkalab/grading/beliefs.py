"""Find the belief that a wrong table shows: the one that explains most of its wrong rows, and that no right row denies.

The book does the same without Python: pictures/src/page/judging.ts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kafkalab.grading.exercise import Belief

DENIALS, PARTS = 2, 3
"""A belief explains more than twice as many rows as deny it, and at least a third of the wrong ones."""
NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
Misses = Mapping[str, "int | str | Belief"]


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The belief that fits best, "" for none; the wrong rows that it explains, and the row to look at."""

    belief: str
    explained: tuple[int, ...]
    shown: int


def diagnose(rows: Sequence[Mapping[Any, str]], given: Sequence[Any], right: Sequence[bool]) -> Diagnosis:
    """Return the belief behind the wrong values of `given`; at least one of them is not `right`.

    `rows` maps, for each row, wrong values to the beliefs that lead to them. A row denies a belief if a wrong value
    would follow from it there, and the value given is right. If no belief fits, `shown` is some row, right or wrong:
    nobody learns which rows are wrong, or a table could be filled in by trying each word.
    """
    wrong = [at for at in range(len(rows)) if not right[at]]
    explained: dict[str, list[int]] = {}
    for at in wrong:
        if belief := belief_of(rows[at], given[at]):
            explained.setdefault(belief, []).append(at)
    denied = Counter(belief for at in range(len(rows)) if right[at] for belief in set(rows[at].values()))
    fitting = [
        belief
        for belief, places in explained.items()
        if len(places) > DENIALS * denied[belief] and len(places) * PARTS >= len(wrong)
    ]
    if fitting:
        best = max(fitting, key=lambda belief: (len(explained[belief]), -denied[belief]))
        return Diagnosis(best, tuple(explained[best]), explained[best][0])
    number = sum(ord(sign) for value in given for sign in str(value))
    return Diagnosis("", (), wrong[number % len(wrong)] if number % 2 else number % len(rows))


def belief_of(misses: Mapping[Any, str], value: Any) -> str:
    """Return the belief that leads to a wrong value of a row; "" if the row names none."""
    try:
        return misses.get(value, "")
    except TypeError:  # a value that cannot be a key
        return ""


def sentence_of(belief: str, misses: Misses) -> str:
    """Return the sentence of a belief; its name, where an exercise has no sentence for it."""
    found = misses.get(belief)
    return found.says if isinstance(found, Belief) else belief


def describe_fit(count: int, what: str) -> str:
    """ "Three of your rows fit one belief", to be followed by its sentence."""
    number = NUMBERS[count].capitalize() if count < len(NUMBERS) else str(count)
    return f"{number} of your {what}s {'fits' if count == 1 else 'fit'} one belief"
