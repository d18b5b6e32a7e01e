"""L5.E1: how far a read_committed consumer may read; the learner's function beside the broker's, and mutants of it."""

from __future__ import annotations

from functools import cache, partial

from kafkalab.course.lab05.logs import ABORT, RECORD, Row, rows, stable_offset
from kafkalab.course.lab05.picture import show_log
from kafkalab.grading.exercise import Exercise
from kafkalab.grading.mutants import Case, Mutant, against_mutants, hints_of
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


MUTANTS = (
    Mutant(
        "nobody waits", "readers did not wait for open transactions", lambda log, high_watermark: high_watermark, hint=0
    ),
    Mutant(
        "the youngest", "the youngest open transaction held the readers up; it is the oldest",
        partial(stable, youngest=True), hint=1,
    ),
    Mutant("its last record", "a transaction began with its last record", partial(stable, last_record=True), hint=0),
    Mutant(
        "any marker", "one marker ended every transaction; it ends that of its producer",
        partial(stable, any_marker=True), hint=1,
    ),
    Mutant(
        "a marker at once", "a marker counted before every replica had it", partial(stable, at_once=True),
        hint="A marker that not every in-sync replica has may still be lost. Which rows are below the high watermark?",
    ),
    Mutant("commits only", "an ABORT marker ended nothing", partial(stable, commit_only=True), hint=1),
    Mutant(
        "no high watermark", "readers were shown records that the replicas do not have yet",
        partial(stable, bounded=False), hint=1,
    ),
)  # fmt: skip


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


EXERCISE = Exercise(
    "L5.E1",
    lambda answer: against_mutants(answer, stable_offset, MUTANTS, cases(seed()), FORM, show_log),
    (
        "Go through the log once and keep a dict: for each producer with an open transaction the offset of its first "
        "record.",
        "A marker closes the transaction of its own producer, COMMIT and ABORT alike. Then the answer is the smallest "
        "first offset that is left, or the high watermark if that is smaller, or if nothing is open.",
        "A marker counts only if its offset is lower than the high watermark. If it is not, its transaction is still "
        "open.",
    ),
    points=7,
    misses=hints_of(MUTANTS),
    questions=(6, 7),
    question=lambda of_seed: cases(of_seed)[:2],
    afterwards=(
        "Why: a position is a single number and cannot skip an open transaction, so the oldest one holds up every "
        "reader. Next: what does the consumer do with the rows that it is sent?"
    ),
)
