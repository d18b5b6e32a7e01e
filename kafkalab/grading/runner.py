"""Grade one student's notebook: its process runs the cells; this one, in which nothing of it runs, checks the answers.

`kafkalab.grading.judge` runs this in processes of the grader's own.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from kafkalab.course_files import course_root
from kafkalab.grading import bubblewrap, counterexamples, landlock, seeds
from kafkalab.grading import check as checks
from kafkalab.grading.builder import SOLUTIONS
from kafkalab.grading.deadline import OutOfTimeError, limit_time
from kafkalab.grading.exercise import WrongAnswer, WrongType, WrongValue
from kafkalab.grading.learner import EndedError, Place, learner
from kafkalab.grading.remote_query import performed_by
from kafkalab.grading.session import Session
from kafkalab.grading.sheet import CheckCell, Lab
from kafkalab.grading.submissions import Submission
from kafkalab.grading.values import UnreadableError, text_of

CHECK_S = 300
"""The seconds that one check may take here, the answers of the notebook's process included."""

REASON_MAX, MISS_MAX = 6000, 200
LANDLOCK, HOOK = "Landlock", "hook"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The limits of one notebook, where they differ from its lab's; 0 is "as the lab says".

    `time_s` is processor time, `wall_s` what may pass by the clock; 0 for several times that. `pages` is whether the
    counterexamples are made into pages.
    """

    time_s: int = 0
    memory_mb: int = 0
    wall_s: int = 0
    pages: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The result of a check of one answer: whether it is right, how much of it is, and its own words.

    `miss` is the misconception of a wrong answer, `page` its counterexample as a page; "" for none.
    """

    solved: bool
    part: float
    reason: str
    miss: str = ""
    page: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """The run of one notebook: by exercise the outcome, the cells that stopped with an error, and how it ended.

    `end` is "" if it ran to the end.
    """

    outcomes: Mapping[str, Outcome] = field(default_factory=dict)
    errors: tuple[tuple[str, str], ...] = ()
    end: str = ""
    sandbox: str = ""


def sandbox_here() -> str:
    """Return the strongest sandbox of this machine: bubblewrap, Landlock, or the interpreter's hook alone."""
    if sys.platform == "linux" and bubblewrap.works():
        return bubblewrap.NAME
    return fallback()


def fallback() -> str:
    """Return the strongest sandbox of this machine without bubblewrap."""
    return LANDLOCK if landlock.version() else HOOK


def shown_seed(seed: int) -> int:
    """Return the seed that a notebook's process is told; functions are asked by `seed` itself."""
    return int.from_bytes(sha256(f"notebook/{seed}".encode()).digest()[:4], "big")


def run(
    submission: Submission, lab: Lab, folder: Path, root: Path, limits: Limits, seed: int, sandbox: str = ""
) -> Story:
    """Run the notebook in its own process and a temporary folder, and check its answers here."""
    used = sandbox or sandbox_here()
    data, labs = (root / "data").resolve(), (root / "labs").resolve()
    place = Place(
        readable=(data,) if data.is_dir() else (),
        hidden=(folder.resolve(), labs, *(p for p in kept_from_students() if not p.is_relative_to(labs))),
        time_s=limits.time_s or lab.time_s,
        memory_mb=limits.memory_mb or lab.memory_mb,
        seed=shown_seed(seed),
        spark=lab.uses_spark,
        wall_s=limits.wall_s,
    )
    outcomes: dict[str, Outcome] = {}
    errors: list[tuple[str, str]] = []
    at = ""
    try:
        with learner(place, used) as process:
            session = Session(process)
            for cell, check in cells_of(submission, lab):
                at = cell
                if isinstance(check, str):
                    if error := session.run_cell(check):
                        errors.append((cell, error))
                    continue
                outcomes[check.exercise] = Outcome(solved=False, part=0.0, reason="the notebook ended as it was asked")
                outcomes[check.exercise] = judge_answer(session, check, seed, limits.pages)
            session.finish()
    except EndedError as error:
        where = f" in cell {at}" if at else " before its first cell"
        return Story(outcomes=outcomes, errors=tuple(errors), end=f"{error}{where}", sandbox=used)
    return Story(outcomes=outcomes, errors=tuple(errors), sandbox=used)


