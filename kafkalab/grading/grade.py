"""Grade a folder of notebooks: from what their processes reported to rows of points with reasons."""

from __future__ import annotations

import ast
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from kafkalab.grading import check as checks
from kafkalab.grading import progress, seeds
from kafkalab.grading.runner import Limits, Story, run
from kafkalab.grading.sheet import BEHIND, Graded, Lab
from kafkalab.grading.submissions import Submission
from kafkalab.grading.worker import outcome

GRADER_SEED = 2026
TWICE = "there is another notebook of this lab under this name"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One exercise of one notebook, or one file that is no notebook (then without an exercise).

    `result` is "right", "wrong" or "not reached"; `reason` the check's words; `notebook` what became of it as a whole.
    """

    student: str
    file: str
    lab: str = ""
    exercise: str = ""
    points: float = 0.0
    of: float = 0.0
    result: str = ""
    reason: str = ""
    notebook: str = ""


def grade(
    found: Sequence[Submission],
    labs: Mapping[str, Lab],
    folder: Path,
    root: Path,
    limits: Limits,
    seed: int = GRADER_SEED,
    jobs: int = 2,
    partial: bool = False,
    said: Callable[[str], None] = lambda line: None,
) -> list[Row]:
    """Return a row for each exercise of each notebook, in order; one row for what is no notebook.

    `seed` is the grader's, `jobs` the number of notebooks that run at once. With `partial` an answer that is right in
    parts gets parts of the points. `said` is called with a line for each notebook when it is done.
    """
    rows: list[Row] = []
    before = {name: os.environ.get(name) for name in (seeds.VARIABLE, progress.VARIABLE)}
    os.environ.update({seeds.VARIABLE: str(seed), progress.VARIABLE: "off"})
    try:
        with ThreadPoolExecutor(max(1, jobs)) as pool:
            stories = pool.map(lambda s: None if s.wrong else run(s, labs[s.lab], folder, root, limits, seed), found)
            often = Counter((s.student, s.lab) for s in found if s.lab)
            for submission, story in zip(found, stories, strict=True):
                made = _rows(submission, labs, story, partial)
                if often[submission.student, submission.lab] > 1:
                    made = [replace(r, notebook=f"{r.notebook}; {TWICE}") for r in made]
                points = f"{sum(r.points for r in made):g} of {sum(r.of for r in made):g} points"
                said(f"{submission.file}: {points}, {made[0].notebook}")
                rows += made
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
    return rows


def _rows(submission: Submission, labs: Mapping[str, Lab], story: Story | None, partial: bool) -> list[Row]:
    """The rows of one file."""
    if story is None:
        return [Row(student=submission.student, file=submission.file, notebook=submission.wrong)]
    lab = labs[submission.lab]
    notebook = _said_of_notebook(submission, lab, story)
    told = {row.get("exercise"): row for row in story.rows if row["kind"] == "check"}
    return [_row(submission, check, told.get(check.exercise), notebook, partial) for check in lab.checks]


def _row(submission: Submission, check: Graded, told: dict[str, Any] | None, notebook: str, partial: bool) -> Row:
    found: dict[str, Any] = {"solved": False, "part": 0.0, "reason": notebook}
    result = "not reached"
    if told is not None:
        found = _judged(check.exercise, told)
        result = "right" if found["solved"] is True else "wrong"
    part = 1.0 if result == "right" else float(found["part"]) if partial else 0.0
    return Row(
        student=submission.student,
        file=submission.file,
        lab=submission.lab,
        exercise=check.exercise,
        points=round(check.points * min(max(part, 0.0), 1.0), 2),
        of=check.points,
        result=result,
        reason=str(found["reason"]),
        notebook=notebook,
    )


def _judged(exercise: str, told: dict[str, Any]) -> dict[str, Any]:
    """Return the outcome of a check; data is checked here, where nothing of the notebook has run."""
    if isinstance(told.get("data"), str):
        try:
            answer = ast.literal_eval(told["data"])
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return {"solved": False, "part": 0.0, "reason": "the answer cannot be read"}
        return outcome(checks.check, exercise, answer)
    part = told.get("part")
    known = {"solved": told.get("solved") is True, "part": part if isinstance(part, (int, float)) else 0.0}
    return known | {"reason": str(told.get("reason", ""))}


def _said_of_notebook(submission: Submission, lab: Lab, story: Story) -> str:
    """Return what a teacher should know of this notebook, in a sentence or two."""
    kinds = [row["kind"] for row in story.rows]
    cell = next((row["cell"] for row in reversed(story.rows) if row["kind"] == "cell"), "")
    said = []
    if "end" not in kinds:
        where = f" in cell {cell}" if cell else " before its first cell"
        said.append((story.end or "its process ended") + where)
    errors = [row for row in story.rows if row["kind"] == "error"]
    if any(str(row.get("error", "")).startswith("MemoryError") for row in errors):
        said.append("it ran out of memory")
    elif errors:
        said.append(f"cell {errors[0].get('cell')} stops with {str(errors[0].get('error', '')).splitlines()[0][:200]}")
    said += [f"it changes kafkalab itself ({', '.join(map(str, r['names']))}), which was put back"
             for r in story.rows if r["kind"] == "changed"][:1]  # fmt: skip
    return "; ".join([*said, *_of_checks(submission, lab)]) or "it ran to the end"


def _of_checks(submission: Submission, lab: Lab) -> list[str]:
    given = {cell.id: cell.source.strip() for cell in submission.cells}
    edited = [c.cell for c in lab.checks if c.cell in given and given[c.cell] != c.source]
    missing = [c.cell for c in lab.checks if c.cell not in given]
    said = []
    for what, cells in (("edited", edited), ("missing", missing)):
        if cells:
            many = len(cells) > 1
            said.append(f"the check cell{'s' if many else ''} {', '.join(cells)} {'were' if many else 'was'} {what}, "
                        "and the original was used")  # fmt: skip
    looks = [BEHIND.search(source) for source in given.values() if source not in lab.looks_behind]
    if read := sorted({look[0] for look in looks if look}):
        said.append(f"it reads {' and '.join(read)}, where the checks are: look at it")
    return said
