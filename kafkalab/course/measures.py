"""Count what a lab asks of its reader: words, words before the first picture, presses of each walk, and minutes.

All of it is counted in the saved solution, so that what a lab says of its length follows from the lab. The minutes come
from the counts and from the rates below; they were not taken with a watch.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from kafkalab.course.labs import COURSE
from kafkalab.grading import check as checks
from kafkalab.grading.builder import SOLUTIONS, Cell, Notebook, read
from kafkalab.grading.exercise import EXERCISES
from kafkalab.grading.sheet import exercises_asked

WORDS_A_MINUTE, SECONDS_A_PRESS, SECONDS_A_CELL, MINUTES_A_POINT = 150, 5, 20, 1
"""The rates: a text with code in it is read at half the pace of a novel, and a press has one sentence to read."""
RATES = (
    f"The minutes are computed, not taken with a watch: {WORDS_A_MINUTE} words a minute, {SECONDS_A_PRESS} seconds for "
    f"a press, {SECONDS_A_CELL} seconds for a cell, and {MINUTES_A_POINT} minute for each point of an exercise."
)
HEAD = "| lab | words | before the first picture | presses of each walk | walk | exercises |\n|--:|--:|--:|:--|--:|--:|"
WAY = re.compile(r"^\[←[^\n]*$|^\[All labs\]\(00_start\.ipynb\)[^\n]*$", re.M)
"""The line of a lab's first and last text that is generated, and states the time: no minute follows from it."""
TARGET = re.compile(r"\]\([^)]*\)")
STOPS = re.compile(r"^stop \d+ of (\d+) ", re.M)
PLACE = re.compile(r"^(?:stop|step) \d+ of \d+ | Moment: \w+\.$", re.M)
"""The place in the text of a picture that steps, of `Sequence` and others or of `Alternatives`."""
OF_AN_EXERCISE = re.compile(r"e\d+(-|$)")
"""The ids of an exercise's cells begin so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measures:
    """The counts of one lab: words of its text, presses of each `Sequence`, minutes for the walk and the exercises."""

    words: int
    before_picture: int
    presses: tuple[int, ...]
    walk_minutes: int
    exercise_minutes: int

    @property
    def row(self) -> str:
        """Return the cells of its row in the table below `HEAD`, but for the lab's."""
        presses = ", ".join(map(str, self.presses))
        minutes = f"{self.walk_minutes} min | {self.exercise_minutes} min"
        return f"{self.words:,} | {self.before_picture} | {presses} | {minutes} |"

    @property
    def time(self) -> str:
        """Return the time as a lab states it."""
        return f"{self.walk_minutes} min to walk, {self.exercise_minutes} for the exercises"


def measure_labs(root: Path) -> dict[str, Measures]:
    """Return the measures of each lab under `root`, by its notebook's name, in the order of reading."""
    paths = {lab.name: root / SOLUTIONS / f"{lab.name}.ipynb" for lab in COURSE}
    return {name: measure_lab(read(path)) for name, path in paths.items() if path.exists()}


def sum_minutes(labs: Iterable[Measures]) -> tuple[int, int]:
    """Return the minutes to walk the labs, and those for their exercises."""
    walks, exercises = zip(*((lab.walk_minutes, lab.exercise_minutes) for lab in labs), strict=True)
    return sum(walks), sum(exercises)


def count_words(text: str) -> int:
    """Return the number of words of a Markdown text, without the targets of its links."""
    return len(re.findall(r"\w+", TARGET.sub("]", text)))


def measure_lab(solution: Notebook) -> Measures:
    """Count what a solved lab asks of its reader."""
    cells: list[Cell] = solution["cells"]
    walk = [cell for cell in cells if not OF_AN_EXERCISE.match(cell["id"])]
    exercises = [cell for cell in cells if OF_AN_EXERCISE.match(cell["id"])]
    seconds = (
        60 * _words_of(walk, WAY) / WORDS_A_MINUTE
        + SECONDS_A_PRESS * sum(_presses_of(walk))
        + SECONDS_A_CELL * sum(cell["cell_type"] == "code" for cell in walk)
    )
    asked = exercises_asked(["".join(cell["source"]) for cell in exercises if cell["cell_type"] == "code"])
    points = sum(checks.find(name).points for name in asked if name in EXERCISES)
    return Measures(
        words=_words_of(cells),
        before_picture=_words_of(cells[: _first_picture(cells)]),
        presses=tuple(_presses_of(cells)),
        walk_minutes=round(seconds / 60),
        exercise_minutes=round(_words_of(exercises) / WORDS_A_MINUTE + MINUTES_A_POINT * points),
    )


def _words_of(cells: list[Cell], without: re.Pattern[str] | None = None) -> int:
    texts = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]
    return sum(count_words(without.sub("", text) if without else text) for text in texts)


def _first_picture(cells: list[Cell]) -> int:
    """Return the place of the first picture that steps: its text says at which stop or step it is."""
    return next((i for i, cell in enumerate(cells) if re.search(PLACE, _text_of(cell))), len(cells))


def _presses_of(cells: list[Cell]) -> Iterator[int]:
    for cell in cells:
        yield from (int(stops) - 1 for stops in STOPS.findall(_text_of(cell)))


def _text_of(cell: Cell) -> str:
    """Return the twin in text of the cell's saved pictures."""
    return "\n".join("".join(output.get("data", {}).get("text/plain", "")) for output in cell.get("outputs", ()))
