"""The seed of an exercise: the learner's, or the grader's, under which typed-in results are wrong."""

from __future__ import annotations

import os
from random import Random

from kafkalab.grading.exercise import WrongValue

LEARNER_SEED = 1
VARIABLE = "KAFKALAB_GRADER_SEED"
"""Set in the environment of a grader's process; `kafkalab grade` does it."""


def seed() -> int:
    """Return the seed in force: KAFKALAB_GRADER_SEED if it is set, else the learner's. WrongValue for no number."""
    given = os.environ.get(VARIABLE, "").strip()
    if not given:
        return LEARNER_SEED
    try:
        return int(given)
    except ValueError:
        raise WrongValue(f"{VARIABLE} is a whole number, not {given!r}") from None


def random_for(exercise_id: str, of_seed: int | None = None) -> Random:
    """Return random numbers that depend on the exercise and the seed only, on every machine."""
    return Random(f"{exercise_id}/{seed() if of_seed is None else of_seed}")
