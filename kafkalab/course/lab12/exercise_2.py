"""L12.E2: the one torn transaction of a long history, found by a function that is run on histories not seen before."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from kafkalab.grading.exercise import Exercise, WrongAnswer, WrongType, describe
from kafkalab.grading.remote_query import perform
from kafkalab.grading.seeds import seed

if TYPE_CHECKING:
    from kafkalab.spark.synthetic.shape import Shape

FORM = "a function torn(log) that returns a DataFrame with the columns producer_id and producer_epoch"
COLUMNS = ("producer_id", "producer_epoch")
SIZE, MARKERS = 20_000, 4
OTHER = 2000


def check(answer: object) -> str:
    """The function finds the torn transaction of two histories, and nothing else; WrongAnswer says what it found."""
    from kafkalab.course.lab12.nights import folder_of, one_torn, torn_in
    from kafkalab.course.lab12.spark_exercise import compare_rows, most_of, rows_of
    from kafkalab.course.lab12.tasks import FUNCTION

    if not callable(answer):
        raise WrongType(f"Give {FORM}, not {describe(answer)}.")
    seeds = (seed(), seed() + OTHER)
    for number, one in enumerate(seeds):
        shape = one_torn(one, SIZE)
        truth = torn_in(shape)
        given = perform(FUNCTION, answer, folder_of(shape, ("log",)), COLUMNS, most_of(truth))
        blank = f"The function is still blank: it returns nothing. Give {FORM}."
        difference = compare_rows(rows_of(given, "torn(log) fails", blank), truth, COLUMNS)
        if difference:
            told = f"In a history of {SIZE:,} records, made anew: {difference}."
            title = "The rows that differ, and the markers of each in the order of their offsets"
            table = difference.table(title, partial(markers, shape), ("markers",))
            raise WrongAnswer(told, run=table, miss=_miss(difference), part=number / len(seeds))
    return f"1 transaction in each of {len(seeds)} histories"


def markers(shape: Shape, row: tuple[int, int]) -> tuple[str]:
    """Return the markers with this producer id and epoch, as "COMMIT in out-0 at 12"."""
    from kafkalab.course.lab12.nights import table

    rows = (r for r in table(shape, "log").to_pylist() if r["control"])
    found = [f"{r['control']} in {r['key']} at {r['offset']}" for r in rows if same(row, r)]
    return (", ".join(found[:MARKERS]) + (" …" if len(found) > MARKERS else "") or "none",)


def same(row: tuple[int, int], entry: dict[str, object]) -> bool:
    """Return whether an entry of the log has this producer id and epoch."""
    return row == (entry["producer_id"], entry["producer_epoch"])


def _miss(difference: Any) -> str:
    if difference.problem:
        return ""
    if len(difference.extra) > 1:
        return "every transaction of a producer"
    return "nothing" if difference.missing and not difference.extra else ""


EXERCISE = Exercise(
    "L12.E2",
    check,
    (
        "A transaction is torn if it took effect on one partition and not on another. What is written into every "
        "partition of a transaction when it ends?",
        "Only the markers matter: rows whose control is not empty. Group them by the columns that name a transaction "
        "here, and count the different words that each group has.",
        "In version 2 a producer id and an epoch name one transaction. Keep the groups that have both COMMIT and "
        "ABORT, and of those the two columns.",
    ),
    points=10,
    misses={
        "every transaction of a producer": "A producer commits some transactions and aborts others: that is not torn. "
        "What names one transaction, besides the producer id?",
        "nothing": 1,
    },
    afterwards=(
        "Why: under version 2 a producer id and an epoch name one transaction, so two different words in one "
        "group are a tear. Under version 1 several transactions share an epoch, and this query would be wrong. "
        "Next: what Spark itself promises."
    ),
)
