"""What a learner is told of a wrong answer."""

from __future__ import annotations

from inspect import iscoroutinefunction
from typing import Any

import pytest

from kafkalab.grading.check import check, counterexample
from kafkalab.grading.exercise import WrongAnswer
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


def open_counterexample() -> Scenario:
    """The run that `counterexample()` opens."""
    run = counterexample()
    assert isinstance(run, Scenario)
    return run
