"""What a lab asks of its reader is counted in the lab: its words, and how soon a picture moves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kafkalab.course.labs import COURSE
from kafkalab.course.measures import count_words, measure_lab, sum_minutes
from kafkalab.grading.builder import SOLUTIONS, read

FEWEST, MOST, BEFORE_A_PICTURE, PRESSES = 900, 1_300, 120, 25


def text(id_: str, source: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "id": id_, "source": source.splitlines(keepends=True)}


def code(id_: str, source: str, shown: str = "") -> dict[str, Any]:
    outputs = [{"data": {"text/plain": shown}}] if shown else []
    return {"cell_type": "code", "id": id_, "source": source, "outputs": outputs}


WALK = "A title\nstop 1 of 24 · step 13 · t = 0 ms\nsomething"
LAB = [
    text("title", "# A lab\n\nThree [words](of/a#link) here.\n\n[All labs](00_start.ipynb) · **1 of 2**"),
    code("opening", "opening"),
    code("walk", "walk", WALK),
    text("e1", "## Exercise\n\nAnswer."),
    code("e1-look", "look", "stop 1 of 4 · step 1 · t = 0 ms"),
    code("e1-check", 'check("L3.E1", e1)'),
]


def test_words_are_counted_without_the_targets_of_links() -> None:
    assert count_words("Three [words](of/a#link) here, *and* `two_more`.") == 5


def test_a_lab_is_measured_by_its_saved_solution() -> None:
    found = measure_lab({"cells": LAB})
    assert (found.words, found.before_picture, found.presses) == (12, 10, (23, 3))
    assert found.walk_minutes == round((60 * 5 / 150 + 5 * 23 + 20 * 2) / 60)
    assert found.exercise_minutes == 10  # the points of L3.E1
    assert found.time == "3 min to walk, 10 for the exercises"
    assert sum_minutes([found, found]) == (6, 20)


def test_a_lab_without_a_picture_that_steps_has_all_its_words_before_it() -> None:
    assert measure_lab({"cells": LAB[:2]}).before_picture == 10


@pytest.mark.parametrize("lab", [lab.name for lab in COURSE])
def test_a_lab_is_short_and_a_picture_moves_soon(root: Path, lab: str) -> None:
    found = measure_lab(read(root / SOLUTIONS / f"{lab}.ipynb"))
    assert FEWEST <= found.words <= MOST
    assert found.before_picture <= BEFORE_A_PICTURE
    assert max(found.presses, default=0) <= PRESSES
