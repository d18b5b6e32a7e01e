"""`check("L3.E1", answer)` and `hint("L3.E1")`: what a learner calls in a notebook."""

from __future__ import annotations

import difflib
from importlib import import_module
from typing import Any

from kafkalab.grading.exercise import Exercise, Line, WrongAnswer, WrongType, WrongValue

EXERCISES = {
    "L3.E1": "kafkalab.grading.lab03_e1",
    "L3.E2": "kafkalab.grading.lab03_e2",
}
_hints_given: dict[str, int] = {}


def check(exercise_id: str, answer: Any) -> Line:
    """The line "L3.E1 ✓ 10 of 10 rows".

    WrongAnswer, which is an AssertionError, if the answer is not right: its message says where to look. WrongType or
    WrongValue if it has not the form that the exercise asks for. Nothing is changed, not even the answer.
    """
    exercise = find(exercise_id)
    try:
        return Line(f"{exercise.id} ✓ {exercise.check(answer)}")
    except (WrongAnswer, WrongType, WrongValue) as error:
        raise type(error)(f"{exercise.id}: {error}") from None


def hint(exercise_id: str) -> Line:
    """The exercise's next hint, each stronger than the one before; from then on the last."""
    exercise = find(exercise_id)
    given = min(_hints_given.get(exercise.id, 0) + 1, len(exercise.hints))
    _hints_given[exercise.id] = given
    return Line(f"Hint {given} of {len(exercise.hints)}: {exercise.hints[given - 1]}")


def find(exercise_id: str) -> Exercise:
    """The exercise of this name; WrongType or WrongValue, naming those that there are, for anything else."""
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
