"""What a learner is told of a wrong answer."""

from __future__ import annotations

from functools import cache
from inspect import iscoroutinefunction
from typing import Any

import pytest

from kafkalab.grading.check import check, counterexample, find
from kafkalab.grading.exercise import WrongAnswer
from kafkalab.grading.forms import Form, Told
from kafkalab.sim.scenario import Scenario


def as_learner(function: Any) -> Any:
    """The function as a learner would have written it, in a notebook: its name, and nothing of kafkalab in it."""

    def own(*given: Any) -> Any:
        return function(*given)

    own.__name__ = getattr(function, "__name__", "own")
    return own


def catch_wrong_answer(exercise_id: str, answer: Any) -> WrongAnswer:
    """The error that `check` raises; the test fails if the answer passes. A function counts as the learner's own."""
    with pytest.raises(WrongAnswer) as caught:
        check(exercise_id, as_learner(answer) if callable(answer) and not iscoroutinefunction(answer) else answer)
    return caught.value


def table_of(exercise_id: str) -> Form:
    """The table of an exercise."""
    form = find(exercise_id).check
    assert isinstance(form, Form)
    return form


def tell(exercise_id: str, name: Any, word: str) -> Told:
    """What the exercise's table says to one word of one row."""
    return table_of(exercise_id).tell(name, word)


@cache
def words_of(exercise_id: str) -> dict[tuple[Any, str], Told]:
    """What the exercise's table says to each word of each row."""
    form = table_of(exercise_id)
    return {(blank.name, word): form.tell(blank.name, word) for blank in form.blanks() for word in blank.words}


def hold(exercise_id: str, belief: str) -> WrongAnswer:
    """The error for a learner who holds one belief wherever the table can show it, and is right elsewhere."""
    words = words_of(exercise_id)
    right = {name: word for (name, word), told in words.items() if not told.wrong}
    held = {name: word for (name, word), told in words.items() if told.belief == belief}
    with pytest.raises(WrongAnswer) as caught:
        table_of(exercise_id).check({**right, **held})
    return caught.value


def open_counterexample() -> Scenario:
    """The run that `counterexample()` opens."""
    run = counterexample()
    assert isinstance(run, Scenario)
    return run
