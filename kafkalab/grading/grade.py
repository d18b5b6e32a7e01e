"""Grade a folder of notebooks: from what became of each to rows of points with reasons."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from pathlib import Path

from kafkalab.grading.judge import Judge
from kafkalab.grading.runner import Limits, Outcome, Story
from kafkalab.grading.sheet import BEHIND, CheckCell, Lab
from kafkalab.grading.submissions import Submission
from kafkalab.grading.values import text_of

GRADER_SEED = 2026
TEXT_MAX = 6000
TWICE = "there is another notebook of this lab under this name"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One exercise of one notebook, or one file that is no notebook (then without an exercise).

    `result` is "right", "wrong" or "not reached"; `reason` the check's words; `notebook` what became of it as a whole;
    `sandbox` what it ran in; `misconception` the name of the one that a wrong answer shows; `run` the file, beside the
    report, with the page of its counterexample.
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
    sandbox: str = ""
    misconception: str = ""
    run: str = ""


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
    sandbox: str = "",
    keep: Callable[[list[Row]], None] = lambda rows: None,
    keep_page: Callable[[str], str] = lambda page: "",
) -> list[Row]:
    """Return a row for each exercise of each notebook, in order; one row for what is no notebook.

    `seed` is the grader's, `jobs` the number of notebooks that run at once. With `partial` an answer that is right in
    parts gets parts of the points. `said` is called with a line, and `keep` with the rows, of each notebook when it is
    done, whichever is done first. `keep_page` gets the page of each counterexample, if `limits.pages`, and returns the
    file that it has written. `sandbox` names another sandbox than the strongest of this machine. KeyboardInterrupt
    ends the notebooks that are under way, and no more is kept.
    """
    rows: dict[int, list[Row]] = {}
    judges: list[Judge] = []
    here = threading.local()
    stopped = threading.Event()

    def story_of(submission: Submission) -> Story | None:
        if submission.wrong or stopped.is_set():
            return None
        if not hasattr(here, "judge"):
            here.judge = Judge(folder, root, limits, seed, sandbox)
            judges.append(here.judge)
        story: Story = here.judge.story(submission, labs[submission.lab])
        return story

    often = Counter((s.student, s.lab) for s in found if s.lab)
    pool = ThreadPoolExecutor(max(1, jobs))
    try:
        asked = {pool.submit(story_of, submission): number for number, submission in enumerate(found)}
        for done in as_completed(asked):
            submission = found[number := asked[done]]
            made = _rows(submission, labs, done.result(), partial, keep_page)
            if often[submission.student, submission.lab] > 1:
                made = [replace(r, notebook=f"{r.notebook}; {TWICE}") for r in made]
            rows[number] = made
            keep(made)
            points = f"{sum(r.points for r in made):g} of {sum(r.of for r in made):g} points"
            said(f"{made[0].file}: {points}, {made[0].notebook}")
    finally:
        stopped.set()
        for judge in judges:
            judge.close()
        pool.shutdown(cancel_futures=True)
    return [row for number in sorted(rows) for row in rows[number]]


def _rows(
    submission: Submission,
    labs: Mapping[str, Lab],
    story: Story | None,
    partial: bool,
    keep_page: Callable[[str], str],
) -> list[Row]:
    """The rows of one file."""
    student, file = (text_of(text, TEXT_MAX) for text in (submission.student, submission.file))
    if story is None:
        return [Row(student=student, file=file, notebook=text_of(submission.wrong, TEXT_MAX))]
    lab = labs[submission.lab]
    notebook = text_of(_said_of_notebook(submission, lab, story), TEXT_MAX)
    row = Row(student=student, file=file, lab=submission.lab, notebook=notebook, sandbox=story.sandbox)
    return [_row(row, check, story.outcomes.get(check.exercise), partial, keep_page) for check in lab.checks]


def _row(row: Row, check: CheckCell, found: Outcome | None, partial: bool, keep_page: Callable[[str], str]) -> Row:
    result = "not reached" if found is None else "right" if found.solved else "wrong"
    part = 0.0 if found is None else 1.0 if found.solved else found.part if partial else 0.0
    return replace(
        row,
        exercise=check.exercise,
        points=round(check.points * min(max(part, 0.0), 1.0), 2),
        of=check.points,
        result=result,
        reason=row.notebook if found is None else text_of(found.reason, TEXT_MAX),
        misconception="" if found is None else found.miss,
        run=keep_page(found.page) if found and found.page else "",
    )


def _said_of_notebook(submission: Submission, lab: Lab, story: Story) -> str:
    """Return what a teacher should know of this notebook, in a sentence or two."""
    said = [story.end] if story.end else []
    if any(error.startswith("MemoryError") for _, error in story.errors):
        said.append("it ran out of memory")
    elif story.errors:
        cell, error = story.errors[0]
        said.append(f"cell {cell} stops with {error.splitlines()[0][:200]}")
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
