"""Every lab's solution gets all its points under a grader's seed, and what was typed in does not."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from kafkalab.grading import check as checks
from kafkalab.grading import seeds
from kafkalab.grading.builder import LABS, SOLUTIONS
from kafkalab.grading.exercise import EXERCISES, WrongAnswer, WrongType, WrongValue
from kafkalab.grading.grade import grade
from kafkalab.grading.runner import Limits
from kafkalab.grading.sheet import exercises_asked, sheet
from kafkalab.grading.submissions import submissions

SPARK = ("12_", "16_")
OTHER_SEED = 90_210


@pytest.mark.notebooks
def test_solutions_get_all_points_and_blanks_none(root: Path, tmp_path: Path) -> None:
    labs = {name: lab for name, lab in sheet(root).items() if not name.startswith(SPARK)}
    for name in labs:
        for student, folder in (("solved", SOLUTIONS), ("blank", LABS)):
            (tmp_path / student).mkdir(exist_ok=True)
            shutil.copy(root / folder / f"{name}.ipynb", tmp_path / student)
    rows = grade(submissions(tmp_path, labs), labs, tmp_path, root, Limits(time_s=240), seed=OTHER_SEED)
    solved = [row for row in rows if row.student == "solved"]
    assert [(r.exercise, r.result, r.reason) for r in solved if r.result != "right"] == []
    assert sum(r.points for r in solved) == sum(lab.points for lab in labs.values())
    assert {r.notebook for r in solved} == {"it ran to the end"}
    assert [(r.exercise, r.points) for r in rows if r.student == "blank" and r.result != "wrong"] == []


def test_the_sheet_names_every_exercise_once(root: Path) -> None:
    labs = sheet(root)
    asked = [check.exercise for lab in labs.values() for check in lab.checks]
    assert sorted(asked) == sorted(EXERCISES)
    assert exercises_asked(check.source for lab in labs.values() for check in lab.checks) == set(asked)


def asking() -> list[str]:
    """The exercises with generated inputs."""
    return [name for name in EXERCISES if checks.find(name).question is not None]


@pytest.mark.parametrize("name", asking())
def test_a_grader_asks_for_other_inputs_and_for_the_same_ones_again(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = repr(checks.question(name))
    assert repr(checks.question(name)) == mine
    monkeypatch.setenv(seeds.VARIABLE, str(OTHER_SEED))
    assert repr(checks.question(name)) != mine
    assert repr(checks.question(name)) == repr(checks.question(name))


@pytest.mark.parametrize("name", EXERCISES)
def test_every_exercise_has_points_a_question_that_exists_and_hints_for_its_misses(name: str) -> None:
    exercise = checks.find(name)
    assert exercise.points >= 1
    assert len(set(exercise.hints)) == 3
    assert exercise.misses
    empty: tuple[object, ...] = ("", [], {}, ())
    for nothing in empty:
        with pytest.raises((WrongAnswer, WrongType, WrongValue)):
            checks.check(name, nothing)
