"""What a learner is told of a wrong answer."""

from __future__ import annotations

from typing import Any

import pytest

from kafkalab.grading.check import check
from kafkalab.grading.exercise import WrongAnswer


def told(exercise_id: str, answer: Any) -> WrongAnswer:
    """The error that `check` raises; the test fails if the answer passes."""
    with pytest.raises(WrongAnswer) as caught:
        check(exercise_id, answer)
    return caught.value
