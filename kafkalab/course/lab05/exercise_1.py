"""L5.E1: how far a read_committed consumer may read; the learner's function beside the broker's, and mutants of it."""

from __future__ import annotations

from functools import cache
from typing import Any

from kafkalab.course.lab05.logs import ABORT, RECORD, Row, rows, stable_offset
from kafkalab.grading.exercise import Exercise
from kafkalab.grading.mutants import Case, Mutant, against_mutants
from kafkalab.grading.seeds import random_for, seed

FORM = "a function last_stable_offset(log, high_watermark) that returns an offset"
LOGS = 47


def stable(
    log: list[Row],
    high_watermark: int,
    *,
    youngest: bool = False,
    last_record: bool = False,
    any_marker: bool = False,
    at_once: bool = False,
    commit_only: bool = False,
    bounded: bool = True,
) -> int:
    """The last stable offset with some of its rules switched; with none it is the reference, which a test says."""
    first: dict[int, int] = {}
    waiting: list[int] = []
    for row in log:
        producer = row["producer"]
        if producer is None:
            continue
        if row["kind"] == RECORD:
            if last_record or producer not in first:
                first[producer] = row["offset"]
            continue
        if commit_only and row["kind"] == ABORT:
            continue
        ended = list(first) if any_marker else [producer] if producer in first else []
        for one in ended:
            begun = first.pop(one)
            if not at_once and row["offset"] >= high_watermark:
                waiting.append(begun)
    unstable = [*first.values(), *waiting]
    end = high_watermark if bounded else len(log)
    return min(end, max(unstable) if youngest else min(unstable)) if unstable else end


def _mutant(name: str, says: str, **switched: Any) -> Mutant:
    return Mutant(name=name, says=says, function=lambda log, high_watermark: stable(log, high_watermark, **switched))


MUTANTS = (
    Mutant(
        name="nobody waits",
        says="readers did not wait for open transactions",
        function=lambda log, high_watermark: high_watermark,
    ),
    _mutant("the youngest", "the youngest open transaction held the readers up; it is the oldest", youngest=True),
    _mutant("its last record", "a transaction began with its last record", last_record=True),
    _mutant("any marker", "one marker ended every transaction; it ends that of its producer", any_marker=True),
    _mutant("a marker at once", "a marker counted before every replica had it", at_once=True),
    _mutant("commits only", "an ABORT marker ended nothing", commit_only=True),
    _mutant("no high watermark", "readers were shown what the replicas have not got yet", bounded=False),
)


@cache
def cases(of_seed: int) -> tuple[Case, ...]:
    """Logs and high watermarks; often the high watermark is right before a marker."""
    random = random_for("L5.E1", of_seed)
    found: list[Case] = []
    for number in range(LOGS):
        log = rows(random, random.randint(3, 11), all_end=number % 2 == 0)
        markers = [row["offset"] for row in log if row["kind"] != RECORD]
        places = [len(log), len(log) - 1, random.randint(1, len(log)), *markers[-1:]]
        found.append((log, random.choice(places)))
    found.append(([{"offset": n, "producer": None, "kind": RECORD, "value": f"v{n}"} for n in range(4)], 3))
    return tuple(found)


def check(answer: Any) -> str:
    """How many logs are right, if all are; WrongAnswer shows one that is not, and the misconception that fits."""
    return against_mutants(answer, stable_offset, MUTANTS, cases(seed()), FORM)


EXERCISE = Exercise(
    "L5.E1",
    check,
    (
        "Go through the log once and keep a dict: for each producer with an open transaction the offset of its first "
        "record.",
        "A marker closes the transaction of its own producer, COMMIT and ABORT alike. Then the answer is the smallest "
        "first offset that is left, or the high watermark if that is smaller, or if nothing is open.",
        "A marker counts only if its offset is lower than the high watermark. Where it is not, its transaction holds "
        "readers up just like an open one.",
    ),
    points=7,
    questions=(6, 7),
    misses={
        "nobody waits": 0,
        "the youngest": 1,
        "its last record": 0,
        "any marker": 1,
        "a marker at once": 2,
        "commits only": 1,
        "no high watermark": 1,
    },
    question=lambda of_seed: cases(of_seed)[:2],
)
