"""The inventory of a class: item by item how many moved between the two sittings, and which beliefs are left."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kafkalab.course.inventory.diagnosis import find_beliefs, find_right_items
from kafkalab.course.inventory.item import BELIEFS
from kafkalab.course.inventory.items import ITEMS
from kafkalab.course.inventory.sitting import SEEDS, draw_questions, load_inventory
from kafkalab.grading.exercise import Line
from kafkalab.markup import cell, each, element, heading, page, table

BEFORE, AFTER = SEEDS


@dataclass(frozen=True, slots=True)
class Result:
    """One sitting of one learner: by each item's place whether it is right, and the beliefs that the answers show."""

    right: dict[int, bool]
    beliefs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Learner:
    """A learner's sittings, by their names."""

    name: str
    results: dict[str, Result] = field(default_factory=dict)

    @property
    def moved(self) -> bool:
        """True if both sittings are there, so that they can be compared."""
        return len(self.results) == len(SEEDS)


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemRow:
    """Count for one item how many learners moved which way, and how many hold its belief."""

    belief: str
    lab: int
    stayed_right: int
    to_right: int
    to_wrong: int
    stayed_wrong: int
    held_before: int
    held_after: int


def read_class(folder: Path) -> tuple[list[Learner], list[str]]:
    """Return the learners of a folder, in which each has a folder of her own, and what could not be read."""
    learners, refused = [], []
    for place in sorted(path for path in folder.iterdir() if path.is_dir()):
        learner = Learner(place.name)
        for path in sorted(place.glob("inventory-*.json")):
            try:
                sitting, result = judge_file(path)
            except (ValueError, OSError) as error:
                refused.append(f"{place.name}: {error}")
            else:
                learner.results[sitting] = result
        if learner.results:
            learners.append(learner)
    return learners, refused


def judge_file(path: Path) -> tuple[str, Result]:
    """Return the name of a sitting, and what its answers show. ValueError for what is no file of a sitting."""
    sitting, seed, answers = load_inventory(path)
    if sitting not in SEEDS:
        raise ValueError(f"{path.name} is of no sitting")
    questions = draw_questions(seed)
    return sitting, Result(find_right_items(questions, answers), find_beliefs(questions, answers))


def summarise_items(learners: Sequence[Learner]) -> list[ItemRow]:
    """Return a row for each item; only learners with both sittings have moved."""
    both = [learner for learner in learners if learner.moved]
    rows = []
    for place, item in enumerate(ITEMS):
        ways = Counter(tuple(learner.results[name].right[place] for name in SEEDS) for learner in both)
        held = {name: sum(item.belief in one.results[name].beliefs for one in learners if name in one.results)
                for name in SEEDS}  # fmt: skip
        rows.append(ItemRow(
            belief=BELIEFS[item.belief], lab=item.lab,
            stayed_right=ways[True, True], to_right=ways[False, True], to_wrong=ways[True, False],
            stayed_wrong=ways[False, False], held_before=held[BEFORE], held_after=held[AFTER],
        ))  # fmt: skip
    return rows


HOW = "An item is right if more than half of its questions are. Only learners with both sittings move."
NAMES = (
    "they believe",
    "lab",
    "right twice",
    "wrong → right",
    "right → wrong",
    "wrong twice",
    "held before",
    "held after",
)


def _cells(row: ItemRow) -> tuple[str, ...]:
    numbers = (row.stayed_right, row.to_right, row.to_wrong, row.stayed_wrong, row.held_before, row.held_after)
    return row.belief, str(row.lab), *map(str, numbers)


def as_lines(learners: Sequence[Learner], refused: Iterable[str]) -> str:
    """Return the report as text."""
    rows = [NAMES, *map(_cells, summarise_items(learners))]
    wide = [max(len(row[at]) for row in rows) for at in range(len(NAMES))]
    lines = ["  ".join(text.ljust(width) for text, width in zip(row, wide, strict=True)).rstrip() for row in rows]
    return "\n".join([*lines, "", _count(learners), *(f"Not read: {said}" for said in refused)])


def as_page(learners: Sequence[Learner], refused: Sequence[str]) -> str:
    """Return the report as a page: the items, then each learner's beliefs before and after."""
    heads = [NAMES[0], *(heading(name, "number") for name in NAMES[1:])]
    rows = (
        [first, *(cell(text, "number") for text in rest)] for first, *rest in map(_cells, summarise_items(learners))
    )
    each_learner = (
        (one.name, *(_list_beliefs(one.results[name]) if name in one.results else "no answers" for name in SEEDS))
        for one in learners
    )
    return page(
        "kafkalab: what the class believes",
        element("h1", "What the class believes"),
        element("p", _count(learners)),
        table(heads, rows, HOW),
        element("h2", "Learners"),
        table(("learner", "before", "after"), each_learner, "Beliefs that at least two answers show"),
        each("p", (f"Not read: {said}." for said in refused)),
    )


def _list_beliefs(result: Result) -> str:
    return "; ".join(BELIEFS[belief] for belief in result.beliefs) or "none"


def _count(learners: Sequence[Learner]) -> str:
    both = sum(learner.moved for learner in learners)
    return f"{len(learners)} learners, {both} with both sittings."


def compare_inventory(folder: str | Path = ".") -> Line:
    """Return what a learner's own files show: the beliefs before and after, and the labs to walk again."""
    found = dict(judge_file(path) for path in sorted(Path(folder).glob("inventory-*.json")))
    if not found:
        return Line("There are no answers yet: save_inventory(answers, ...) writes them.")
    labs = {item.belief: item.lab for item in ITEMS}
    lines = []
    for sitting in (name for name in SEEDS if name in found):
        right, beliefs = found[sitting].right, found[sitting].beliefs
        lines.append(f"{sitting}: {sum(right.values())} of {len(ITEMS)} items are right.")
        lines += [f"    You may believe that {BELIEFS[belief]}. Walk lab {labs[belief]}." for belief in beliefs]
    return Line("\n".join(lines))
