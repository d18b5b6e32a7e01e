"""L16.E2: the newest balance of each account, without a task that reads nearly everything."""

from __future__ import annotations

from functools import partial

from kafkalab.course.lab16.balances import COLUMNS, MUTANTS, RECORDS, Balances, find_newest, folder_of, make_balances
from kafkalab.grading.exercise import Exercise, WrongAnswer, WrongType, WrongValue, describe
from kafkalab.grading.mutants import hints_of
from kafkalab.grading.remote_query import perform
from kafkalab.grading.seeds import seed
from kafkalab.grading.tables import Table

FORM = f"a function newest(updates, owners) that returns a DataFrame with the columns {', '.join(COLUMNS)}"
MOST, SHOWN = 0.4, 2
"""The largest share of the updates that one task, of four, may read; how many updates of an account are shown."""


def check(answer: object) -> str:
    """Run the function; WrongAnswer shows the rows that differ, or how many rows each task has read."""
    from kafkalab.course.lab12.spark_exercise import compare_rows, most_of, rows_of
    from kafkalab.course.lab16.tasks import NEWEST
    from kafkalab.course.lab16.verdicts import find_mutant

    if not callable(answer):
        raise WrongType(f"Give {FORM}, not {describe(answer)}.")
    made = make_balances(seed())
    truth = find_newest(made)
    given = perform(NEWEST, answer, folder_of(seed()), COLUMNS, most_of(truth))
    blank = f"The function is still blank: it returns nothing. Give {FORM}."
    rows = rows_of(given, "newest(updates, owners) fails", blank)
    difference = compare_rows(rows, truth, COLUMNS)
    if difference:
        mutant = None if isinstance(rows, str) else find_mutant(rows, truth, made, MUTANTS)
        says = f" That is as if {mutant.says}." if mutant else ""
        table = difference.table("The rows that differ", partial(list_newest, made), ("its newest updates",))
        raise WrongAnswer(f"{difference}.{says}", run=table, miss=mutant.name if mutant else "")
    return _check_reads(given.get("reads"))


def list_newest(made: Balances, row: tuple[object, ...]) -> tuple[str]:
    """Return the newest updates of the account of a row, the last one first."""
    own = sorted((offset, value) for account, offset, value in made.updates if account == row[0])[: -SHOWN - 1 : -1]
    return (", ".join(f"{'tombstone' if value is None else value} at {offset}" for offset, value in own),)


def _check_reads(reads: object) -> str:
    """WrongAnswer if a task reads too much; another process may have sent the numbers."""
    if not isinstance(reads, list) or not all(type(read) is int for read in reads):
        raise WrongValue("newest(updates, owners): what came back are no numbers of rows")
    if not reads:
        raise WrongAnswer("All rows are right. But no task has read an update.", miss="driver", part=0.5)
    largest = max(reads)
    if largest > MOST * RECORDS:
        rows = tuple((f"task {number}", f"{read:,}") for number, read in enumerate(reads))
        table = Table(title="Rows that each task of the widest stage has read", columns=("", "rows"), rows=rows)
        said = f"All rows are right. But one task has read {largest:,} of {RECORDS:,} rows; at most {MOST:.0%} may be."
        raise WrongAnswer(said, run=table, miss="one task" if len(reads) == 1 else "skew", part=0.5)
    return f"all rows, and no task reads more than {largest:,} of {RECORDS:,}"


EXERCISE = Exercise(
    "L16.E2",
    check,
    (
        "Which operator in your plan needs all rows of an account in one task? An Exchange below a Window moves every "
        "row. An Exchange between two HashAggregates moves one row for each account.",
        "Aggregate in two steps. Spark does so by itself if you ask for one value for each account with groupBy and "
        "an aggregate function: max, count, max_by.",
        "groupBy account and max_by(value, offset). Then drop what is null, and join the few rows that are left with "
        "the owners.",
    ),
    points=10,
    misses=hints_of(MUTANTS)
    | {
        "skew": "A window over account moves all rows of the hot account to one task. Which part of the result for an "
        "account can a task compute before the rows are moved?",
        "driver": "Your function collects the rows and works on them in the driver: with a thousand times as many it "
        "runs out of memory. Return a DataFrame that Spark has still to compute.",
        "one task": "Everything is in one task now: no account is hotter than another, and nothing runs beside it.",
    },
    afterwards=(
        "Why: Spark combines values before the Exchange, so each task sends at most one row for an account, however "
        "hot the account is. A function whose parts cannot be combined (a lag, a median) needs a salt: split the key, "
        "solve the parts, join them. Next: a stream, and a process that is killed."
    ),
)
