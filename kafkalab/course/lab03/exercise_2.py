"""L3.E2: a commit whose coordinator crashes right after the decision, in disorder, to be put in order."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from kafkalab.course.lab03.scenario import lab03
from kafkalab.faults.node import Crash
from kafkalab.grading.exercise import Exercise
from kafkalab.grading.forms import Order
from kafkalab.grading.run_order import RunOrder
from kafkalab.programs.transfers import TRANSACTIONAL_ID
from kafkalab.protocol.partitions import TRANSACTION_TOPIC, partition_for
from kafkalab.sim.cluster import Cluster, ran
from kafkalab.trace import Event

COORDINATOR = "b3"
LOG = f"{TRANSACTION_TOPIC}-{partition_for(TRANSACTIONAL_ID)}"
ASKS, DECIDED, CRASHES = "the service sends EndTxn", "every replica has PrepareCommit", "b3 crashes"
LEADS, LOADS = "b1 becomes the leader of the log", "b1 has read the log"
MARKERS, COMPLETE, HEARS = "b1 sends the markers", "b1 writes CompleteCommit", "the service gets the answer"


@cache
def run(of_seed: int) -> Cluster:
    """Return the run in which the coordinator crashes between its decision and its answer."""
    whole = ran(lab03(seed=of_seed))
    step = whole.trace.frames["EndTxnResponse#1"].sent_step - 1
    return ran(lab03(seed=of_seed).with_faults(Crash(COORDINATOR, at_step=step)))


def _first(found: Callable[[Event], bool]) -> Callable[[Cluster], int]:
    """Return a function from a run to the first step with such an event."""
    return lambda cluster: next(event.step for event in cluster.trace.events if found(event))


def _appends(event: Event, state: str) -> bool:
    """Return True if a broker appends an entry with this state to the coordinator's log."""
    written = (event.kind, event.name) == ("append", LOG)
    return written and any(record.value.state.label == state for record in event.data.records)


def _find_decision(cluster: Cluster) -> int:
    """Return the step at which the last replica has PrepareCommit."""
    return max(event.step for event in cluster.trace.events if _appends(event, "PrepareCommit"))


def _look(one: str, other: str) -> str:
    if HEARS in (one, other):
        return "Which broker can still answer, and what is left to do for it before it does?"
    return "Which of the two could not happen without the other?"


def _miss(one: str, other: str) -> str:
    if one == HEARS and other in (MARKERS, COMPLETE):
        return "answered as ever"
    if other == LOADS:
        return "it knows without reading"
    return "the next coordinator decides" if other == DECIDED else ""


ORDER = RunOrder(
    exercise="L3.E2",
    form=f'the list of what happens, first things first, like ["{ASKS}", ...]',
    steps={
        ASKS: lambda cluster: cluster.trace.frames["EndTxn#1"].sent_step,
        DECIDED: _find_decision,
        CRASHES: _first(lambda event: event.kind == "crash"),
        LEADS: _first(lambda event: event.name == "leader" and event.data["partition"] == LOG),
        LOADS: _first(lambda event: event.name == "coordinator loaded" and event.data["partition"] == LOG),
        MARKERS: lambda cluster: cluster.trace.frames["WriteTxnMarkers#1"].sent_step,
        COMPLETE: _first(lambda event: _appends(event, "CompleteCommit")),
        HEARS: _first(lambda event: (event.kind, event.name) == ("receive", "EndTxnResponse")),
    },
    run=run,
    look=_look,
    miss=_miss,
)


EXERCISE = Exercise(
    "L3.E2",
    Order(ORDER.check, ORDER.shuffle),
    (
        "Three parts: the decision, the change of the coordinator, and what the new coordinator finishes. Which of "
        "the eight belong to which part?",
        "A new leader knows only what is in its log. It reads the log first, and finds a decision that still "
        "has no markers.",
        "b1 finishes the commit without being asked. Only then does it answer the service, which sends EndTxn again "
        "and again.",
    ),
    points=8,
    questions=(24,),
    misses={
        "answered as ever": "Without a crash the answer leaves before the markers. Here b3 is dead before it answers. "
        "In which state does b1 answer a client that asks again?",
        "it knows without reading": 1,
        "the next coordinator decides": "b1 does not decide anything. What must be in its copy of the log when b3 "
        "crashes?",
    },
    question=ORDER.shuffle,
    afterwards=(
        "Why: the decision is in every replica before the crash, so the next leader finds it, sends the markers "
        "without being asked, and answers last. Next: the rule behind every crash."
    ),
)
