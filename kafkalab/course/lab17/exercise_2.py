"""L17.E2: a job stopped, and its transaction is open: commit, abort or wait, and what each loses. Nine runs decide."""

from __future__ import annotations

from functools import cache, partial
from itertools import product

from kafkalab.course.lab17.scenario import (
    CHECKPOINT,
    COMMIT,
    COMMITTED,
    ENDINGS,
    LOST,
    MOMENTS,
    ONCE,
    SENT,
    TWICE,
    WAIT,
    WORDS,
    fate,
    stopped_job,
)
from kafkalab.grading.exercise import Belief, Exercise
from kafkalab.grading.predictions import Fact, rows
from kafkalab.sim.cluster import Cluster, ran

FORM = 'a dict with a word for each row, like {1: "once", 2: "lost", ...}; the words are once, lost and twice'
AFTER = {
    SENT: "after the receipt was sent, before the checkpoint",
    CHECKPOINT: "after the checkpoint, before the commit",
    COMMITTED: "after the commit",
}
DOES = {
    COMMIT: "the transaction is committed under its old producer id",
    "abort": "an administrator terminates it",
    WAIT: "nobody does anything, and its timeout ends it",
}
MISSES = {
    (SENT, COMMIT): {ONCE: "commit is always safe", LOST: "commit is always safe"},
    (SENT, "abort"): {LOST: "an abort always loses", TWICE: "sent is done"},
    (SENT, WAIT): {LOST: "an abort always loses", TWICE: "sent is done"},
    (CHECKPOINT, COMMIT): {TWICE: "the job sends it again", LOST: "a stop loses"},
    (CHECKPOINT, "abort"): {ONCE: "the job sends it again", TWICE: "the job sends it again"},
    (CHECKPOINT, WAIT): {ONCE: "waiting is harmless", TWICE: "the job sends it again"},
    (COMMITTED, COMMIT): {TWICE: "a commit repeats", LOST: "a stop loses"},
    (COMMITTED, "abort"): {LOST: "an abort always loses", TWICE: "the job sends it again"},
    (COMMITTED, WAIT): {LOST: "a stop loses", TWICE: "the job sends it again"},
}
"""The belief that leads to a wrong word, by the moment and what ends the transaction."""
BELIEFS = {
    "commit is always safe": Belief(
        says="to commit what a job left open is always right",
        hint="The position is not stored yet. What does the job do with bob's payment after its restart?",
    ),
    "an abort always loses": Belief(
        says="an abort takes away data that nobody sends again",
        hint="Compare the stored position with bob's offset, 1. Does the job read this payment again?",
    ),
    "sent is done": Belief(
        says="a record that was sent counts, even if its transaction is aborted",
        hint="What does a read_committed reader get of an aborted transaction?",
    ),
    "the job sends it again": Belief(
        says="a job that starts again repeats what it did last",
        hint="It goes on from the position in the database. Is bob's payment before it?",
    ),
    "waiting is harmless": Belief(
        says="to wait changes nothing",
        hint="What does the coordinator do after transaction.timeout.ms?",
    ),
    "a stop loses": Belief(
        says="what was in hand when a job stops is gone",
        hint="What is written for good by then: the position, the receipt, or both?",
    ),
    "a commit repeats": Belief(
        says="a second commit writes the records again",
        hint="The transaction is complete. What is left for a second EndTxn to do?",
    ),
}


def _stop(cluster: Cluster) -> int:
    """Return the step at which the job stops."""
    return cluster.trace.of("crash", "job")[0].step


@cache
def facts(of_seed: int) -> tuple[Fact, ...]:
    """Return each moment with each ending, and what its run shows."""
    return tuple(
        Fact(
            name=number,
            says=f"the job stops {AFTER[moment]}; {DOES[ending]}",
            truth=fate(ran(stopped_job(moment, ending, of_seed))),
            look="Which position is stored, and how does the transaction end?",
            run=partial(stopped_job, moment, ending, of_seed),
            misses=MISSES[moment, ending],
            step=_stop,
        )
        for number, (moment, ending) in enumerate(product(MOMENTS, ENDINGS), 1)
    )


EXERCISE = Exercise(
    "L17.E2",
    rows(facts, WORDS, FORM, beliefs=BELIEFS),
    (
        "Two things decide about bob's payment: the stored position (does the job read it again?) and the end of the "
        "open transaction (does its receipt count?).",
        "Before the checkpoint the job reads the payment again, so the old receipt must not count. After it the job "
        "never reads it again, so the old receipt must count.",
        'Sent: commit gives "twice", abort and wait "once". Checkpoint: commit gives "once", abort and wait "lost". '
        "After the commit nothing is open, and all three change nothing.",
    ),
    points=5,
    misses=BELIEFS,
    afterwards=(
        "Why: position and transaction must have the same end. Only the job's checkpoint tells which end that is, so "
        "let the job itself decide, in time. Next: a task whose name changes with each start."
    ),
)
