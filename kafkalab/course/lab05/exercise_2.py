"""L5.E2: what a read_committed consumer leaves out; the learner's function beside the consumer's, and mutants of it."""

from __future__ import annotations

from functools import cache, partial

from kafkalab.course.lab05.logs import ABORT, RECORD, Aborted, Row, aborted_of, deliver_values, rows, stable_offset
from kafkalab.course.lab05.picture import shown_whole
from kafkalab.grading.exercise import Exercise
from kafkalab.grading.mutants import Case, Mutant, against_mutants, hints_of
from kafkalab.grading.seeds import random_for, seed

FORM = "a function visible(rows, aborted) that returns a list of values"
LOGS = 48


def filter_values(
    fetched: list[Row],
    aborted: list[Aborted],
    *,
    ends: bool = True,
    from_the_start: bool = False,
    once: bool = False,
    any_marker: bool = False,
    markers: bool = False,
) -> list[str]:
    """The filter with some of its rules switched; with none it is the reference, which a test says."""
    waiting, leaving_out, done = list(aborted), [], set()
    values: list[str] = []
    for row in fetched:
        while waiting and (from_the_start or waiting[0][1] <= row["offset"]):
            producer, _ = waiting.pop(0)
            if producer not in done:
                leaving_out.append(producer)
        if row["kind"] != RECORD:
            if row["kind"] == ABORT and ends and leaving_out and (any_marker or row["producer"] in leaving_out):
                leaving_out.remove(leaving_out[0] if any_marker else row["producer"])
                if once:
                    done.add(row["producer"])
            if markers:
                values.append(row["value"])
        elif row["producer"] not in leaving_out:
            values.append(row["value"])
    return values


MUTANTS = (
    Mutant(
        "no filter", "the broker had left the aborted records out; it has not",
        lambda fetched, aborted: filter_values(fetched, []), hint=0,
    ),
    Mutant(
        "by producer alone", "a producer that has aborted once were never to be read again",
        partial(filter_values, ends=False, from_the_start=True), hint=1,
    ),
    Mutant(
        "it never ends", "an aborted transaction went on after its ABORT marker",
        partial(filter_values, ends=False), hint=1,
    ),
    Mutant(
        "from the start", "an aborted transaction began before its first offset",
        partial(filter_values, from_the_start=True), hint=1,
    ),
    Mutant("only once", "a producer could abort only once", partial(filter_values, once=True), hint=1),
    Mutant(
        "any marker", "any ABORT marker ended the oldest aborted transaction; one may belong to none",
        partial(filter_values, any_marker=True),
        hint="Whose transaction does an ABORT marker end? Look at its producer. Do you leave out the records of that "
        "producer now?",
    ),
    Mutant(
        "markers are records", "markers were records; no application gets them", partial(filter_values, markers=True),
        hint="A marker has an offset and no value for an application. Look at `kind` before you return anything.",
    ),
)  # fmt: skip


@cache
def cases(of_seed: int) -> tuple[Case, ...]:
    """Return what a broker sends of a log up to its last stable offset: the rows, and the aborted transactions."""
    random = random_for("L5.E2", of_seed)
    found: list[Case] = []
    while len(found) < LOGS:
        log = rows(random, random.randint(8, 18))
        upper = stable_offset(log, len(log))
        aborted = aborted_of(log, 0, upper)
        if aborted or len(found) % 8 == 0:
            found.append((log[:upper], aborted))
    return tuple(found)


EXERCISE = Exercise(
    "L5.E2",
    lambda answer: against_mutants(answer, deliver_values, MUTANTS, cases(seed()), FORM, shown_whole),
    (
        "Go through the rows once, and keep a set of the producers whose records you leave out now.",
        "A producer enters the set at the first offset of its aborted transaction, and leaves it at its ABORT marker. "
        "It may enter again later.",
        "Before each row: move every entry of `aborted` whose first offset is not greater than the row's offset into "
        "your set. Then: a marker is never returned; an ABORT marker takes its producer out of the set, if it is in; a "
        "record is returned unless its producer is in the set.",
    ),
    points=7,
    misses=hints_of(MUTANTS),
    questions=(8, 10),
    question=lambda of_seed: cases(of_seed)[1:3],
    afterwards=(
        "Why: the broker sends aborted records. With the list of aborted transactions and the markers a consumer can "
        "leave them out in one pass, without a buffer. Next: exercise 3 shows what this filter does not promise."
    ),
)
