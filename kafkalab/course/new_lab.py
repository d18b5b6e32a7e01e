"""A new lab to begin with: facts, scenario, exercise, test and notebook. All of it runs, and is to be rewritten."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kafkalab.course.lab import PLANNED, CourseLab
from kafkalab.grading.builder import SOLUTIONS, Cell, as_text

FACTS = '''"""Lab {n}: its scenario and its exercises."""

from kafkalab.course.lab import CourseLab

LAB = CourseLab(
    name="{name}",
    title="{title}",
    know="{know}",
    settles=(),  # the learners' questions that it must answer, by number: kafkalab/course/questions.py
)
'''

SCENARIO = '''"""The scenario of lab {n}."""

from __future__ import annotations

from typing import Any

from kafkalab.sim.scenario import Program, Scenario
from kafkalab.sim.scenario_names import register_scenario


@register_scenario
def lab{nn}(seed: int = 1, profile: str = "4.x/TV2", records: int = 2, **more: Any) -> Scenario:
    """One transaction with some records; `more` is as in `Scenario`."""
    arguments = {{"transactional_id": "payments-0", "records": records}}
    return Scenario(
        title="{title}",
        profile=profile,
        seed=seed,
        topics={{"accounts": 1}},
        programs=(Program("app", "first_transaction", arguments),),
        **more,
    )
'''

EXERCISE = '''"""L{n}.E1: where a log ends after one transaction with some records."""

from __future__ import annotations

from functools import cache, partial
from typing import Any

from kafkalab.course.lab{nn}.scenario import lab{nn}
from kafkalab.grading.exercise import Belief, Exercise
from kafkalab.grading.predictions import Fact, judge_predictions
from kafkalab.grading.seeds import random_for, seed
from kafkalab.sim.cluster import ran

FORM = "a list of four numbers"
BELIEFS = {{
    "no marker": Belief(
        says="a log ends after the last record",
        hint="You have counted the records. What else is in the log?",
    ),
}}


@cache
def numbers(of_seed: int) -> tuple[int, ...]:
    """Return the number of records of each of four transactions."""
    return tuple(random_for("L{n}.E1", of_seed).sample(range(1, 9), 4))


@cache
def facts(of_seed: int) -> tuple[Fact, ...]:
    """Return where the log ends in a run of each; a learner who counts the records has forgotten the marker."""
    found = []
    for number, records in enumerate(numbers(of_seed), 1):
        scenario = partial(lab{nn}, seed=of_seed, records=records)
        end = ran(scenario()).log_of("accounts-0").log_end_offset
        says = f"the end offset after {{records}} records"
        found.append(Fact(name=number, says=says, truth=end, run=scenario, misses={{records: "no marker"}}))
    return tuple(found)


def check(answer: Any) -> str:
    """ "4 of 4 predictions" if each end is right; WrongAnswer names the belief that the others fit."""
    return judge_predictions(answer, numbers(seed()), facts(seed()), FORM, beliefs=BELIEFS)


EXERCISE = Exercise(
    "L{n}.E1",
    check,
    (
        "Look at the log after the last record.",
        "A transaction ends with something that no program has written.",
        "The marker takes one offset.",
    ),
    points=4,
    misses=BELIEFS,
    question=lambda of_seed: list(numbers(of_seed)),
    afterwards="Why: a marker is a batch, and each batch takes offsets. Next: …",
)
'''

TEST = '''"""Lab {nn}'s exercises: the model answers pass under any seed, wrong answers get their hint."""

from __future__ import annotations

import pytest

from kafkalab.grading.check import check, question
from kafkalab.grading.seeds import VARIABLE
from tests.grading.told import catch_wrong_answer

pytestmark = pytest.mark.usefixtures("no_hints_given")


@pytest.mark.parametrize("seed", ["1", "2026"])
def test_the_model_answers_pass_under_every_seed(seed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, seed)
    assert check("L{n}.E1", [n + 1 for n in question("L{n}.E1")]) == "L{n}.E1 ✓ 4 of 4 predictions"


def test_each_misconception_gets_its_hint() -> None:
    assert catch_wrong_answer("L{n}.E1", question("L{n}.E1")).miss == "no marker"
