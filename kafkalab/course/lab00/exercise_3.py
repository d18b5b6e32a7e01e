"""L0.E3: the run in which an answer is lost and the order is sent again, in disorder, to be put in order."""

from __future__ import annotations

from functools import cache

from kafkalab.course.lab00.exercise_1 import second_copy
from kafkalab.course.lab00.scenario import lab00
from kafkalab.faults.frame import Drop
from kafkalab.grading.exercise import Exercise
from kafkalab.grading.forms import Order
from kafkalab.grading.run_order import RunOrder
from kafkalab.programs.orders import PARTITION
from kafkalab.sim.cluster import Cluster, ran

LOST = "ProduceResponse#1"
SENDS, APPENDS, LOSES = "the shop sends soup", "b2 appends soup", "the answer is lost"
READS, GIVES_UP = "the kitchen gets one soup", "the shop gives up waiting"
AGAIN, SECOND, HEARS = "the shop sends soup again", "b2 appends soup again", "the shop gets an answer"


@cache
def run(of_seed: int) -> Cluster:
    """Return the run of lab 0 in which the answer to the first Produce is lost."""
    return ran(lab00(of_seed).with_faults(Drop(LOST)))


def _find_received(cluster: Cluster, name: str, node: str) -> int:
    """Return the step at which the node first receives a frame of this name."""
    return next(e.step for e in cluster.trace.of("receive", name) if e.node == node)


def _look(one: str, other: str) -> str:
    if READS in (one, other):
        return "At which time does the kitchen read? For how long does the shop wait?"
    return "Which of the two can only happen because of the other?"


def _miss(one: str, other: str) -> str:
    if other == READS:
        return "the kitchen waits for the shop"
    if {one, other} == {APPENDS, LOSES}:
        return "answered before it is written"
    return "sent again at once" if other == GIVES_UP else ""


ORDER = RunOrder(
    exercise="L0.E3",
    form=f'the list of what happens, first things first, like ["{SENDS}", ...]',
    steps={
        SENDS: lambda cluster: cluster.trace.frames["Produce#1"].sent_step,
        APPENDS: lambda cluster: next(e.step for e in cluster.trace.of("append", PARTITION)),
        LOSES: lambda cluster: next(e.step for e in cluster.trace.of("fault", "Drop")),
        READS: lambda cluster: _find_received(cluster, "FetchResponse", "kitchen"),
        GIVES_UP: lambda cluster: next(e.step for e in cluster.trace.of("timer", "request timeout")),
        AGAIN: lambda cluster: cluster.trace.frames["Produce#2"].sent_step,
        SECOND: second_copy,
        HEARS: lambda cluster: _find_received(cluster, "ProduceResponse", "shop"),
    },
    run=run,
    look=_look,
    miss=_miss,
)


EXERCISE = Exercise(
    "L0.E3",
    Order(ORDER.check, ORDER.shuffle),
    (
        "Begin with the first Produce: what does b2 do with it, and in which order?",
        "The kitchen reads after a tenth of a second. The shop waits 30 seconds for its answer before it does "
        "anything.",
        "After the time-out everything happens once more: the shop sends, b2 appends, b2 answers. This time the answer "
        "arrives.",
    ),
    points=8,
    misses={
        "the kitchen waits for the shop": 1,
        "answered before it is written": "With acks=1 the leader answers at once, but first it writes. What would its "
        "answer say otherwise?",
        "sent again at once": "The shop cannot see that a frame is lost. What tells it that something went wrong?",
    },
    question=ORDER.shuffle,
    afterwards=(
        "Why: the kitchen cooked one soup long before the second one was written, and no frame of the run says that "
        "the second soup is the first one again. Next: lab 1 adds the numbers by which the leader recognises it."
    ),
)
