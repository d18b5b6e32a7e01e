"""L0.E1: presses after which the kitchen is given one order twice; the presses are replayed."""

from __future__ import annotations

from kafkalab.course.lab00.scenario import lab00
from kafkalab.faults.frame import Drop
from kafkalab.faults.node import Pause
from kafkalab.grading.exercise import Exercise
from kafkalab.grading.presses import Goal, Miss, judge_presses
from kafkalab.grading.seeds import seed
from kafkalab.programs.orders import PARTITION
from kafkalab.sim.cluster import Cluster

ORDER = "soup"


def copies(cluster: Cluster) -> int:
    """Return how often the order is in the log."""
    return [r.value for b in cluster.log_of(PARTITION).batches for r in b.records].count(ORDER)


def count_orders(cluster: Cluster) -> int:
    """Return how often the kitchen was given the order."""
    result = cluster.results.get("kitchen")
    return result.count(ORDER) if isinstance(result, list) else 0


def second_copy(cluster: Cluster) -> int:
    """The step at which the leader has the order for the second time."""
    first, *later = cluster.trace.of("append", PARTITION)
    return next(
        e.step
        for e in later
        if (e.node, e.data.base_offset) != (first.node, first.data.base_offset)
        and e.data.base_offset > first.data.base_offset
    )


GOAL = Goal(
    says="second soup for the kitchen",
    reached=lambda cluster: count_orders(cluster) > 1,
    example=(Drop("Fetch#1"), Pause("shop", at_ms=50)),
    misses=(
        Miss(
            "read too early",
            "The log does hold soup twice. But when did the kitchen read, and when was the second soup written?",
            lambda cluster: copies(cluster) > 1,
            hint=1,
            step=second_copy,
        ),
        Miss(
            "lost before it was written",
            "The order was lost before a broker had written it. Which frame must be lost so that the order is written, "
            "and the shop does not know it?",
            lambda cluster: any(f.fate == "dropped" and f.name == "Produce" for f in cluster.trace.frames.values()),
        ),
        Miss("one copy", "The log holds soup only once. Begin there.", lambda cluster: True),
    ),
)


ALLOWED = ("Drop", "Delay", "Pause", "Resume")

EXERCISE = Exercise(
    "L0.E1",
    lambda answer: judge_presses(answer, lab00(seed()), GOAL, most=4, par=2, allowed=ALLOWED),
    (
        "Two things are needed: soup must be in the log twice, and the kitchen must read only after that. The first "
        "takes one press.",
        "The shop sends an order without an answer again after 30 seconds. The kitchen reads after a tenth of a "
        "second. Which of the two has to wait?",
        "Lose the answer to the first Produce, and stop the kitchen. Pause and Resume take the time at which they "
        "strike, such as at_ms=50.",
    ),
    points=3,
    misses=GOAL.hints,
    afterwards=(
        "Why: the leader appended both copies, because nothing in the second one said that it was the same order. "
        "No program made a mistake. Next: how can you see that a frame is a retry?"
    ),
)
