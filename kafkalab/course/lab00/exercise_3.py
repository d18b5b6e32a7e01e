"""L0.E3: one fault each, and how often the order stands in the log in the end; every row is found by running it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

from kafkalab.course.lab00.exercise_1 import copies
from kafkalab.course.lab00.scenario import lab00
from kafkalab.faults.fault import Fault
from kafkalab.faults.frame import Delay, Drop, Duplicate
from kafkalab.faults.node import Crash
from kafkalab.grading.exercise import Exercise
from kafkalab.grading.predictions import Fact, rows
from kafkalab.programs.orders import PARTITION
from kafkalab.sim.cluster import Cluster, ran
from kafkalab.trace import Trace

WORDS = ("never", "once", "twice")
FORM = 'a dict with one of the words "never", "once", "twice" for each row, like {1: "once", 2: ...}'
Strike = Callable[[Trace], Fault]


def _sending(trace: Trace) -> Fault:
    return Crash("shop", at_step=trace.frames["Produce#1"].sent_step)


def _crash_at_append(node: str) -> Strike:
    return lambda trace: Crash(node, at_step=next(e.step for e in trace.of("append", PARTITION)))


ROWS: tuple[tuple[str, Strike, str], ...] = (
    ("Produce#1 is lost", lambda _: Drop("Produce#1"), "Does the shop hear anything? What does it do about that?"),
    ("ProduceResponse#1 is lost", lambda _: Drop("ProduceResponse#1"),
     "To the shop this looks like row 1. Does it to the log?"),
    ("Produce#1 arrives twice", lambda _: Duplicate("Produce#1"),
     "What could tell the leader that the second one is the same?"),
    ("ProduceResponse#1 arrives twice", lambda _: Duplicate("ProduceResponse#1"),
     "Who gets that frame, and what does an answer make anybody write?"),
    ("Produce#1 is 20 seconds late", lambda _: Delay("Produce#1", 20_000),
     "For how long does the shop wait before it gives up?"),
    ("Produce#1 is 31 seconds late", lambda _: Delay("Produce#1", 31_000),
     "For how long does the shop wait? And what of the frame that is still on its way?"),
    ("the shop crashes as it sends Produce#1", _sending, "Is anybody left who could send it again?"),
    ("the shop crashes right after its leader appends", _crash_at_append("shop"),
     "Does an appended record need its sender?"),
    ("the leader crashes right after it appends", _crash_at_append("b2"),
     "Has another broker a copy by then? And does the shop get an answer?"),
)  # fmt: skip


def runs(of_seed: int, number: int) -> Cluster:
    """The row's run, to its end."""
    scenario, (_, strike, _) = lab00(of_seed), ROWS[number - 1]
    return ran(scenario.with_faults(strike(ran(scenario).trace)))


@cache
def facts(of_seed: int) -> tuple[Fact, ...]:
    """The rows with what is true of them, as the logs of their runs have it."""
    misses = {2: {"once": "a retry is recognised"}, 3: {"once": "a retry is recognised"}}
    return tuple(
        Fact(
            name=number,
            says=says,
            truth=WORDS[copies(runs(of_seed, number))],
            look=look,
            run=partial(runs, of_seed, number),
            misses=misses.get(number),
        )
        for number, (says, _, look) in enumerate(ROWS, 1)
    )


EXERCISE = Exercise(
    "L0.E3",
    rows(facts, WORDS, FORM),
    (
        "Ask of each row: is the order in the log by then? And does the shop get an answer, or does it send once more?",
        "The shop waits 30 seconds for an answer, and then sends the same order again. Nothing in this order says that "
        "it is the same.",
        "Twice it stands there whenever the first Produce was appended, sooner or later, and its answer did not come "
        "within 30 seconds. Never, if nobody is left to send what nobody has written.",
    ),
    points=9,
    misses={
        "a retry is recognised": "This shop's batches carry no number by which a leader could recognise them. Look at "
        "the fields of Produce#1. Lab 1 is about those that do.",
    },
    afterwards=(
        "Why: what counts is whether the first Produce was appended, and whether an answer came within 30 "
        "seconds. In rows 7 and 8 nobody is left to ask again, and the customer learns nothing, whether the order "
        "is written or not. Next: lab 1 lets the leader recognise the second copy."
    ),
)
