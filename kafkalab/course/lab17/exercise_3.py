"""L17.E3: a connector's task is replaced, under the same name or a random one. Eight runs decide."""

from __future__ import annotations

from functools import cache, partial
from itertools import product

from kafkalab.course.lab17.scenario import (
    CHECKPOINT,
    CRASHES,
    LOST,
    MOMENTS,
    ONCE,
    SENT,
    SLEEPS,
    STOPS,
    TWICE,
    WORDS,
    fate,
    restarted_task,
)
from kafkalab.grading.exercise import Belief, Exercise
from kafkalab.grading.predictions import Fact, rows
from kafkalab.sim.cluster import Cluster, ran

FORM = 'a dict with a word for each row, like {1: "once", 2: "lost", ...}; the words are once, lost and twice'
NAMES = {True: "the same name", False: "a random name of its own"}
AFTER = {SENT: "after the receipt was sent, before the position is stored", CHECKPOINT: "after the position is stored"}
DOES = {CRASHES: "crashes", SLEEPS: "falls asleep, wakes up 40 s later,"}
MISSES = {
    (True, CRASHES, SENT): {LOST: "an abort loses", TWICE: "a task doubles"},
    (True, CRASHES, CHECKPOINT): {ONCE: "the name saves the record", TWICE: "a task doubles"},
    (True, SLEEPS, SENT): {TWICE: "the old task still writes", LOST: "an abort loses"},
    (True, SLEEPS, CHECKPOINT): {ONCE: "the name saves the record", TWICE: "the old task still writes"},
    (False, CRASHES, SENT): {TWICE: "a task doubles", LOST: "an abort loses"},
    (False, CRASHES, CHECKPOINT): {ONCE: "the timeout commits", TWICE: "a task doubles"},
    (False, SLEEPS, SENT): {ONCE: "a restart fences", LOST: "a restart fences"},
    (False, SLEEPS, CHECKPOINT): {ONCE: "a restart fences", LOST: "a restart fences"},
}
"""The belief that leads to a wrong word, by name, stop and moment."""
BELIEFS = {
    "an abort loses": Belief(
        says="what is aborted is lost",
        hint="The position is not stored yet. Which payment does the next task read first?",
    ),
    "a task doubles": Belief(
        says="each restart doubles a record",
        hint="The crashed task is gone. Who would commit its receipt?",
    ),
    "the name saves the record": Belief(
        says="with the same name nothing is lost",
        hint="The new task calls init_transactions() under this name. What becomes of the receipt, and where does the "
        "task read on?",
    ),
    "the old task still writes": Belief(
        says="a task that wakes up can commit",
        hint="Another producer has claimed its name. What does the coordinator answer to its commit?",
    ),
    "the timeout commits": Belief(
        says="a transaction that times out keeps its records",
        hint="What marker does the coordinator write when the timeout is over?",
    ),
    "a restart fences": Belief(
        says="a new task fences the old one, whatever its name is",
        hint="Which name does the new task claim? The old one wakes up, commits, and goes on with its work.",
    ),
}


def _stop(cluster: Cluster) -> int:
    """Return the step at which the first task stops."""
    return min(event.step for kind in ("crash", "fault") for event in cluster.trace.of(kind) if event.node == "task")


@cache
def facts(of_seed: int) -> tuple[Fact, ...]:
    """Return each case and what its run shows."""
    found = []
    for number, (same, stop, moment) in enumerate(product(NAMES, STOPS, MOMENTS[:2]), 1):
        scenario = partial(restarted_task, same, stop, moment, of_seed)
        found.append(
            Fact(
                name=number,
                says=f"the first task {DOES[stop]} {AFTER[moment]}; the next one has {NAMES[same]}",
                truth=fate(ran(scenario())),
                look="Which position does the next task read, and who ends the transaction?",
                run=scenario,
                misses=MISSES[same, stop, moment],
                step=_stop,
            )
        )
    return tuple(found)


EXERCISE = Exercise(
    "L17.E3",
    rows(facts, WORDS, FORM, beliefs=BELIEFS),
    (
        "Ask three things: which position does the next task read, who ends the transaction that was open, and can the "
        "old task go on when it wakes up?",
        "The same name: init_transactions() aborts what is open and fences the old task. A random name: nobody ends it "
        "until the old task wakes up and commits, or the timeout aborts it; and the old task goes on working.",
        'The same name: "once" before the position is stored, "lost" after it. A random name: after a crash the same '
        'two words; a task that wakes up makes "twice" of both, as it also does the rest of the work again.',
    ),
    points=5,
    misses=BELIEFS,
    afterwards=(
        "Why: a fixed name ends the old task, and still the position outside can be ahead of the transaction. Kafka "
        "Connect's exactly-once support closes both gaps: a fixed name for each task, and the position in the same "
        "transaction. Next: lab 12 counts such losses in millions of records."
    ),
)
