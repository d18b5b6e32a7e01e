"""One sitting: which variants are asked, how a notebook shows them, and the file that keeps the answers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from kafkalab.course.inventory.item import Option, Variant
from kafkalab.course.inventory.items import ITEMS
from kafkalab.grading.exercise import Line, WrongType, WrongValue, cells
from kafkalab.markup import element, join

SEEDS = {"before": 1, "after": 2}
"""By the name of a sitting, the seed that draws its variants."""
LETTERS = "ABCD"
FORMAT, BYTES_MAX = 1, 20_000
FORM = 'a dict with a letter for each question, like {"1.1": "B", "1.2": "", ...}; leave a blank where you do not know'


@dataclass(frozen=True, slots=True)
class Question:
    """A variant as a sitting asks it: its name, such as "3.1", the place of its item, and its options by letter."""

    name: str
    item: int
    says: str
    options: Mapping[str, Option]


@cache
def draw_questions(seed: int) -> tuple[Question, ...]:
    """Return the questions of a sitting: the items in their order, with other variants and letters for each seed."""
    random = Random(f"inventory/{seed}")
    found = []
    for place, item in enumerate(ITEMS):
        for number, variant in enumerate(random.sample(item.variants, item.asked), 1):
            found.append(_question(f"{place + 1}.{number}", place, variant, random))
    return tuple(found)


def _question(name: str, place: int, variant: Variant, random: Random) -> Question:
    options = random.sample(variant.options, len(variant.options))
    return Question(name, place, variant.says, dict(zip(LETTERS, options, strict=True)))


class Sheet:
    """The questions of a sitting, as a notebook shows them. Nothing in it says which option is right."""

    def __init__(self, sitting: str) -> None:
        self._questions = draw_questions(_seed_of(sitting))

    def __str__(self) -> str:
        return "\n\n".join(
            "\n".join([f"{one.name}  {one.says}", *(f"  {letter}) {o.says}" for letter, o in one.options.items())])
            for one in self._questions
        )

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return join(
            element(
                "div",
                element("p", element("b", f"{one.name} "), one.says),
                element("ul", *(element("li", f"{letter}) {o.says}") for letter, o in one.options.items()),
                        style="list-style:none"),
            )
            for one in self._questions
        )  # fmt: skip


def open_inventory(sitting: str = "before") -> Sheet:
    """Return the questions of a sitting, "before" or "after", to be read in a notebook."""
    return Sheet(sitting)


def blank_answers(sitting: str = "before") -> dict[str, str]:
    """Return the dict of answers, still blank."""
    return {question.name: "" for question in draw_questions(_seed_of(sitting))}


def save_inventory(answers: object, sitting: str = "before", folder: str | Path = ".") -> Line:
    """Check the form of the answers, and write them into inventory-before.json or inventory-after.json.

    Nothing is said of what is right. WrongType or WrongValue for what has not the form.
    """
    names = tuple(blank_answers(sitting))
    given = cells(answers, names, LETTERS, FORM, "question")
    if not any(given.values()):
        return Line(f"Nothing is saved yet: all {len(names)} answers are blank.")
    path = Path(folder) / f"inventory-{sitting}.json"
    text = json.dumps({"kafkalab inventory": FORMAT, "sitting": sitting, "seed": SEEDS[sitting], "answers": given})
    path.write_text(text + "\n", encoding="utf-8")
    return Line(f"{sum(map(bool, given.values()))} of {len(names)} answers are in {path.name}")


def load_inventory(path: Path) -> tuple[str, int, dict[str, str]]:
    """Return sitting, seed and answers of a file; ValueError for what is no such file."""
    if path.stat().st_size > BYTES_MAX:
        raise ValueError(f"{path.name} is too large")
    try:
        kept: Any = json.loads(path.read_text(encoding="utf-8"))
        if kept["kafkalab inventory"] != FORMAT:
            raise ValueError(f"{path.name} is of another kafkalab")
        sitting, seed = str(kept["sitting"]), int(kept["seed"])
        names = tuple(question.name for question in draw_questions(seed))
        return sitting, seed, cells(kept["answers"], names, LETTERS, FORM, "question")
    except (KeyError, TypeError, ValueError, RecursionError, WrongType, WrongValue) as error:
        raise ValueError(f"{path.name} holds no answers of the inventory: {str(error)[:100]}") from None


def _seed_of(sitting: str) -> int:
    if sitting not in SEEDS:
        raise WrongValue(f'a sitting is "before" or "after", not {sitting!r:.40}')
    return SEEDS[sitting]