'''

OPENING = """from kafkalab import ClusterMap, lab{nn}

opening = ClusterMap(lab{nn}())
opening.step = opening.cluster.trace.frames["EndTxn#1"].sent_step
opening"""
NAMES = """from kafkalab import Predict, Sequence
from kafkalab import at_the_end, check, counterexample, hint, lab{nn}, question"""
GUESS = """guess = Predict(
    "Two records, and a commit. Where does the log end?",
    choices={{"A": "At 2.", "B": "At 3."}},
    answer="B",  # Predict.seal("B") makes what sealed=... takes instead, so that no cell shows the answer
)
guess"""
ANSWER = 'e1 = []\n### BEGIN SOLUTION\ne1 = [n + 1 for n in question("L{n}.E1")]\n### END SOLUTION'
FIGURE = {"tags": ["nbval-ignore-output"]}
FORM = {"nbgrader": {"grade": False, "locked": False, "solution": True}}
CHECK = {
    "deletable": False, "editable": False, "nbgrader": {"grade": True, "locked": True, "points": 4, "solution": False}
}  # fmt: skip
CELLS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("title", "# {title}\n\nAfter this lab you can say {know}.", {}),
    ("opening", OPENING, {"jupyter": {"source_hidden": True}, **FIGURE}),
    ("names", NAMES, {}),
    ("guess-why", "## Guess first\n\nClick what you believe. The card comes again below.", {}),
    ("guess", GUESS, FIGURE),
    ("walk-why", "## Walk it\n\nClick the picture once, then <kbd>→</kbd>. Where is [`EndTxn#1`](#EndTxn#1)?", {}),
    ("walk", "walk = Sequence(lab{nn}())\nwalk", FIGURE),
    ("guess-told", "guess", FIGURE),
    ("log", 'print(at_the_end(walk, "accounts-0"))', {}),
    ("e1", "## Exercise 1: where it ends\n\nWhere does the log end after a transaction of so many records?", {}),
    ("e1-look", 'question("L{n}.E1")', {}),
    ("e1-answer", ANSWER, FORM),
    ("e1-check", 'check("L{n}.E1", e1)', CHECK),
    ("more", "## And now\n\nWhere it is written down: …", {}),
)  # fmt: skip
"""The notebook: the id, source and metadata of each cell; those without code begin with "#"."""


def begin_lab(root: Path, number: int) -> list[Path]:
    """Write the files of a planned lab; ValueError if it is not planned, or there already. Nothing is overwritten."""
    lab = next((lab for lab in PLANNED if lab.number == number), None)
    if lab is None:
        there = ", ".join(f"{lab.number:02}" for lab in PLANNED) or "none: write a row with its number first"
        raise ValueError(f"no lab {number:02} is in PLANNED of kafkalab/course/lab.py; there are {there}")
    folder = root / "kafkalab" / "course" / f"lab{number:02}"
    words = {"n": str(number), "nn": f"{number:02}", "name": lab.name, "title": lab.title, "know": lab.know}
    texts = {
        folder / "__init__.py": FACTS.format(**words),
        folder / "scenario.py": SCENARIO.format(**words),
        folder / "exercise_1.py": EXERCISE.format(**words),
        root / "tests" / "course" / f"test_lab{number:02}.py": TEST.format(**words),
        root / SOLUTIONS / f"{lab.name}.ipynb": notebook(lab, words),
    }
    if found := next((path for path in texts if path.exists()), None):
        raise ValueError(f"{found.relative_to(root)} is there already")
    for path, text in texts.items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return list(texts)


def notebook(lab: CourseLab, words: dict[str, str]) -> str:
    """Return the solution, not yet run."""
    kernel = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
    return as_text({
        "cells": [_cell(name, source.format(**words), metadata) for name, source, metadata in CELLS],
        "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    })  # fmt: skip


def _cell(name: str, source: str, metadata: dict[str, Any]) -> Cell:
    if "nbgrader" in metadata:
        facts = {"grade_id": name, "schema_version": 3, "task": False}
        metadata = {**metadata, "nbgrader": {**metadata["nbgrader"], **facts}}
    cell: Cell = {"cell_type": "markdown", "id": name, "metadata": metadata, "source": source.splitlines(keepends=True)}
    if source.startswith("#"):
        return cell
    return {**cell, "cell_type": "code", "execution_count": None, "outputs": []}
