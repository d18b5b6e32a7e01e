"""L11.E1: where a log ends after one transaction with some records."""

from __future__ import annotations

from functools import cache, partial
from typing import Any

from kafkalab.course.lab11.scenario import lab11
from kafkalab.grading.exercise import Exercise
from kafkalab.grading.predictions import Fact, predicted
from kafkalab.grading.seeds import random_for, seed
from kafkalab.sim.cluster import ran

FORM = "a list of four numbers"


@cache
def numbers(of_seed: int) -> tuple[int, ...]:
    """How many records each of four transactions has."""
    return tuple(random_for("L11.E1", of_seed).sample(range(1, 9), 4))


@cache
def facts(of_seed: int) -> tuple[Fact, ...]:
    """Where the log ends in a run of each; whoever counts the records has forgotten the marker."""
    found = []
    for number, records in enumerate(numbers(of_seed), 1):
        scenario = partial(lab11, seed=of_seed, records=records)
        end = ran(scenario()).log_of("accounts-0").log_end_offset
        says = f"the end offset after {records} records"
        found.append(Fact(name=number, says=says, truth=end, run=scenario, misses={records: "no marker"}))
    return tuple(found)


def check(answer: Any) -> str:
    """ "4 of 4 predictions" if each end is right; WrongAnswer names the first that is not."""
    return predicted(answer, numbers(seed()), facts(seed()), FORM)


EXERCISE = Exercise(
    "L11.E1",
    check,
    (
        "Look at the log behind the last record.",
        "A transaction ends with something that no program has written.",
        "The marker takes one offset.",
    ),
    points=4,
    misses={"no marker": "You have counted the records. What else is in the log?"},
    question=lambda of_seed: list(numbers(of_seed)),
    afterwards="Why: a marker is a batch, and each batch takes offsets. Next: …",
)