def cells_of(submission: Submission, lab: Lab) -> Iterator[tuple[str, str | CheckCell]]:
    """Return the names of the student's cells, each with its source or the lab's check; missing checks come last."""
    by_cell = {check.cell: check for check in lab.checks}
    for cell in submission.cells:
        check = by_cell.pop(cell.id, None)
        if check is not None:
            yield cell.id, check
        elif all(cell.id != known.cell for known in lab.checks):
            yield cell.id, cell.source
    yield from ((check.cell, check) for check in by_cell.values())


def judge_answer(session: Session, check: CheckCell, seed: int, pages: bool = False) -> Outcome:
    """Check one answer of a notebook. Its functions are called through `session`, and its queries run there.

    With `pages` the outcome has the page of a counterexample.
    """
    if not session.has(check.answer):
        return Outcome(solved=False, part=0.0, reason=f"there is no variable {check.answer}")
    try:
        answer = session.value(check.answer)
    except UnreadableError as error:
        return Outcome(solved=False, part=0.0, reason=f"the answer cannot be read: {error}")
    except Exception as error:
        return Outcome(solved=False, part=0.0, reason=f"the answer cannot be read: {_format_error(error)}")
    asks = checks.find(check.exercise).question is not None and not callable(answer)
    with performed_by(session), _use_seed(session.learner.place.seed if asks else seed):
        return outcome(check.exercise, answer, pages)


def outcome(exercise: str, answer: object, pages: bool = False) -> Outcome:
    """Check the answer; return whether it is right, how much of it is, and the check's own words."""
    try:
        with limit_time(CHECK_S):
            said = checks.check(exercise, answer)
    except OutOfTimeError:
        return Outcome(solved=False, part=0.0, reason=f"{exercise}: the check did not end within {CHECK_S} s")
    except (Exception, SystemExit) as error:
        return _wrong(error, pages)
    return Outcome(solved=True, part=1.0, reason=text_of(str(said), REASON_MAX))


def _wrong(error: BaseException, pages: bool) -> Outcome:
    reason = _format_error(error)
    for line in (checks.OPEN_IT, checks.OPEN_TABLE):  # a notebook can do that, and a report cannot
        reason = reason.removesuffix(f"\n{line}")
    if not isinstance(error, WrongAnswer):
        return Outcome(solved=False, part=0.0, reason=reason)
    shown = ""
    if pages and error.run is not None:
        with contextlib.suppress(Exception), limit_time(CHECK_S):  # the outcome stands without its page
            shown = counterexamples.write_page(error.run, error.step, reason)
    part = error.part if isinstance(error.part, float) else 0.0
    return Outcome(solved=False, part=part, reason=reason, miss=text_of(error.miss, MISS_MAX), page=shown)


def _format_error(error: BaseException) -> str:
    """Return the check's own words, or an error's type and text."""
    text = text_of(str(error), REASON_MAX)
    told = isinstance(error, (WrongAnswer, WrongType, WrongValue, UnreadableError))
    return text if told else f"{type(error).__name__}: {text}".rstrip(": ")


@contextmanager
def _use_seed(seed: int) -> Iterator[None]:
    before = os.environ.get(seeds.VARIABLE)
    os.environ[seeds.VARIABLE] = str(seed)
    try:
        yield
    finally:
        if before is None:
            del os.environ[seeds.VARIABLE]
        else:
            os.environ[seeds.VARIABLE] = before


def kept_from_students() -> tuple[Path, ...]:
    """Return the folders of this installation that no graded notebook may read."""
    solutions = course_root() / SOLUTIONS
    return (solutions,) if solutions.is_dir() else ()
