"""L5.E3: presses after which a read_committed reader sees one half of a committed transaction; they are replayed."""

from __future__ import annotations

from kafkalab.course.lab05.scenario import two_accounts
from kafkalab.faults.frame import Delay, Drop
from kafkalab.grading.exercise import Exercise
from kafkalab.grading.presses import Goal, Miss, judge_presses
from kafkalab.grading.seeds import seed
from kafkalab.sim.cluster import Cluster


def list_seen(cluster: Cluster, look: int) -> list[str]:
    """Return what the reader saw at its first look (0) or at its second (1)."""
    result = cluster.results.get("reader")
    return [value for _, value in result[look]] if isinstance(result, list) and len(result) > look else []


def is_reached(cluster: Cluster) -> bool:
    """Return True if the first look shows one half and the second one both."""
    return len(list_seen(cluster, 0)) == 1 and sorted(list_seen(cluster, 1)) == ["+10", "-10"]


GOAL = Goal(
    says="half transaction that is whole later",
    reached=is_reached,
    example=(Drop("Fetch#1"), Delay("EndTxn#1", 100)),
    misses=(
        Miss(
            "nothing yet",
            "At the first look there is nothing at all: the transaction was not decided by then, or the reader could "
            "not look.",
            lambda cluster: not list_seen(cluster, 0),
            hint=1,
        ),
        Miss(
            "never whole",
            "The first look shows one half, but the second look still does not show the other half.",
            lambda cluster: len(list_seen(cluster, 0)) == 1,
            hint="Without its marker a half stays invisible. Let the marker arrive late, but before the second look.",
        ),
        Miss("whole at once", "At the first look both halves are there.", lambda cluster: True),
    ),
)


ALLOWED = ("Drop", "Delay", "Hold", "Duplicate")

EXERCISE = Exercise(
    "L5.E3",
    lambda answer: judge_presses(answer, two_accounts(seed()), GOAL, most=2, par=1, allowed=ALLOWED),
    (
        "Which log entry makes records visible in a partition, and which frame brings it there?",
        "There is one marker for each partition, and each travels in a frame of its own. Neither waits for the other.",
        "Let one of the two WriteTxnMarkers frames come later than the reader's first look, half a second after the "
        "start.",
    ),
    points=1,
    misses=GOAL.hints,
    questions=(7,),
    afterwards=(
        "Why: each partition gets its marker by a frame of its own, so each LSO moves at its own time. The text "
        "below says which promise remains. Next: mixed questions over the first labs."
    ),
)
