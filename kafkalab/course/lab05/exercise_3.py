"""L5.E3: presses after which a read_committed reader sees one half of a committed transaction; they are replayed."""

from __future__ import annotations

from typing import Any

from kafkalab.course.lab05.scenario import two_accounts
from kafkalab.grading.exercise import Exercise
from kafkalab.grading.presses import Goal, replayed
from kafkalab.grading.seeds import seed
from kafkalab.sim.cluster import Cluster

ALLOWED = ("Drop", "Delay", "Hold", "Duplicate")
MOST, PAR = 2, 1


def seen(cluster: Cluster, look: int) -> list[str]:
    """What the reader saw at its first look (0) or at its second (1)."""
    result = cluster.results.get("reader")
    return [value for _, value in result[look]] if isinstance(result, list) and len(result) > look else []


def reached(cluster: Cluster) -> bool:
    """Whether the first look shows one half and the second one both."""
    return len(seen(cluster, 0)) == 1 and sorted(seen(cluster, 1)) == ["+10", "-10"]


GOAL = Goal(
    says="half transaction that is whole later",
    reached=reached,
    misses=(
        (
            "nothing yet",
            "At the first look there is nothing at all: the transaction was not decided by then, or the reader could "
            "not look.",
            lambda cluster: not seen(cluster, 0),
        ),
        (
            "never whole",
            "One half is there at the first look, but at the second the other one still is not.",
            lambda cluster: len(seen(cluster, 0)) == 1,
        ),
        ("whole at once", "At the first look both halves are there.", lambda cluster: True),
    ),
)


def check(answer: Any) -> str:
    """ "1 press, par 1" if the reader sees a half, and the whole later; WrongAnswer, with the run, if it does not."""
    return replayed(answer, two_accounts(seed()), GOAL, MOST, PAR, ALLOWED)


EXERCISE = Exercise(
    "L5.E3",
    check,
    (
        "What is it that makes records visible in a partition, and how does it get there?",
        "There is one marker for each partition, and each travels in a frame of its own. Nobody waits for the other.",
        "Let one of the two WriteTxnMarkers frames come later than the reader's first look, half a second after the "
        "start.",
    ),
    points=1,
    questions=(7,),
    misses={"nothing yet": 1, "never whole": 2, "whole at once": 0},
)
