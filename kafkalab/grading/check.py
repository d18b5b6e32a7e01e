"""`check("L3.E1", answer)`, `hint("L3.E1")`, `question("L1.E1")`, `counterexample()`: what a learner calls."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any

from kafkalab.grading import counterexamples, progress
from kafkalab.grading.exercise import (
    EXERCISES,
    BlankAnswer,
    Exercise,
    Line,
    PassLine,
    WrongAnswer,
    WrongType,
    WrongValue,
)
from kafkalab.grading.seeds import seed
from kafkalab.grading.tables import Table
from kafkalab.limits import truncate

if TYPE_CHECKING:
    from kafkalab.sim.cluster import Cluster
    from kafkalab.sim.scenario import Scenario

OPEN_IT = "Open the run that shows it:\n    Sequence(counterexample())"
OPEN_TABLE = "Open the rows that show it:\n    counterexample()"
IT_IS_BELOW = "The run below shows it, at the step that decides."
TABLE_IS_BELOW = "The table below shows it; begin with the row in bold."


@dataclass(slots=True)
class _Session:
    """This kernel's memory: hints given, the last miss of each exercise, the last counterexample."""

    hints_given: dict[str, int] = field(default_factory=dict)
    misses: dict[str, str] = field(default_factory=dict)
    run: Scenario | Cluster | Table | None = None


_session = _Session()


def check(exercise_id: str, answer: object) -> Line:
    """Check the answer; return the line "L3.E1 ✓ 10 of 10 rows", which a notebook shows with what comes next.

    WrongAnswer, which is an AssertionError, if the answer is not right: its message says where to look, and
    `counterexample()` is the run that shows it. WrongType or WrongValue if it has not the form that the exercise asks
    for. Nothing of the answer is changed. In a notebook the run is shown below the message, at the step that decides,
    and the result is kept in the learner's progress, unless the form is still blank.
    """
    exercise = find(exercise_id)
    try:
        line = PassLine(f"{exercise.id} ✓ {exercise.check(answer)}", exercise.afterwards)
    except WrongAnswer as error:
        _session.run = error.run
        _session.misses[exercise.id] = error.miss
        if not isinstance(error, BlankAnswer):
            progress.note(exercise.id, solved=False)
        open_it = ""
        if error.run is not None:
            below = counterexamples.shown_below(error.run, error.step, error.view)
            rows = isinstance(error.run, Table)
            said = (TABLE_IS_BELOW if below else OPEN_TABLE) if rows else IT_IS_BELOW if below else OPEN_IT
            open_it = "" if said == OPEN_IT and "Sequence(" in str(error) else f"\n{said}"
        where = f"{exercise.id}: {error}{open_it}"
        raise WrongAnswer(
            where, run=error.run, step=error.step, view=error.view, miss=error.miss, part=error.part
        ) from None
    except (WrongType, WrongValue) as error:
        raise type(error)(f"{exercise.id}: {error}") from None
    except (ArithmeticError, RecursionError, TypeError, ValueError) as error:
        raise WrongValue(f"{exercise.id}: the answer cannot be checked: {_reason(error)}") from error
    _session.misses.pop(exercise.id, None)
    progress.note(exercise.id, solved=True)
    return line


def _reason(error: Exception) -> str:
    """Say what an answer holds with which Python can do nothing: an endless number, an abyss, an array."""
    if isinstance(error, RecursionError):
        return "something in it is nested too deep"
    if "integer string conversion" in str(error):
        return "a number in it has more than 4,300 digits"
    return truncate(error)


def hint(exercise_id: str) -> Line:
    """Return the exercise's next hint, each stronger than the one before; after the last one, the last again.

    After a wrong answer whose misconception is known, the hint that fits it comes first, and does not count.
    """
    exercise = find(exercise_id)
    if fitting := exercise.hint_for(_session.misses.pop(exercise.id, "")):
        return Line(f"Hint for this answer: {fitting}")
    given = min(_session.hints_given.get(exercise.id, 0) + 1, len(exercise.hints))
    _session.hints_given[exercise.id] = given
    return Line(f"Hint {given} of {len(exercise.hints)}: {exercise.hints[given - 1]}")


def question(exercise_id: str) -> Any:
    """Return the generated inputs that the exercise asks about. They follow from the seed, which a grader changes."""
    exercise = find(exercise_id)
    if exercise.question is None:
        asking = ", ".join(name for name in EXERCISES if find(name).question is not None)
        raise WrongValue(f"{exercise.id} has no generated inputs; those that have are: {asking or 'none yet'}")
    return exercise.question(seed())


def counterexample() -> Scenario | Cluster | Table:
    """Return what showed the last wrong answer; WrongValue for none.

    It is a run, for `Sequence(counterexample())`, or a table of rows.
    """
    if _session.run is None:
        raise WrongValue("there is no counterexample: the last wrong answer came without a run, or none was given yet")
    return _session.run


def find(exercise_id: str) -> Exercise:
    """Return the exercise of this name; WrongType or WrongValue, naming those that there are, for anything else."""
    known = f"the exercises are {', '.join(EXERCISES)}"
    if not isinstance(exercise_id, str):
        raise WrongType(f'an exercise is named by a string like "L3.E1", not {type(exercise_id).__name__}; {known}')
    module = EXERCISES.get(exercise_id)
    if module is None:
        near = difflib.get_close_matches(exercise_id.upper(), EXERCISES, 1)
        raise WrongValue(
            f"there is no exercise {exercise_id!r}{f'; did you mean {near[0]}?' if near else ''} ({known})"
        )
    exercise = import_module(module).EXERCISE
    assert isinstance(exercise, Exercise)
    return exercise
