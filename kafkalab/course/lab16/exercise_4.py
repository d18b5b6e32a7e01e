"""L16.E4: the aborted records as one SQL text, right under both transaction versions."""

from __future__ import annotations

from collections.abc import Callable

from kafkalab.course.lab16.gap_rules import find_aborted, find_outcomes
from kafkalab.course.lab16.traffic import Record, Traffic
from kafkalab.grading.exercise import BlankAnswer, Exercise, WrongType, describe, is_blank
from kafkalab.grading.mutants import Mutant, hints_of

COLUMNS = ("key", "offset")
FORM = "an SQL query of the table log, as text, with the columns key and offset"


def check(answer: object) -> str:
    """Run the query on a log of each version; WrongAnswer shows the rows that differ."""
    from kafkalab.course.lab16.tasks import ABORTED
    from kafkalab.course.lab16.verdicts import Audit, judge, marker_after

    if is_blank(answer):
        raise BlankAnswer(f"The query is still blank. Give {FORM}.")
    if not isinstance(answer, str):
        raise WrongType(f"Give {FORM}, not {describe(answer)}.")
    audit = Audit(
        task=ABORTED, columns=COLUMNS, find=find_aborted, mutants=MUTANTS,
        beside=("the next marker of its producer", marker_after), fails="The query does not run",
    )  # fmt: skip
    return judge(audit, answer)


def _find_any(made: Traffic, fits: Callable[[Record, Record], bool]) -> list[tuple[str, int]]:
    """Return the records of transactions for which any marker of their key and producer fits."""
    markers = [m for m in made.log if m.control]
    return [
        (r.key, r.offset)
        for r in made.log
        if r.transactional and not r.control
        if any((m.key, m.producer_id) == (r.key, r.producer_id) and fits(r, m) for m in markers)
    ]


def _find_open(made: Traffic) -> list[tuple[str, int]]:
    """Return what no marker has ended yet."""
    ended = set(_find_any(made, lambda record, marker: marker.offset > record.offset))
    return [(r.key, r.offset) for r in made.log if r.transactional and not r.control and (r.key, r.offset) not in ended]


EPOCH = (
    "Under version 1 all transactions of a producer have one epoch, so producer id and epoch name none of them. What "
    "names the end of a transaction in a log under both versions? Its place: the next marker of the producer."
)
MUTANTS = (
    Mutant(
        "next epoch",
        "producer id and epoch named one transaction",
        lambda made: _find_any(made, lambda r, m: m.control == "ABORT" and m.producer_epoch == r.producer_epoch + 1),
        EPOCH,
    ),
    Mutant(
        "same epoch",
        "an epoch were aborted as a whole",
        lambda made: _find_any(made, lambda r, m: m.control == "ABORT" and m.producer_epoch == r.producer_epoch),
        EPOCH,
    ),
    Mutant(
        "any later marker",
        "an abort reached back over the transactions before it",
        lambda made: _find_any(made, lambda r, m: m.control == "ABORT" and m.offset > r.offset),
        "A marker ends only what its producer has open. Not any ABORT after the record counts, but the first marker.",
    ),
    Mutant(
        "anybody's marker",
        "the next marker ended everybody's transactions",
        lambda made: find_outcomes(made, lambda record, marker: True),
        "Transactions of several producers interleave in one log. Whose marker is the next one?",
    ),
    Mutant(
        "open is aborted",
        "a transaction without a marker were aborted",
        lambda made: [*find_aborted(made), *_find_open(made)],
        "The newest transactions have no marker yet: they are open, and may still commit.",
    ),
)
"""Wrong queries."""

EXERCISE = Exercise(
    "L16.E4",
    check,
    (
        "Which row of the log decides whether a record is committed? How do you find it from the record: same key, "
        "same producer, and then?",
        "A window of key and producer_id in descending order of offsets: the rows before a record in this order are "
        "those after it in the log, and the last marker among them is the nearest.",
        "last_value(nullif(control, ''), true) skips nulls. Over ORDER BY offset DESC, from UNBOUNDED PRECEDING to "
        "CURRENT ROW, it is the control of the next marker. Then keep the transactional records where it is ABORT.",
    ),
    points=10,
    misses=hints_of(MUTANTS),
    afterwards=(
        "Why: a marker ends the transaction that its producer has open in that log, and the log's order says which "
        "one. Producer id and epoch name a transaction only since version 2, and old logs hold both. Next: look for "
        "row_number in a plan, and measure it."
    ),
)
