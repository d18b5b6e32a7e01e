"""L6.E2: a zombie's charge is committed, once leaders do not compare epochs; the presses are replayed."""

from __future__ import annotations

from dataclasses import replace

from kafkalab.client.exceptions import KafkaError
from kafkalab.course.lab06.scenario import lab06
from kafkalab.faults.node import Pause, Resume
from kafkalab.grading.exercise import Exercise
from kafkalab.grading.presses import Goal, Miss, judge_presses, presses_of, run_with
from kafkalab.grading.seeds import seed
from kafkalab.programs.billing import CHARGES
from kafkalab.protocol.rules import PRODUCE_EPOCH
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.scenario import Scenario

WORK_MS, LINGER_MS = 600, 500
"""A record waits so long in the producer before it is sent; the coordinator has been asked by then."""


def scenario(of_seed: int = 1, epochs: bool = False) -> Scenario:
    """Both instances, Kafka 1.0, nothing pressed yet; leaders do not compare epochs unless `epochs`."""
    base = lab06(seed=of_seed, profile="1.0", work_ms=WORK_MS, linger_ms=LINGER_MS)
    off = () if epochs else (PRODUCE_EPOCH.name,)
    return replace(base, title="Leaders that do not look at the epoch", rules_off=off, faults=())


def with_epochs(answer: object) -> Cluster:
    """The run of the learner's presses with leaders that do compare epochs."""
    base = scenario(epochs=True)
    return run_with(base, presses_of(answer, scenario()))


def twice(cluster: Cluster) -> bool:
    """Return True if a charge is committed twice."""
    charges = cluster.outcome().committed[f"{CHARGES}-0"]
    return len(set(charges)) < len(charges)


def _has_produced(cluster: Cluster, after_ms: int) -> bool:
    sent = (f for f in cluster.trace.frames.values() if f.name == "Produce" and f.sender == "till-1")
    return any(f.sent_ms >= after_ms for f in sent)


GOAL = Goal(
    says="order that was charged twice",
    reached=twice,
    example=(Pause("till-2", at_ms=6_000), Resume("till-2", at_ms=6_500)),
    misses=(
        Miss(
            "nobody slept",
            "till-1 did all of its work before till-2 began. Stop it in the middle.",
            lambda c: "till-1" in c.results and not isinstance(c.results["till-1"], KafkaError),
        ),
        Miss(
            "asked the coordinator first",
            "When till-1 woke up, it asked the coordinator before it wrote, and the coordinator does compare "
            "epochs. Let it fall asleep when only the Produce is left to do.",
            lambda c: "till-1" in c.results and not _has_produced(c, 5_000),
            hint=1,
        ),
        Miss(
            "too late",
            "The zombie's record got into the log, but nothing committed it. Whose marker could do that, and when?",
            lambda c: _has_produced(c, 5_000),
            hint="The record waits for a marker with its producer id. Such a marker comes at the end of each charge of "
            "till-2: wake till-1 up while till-2 works on one.",
        ),
    ),
)


ALLOWED = ("Pause", "Resume", "Crash")

EXERCISE = Exercise(
    "L6.E2",
    lambda answer: judge_presses(answer, scenario(seed()), GOAL, most=2, par=2, allowed=ALLOWED),
    (
        "till-1 must fall asleep in the middle of a transaction, and wake up in the middle of one of till-2's.",
        "Before a Produce comes AddPartitionsToTxn, which the coordinator answers: after that answer only the leader "
        "can refuse the record. Look in the picture for the moment between that answer and the Produce. A marker ends "
        "everything that its producer *id* has open on the partition.",
        "Pause till-1 a little before its Produce#1 leaves, and resume it while till-2 works on its "
        "first charge: some hundred milliseconds after 5 seconds.",
    ),
    points=4,
    misses=GOAL.hints,
    questions=(14,),
    afterwards=(
        "Why: to a leader that does not compare epochs both instances are one producer id, and a marker ends "
        "whatever that id has open. The cell below runs your presses with the check on. Next: exercise 3 repairs "
        "a service that meets these errors."
    ),
)
