"""L16.E3: a sink for a stream that holds each row once, wherever the process was killed."""

from __future__ import annotations

from collections import Counter

from kafkalab.course.lab16.feed import COLUMNS, STOPS, Row, count_by_batch, folder_of, make_feed
from kafkalab.grading.exercise import Exercise, WrongAnswer, WrongType, describe
from kafkalab.grading.mutants import Mutant, hints_of
from kafkalab.grading.remote_query import perform
from kafkalab.grading.seeds import seed
from kafkalab.grading.tables import Table

FORM = "a function write_batch(frame, batch_id, folder) that writes the frame as Parquet below the folder"
MOMENTS = {
    "before": "stopped before it has written",
    "half": "stopped with half of the files written",
    "after": "stopped with all written, before Spark noted it",
}
Batches = tuple[tuple[Row, ...], ...]


def check(answer: object) -> str:
    """Let the function write a stream that is stopped three times; WrongAnswer shows what the sink holds."""
    from kafkalab.course.lab12.spark_exercise import compare_rows, most_of, rows_of
    from kafkalab.course.lab16.tasks import STREAM

    if not callable(answer):
        raise WrongType(f"Give {FORM}, not {describe(answer)}.")
    batches = make_feed(seed())
    truth = [row for batch in batches for row in batch]
    given = perform(STREAM, answer, folder_of(seed()), STOPS, COLUMNS, most_of(truth))
    blank = f"Nothing is below the folder: the function is still blank. Give {FORM}."
    rows = rows_of(given, "write_batch(frame, batch_id, folder) fails", blank)
    difference = compare_rows(rows, truth, COLUMNS)
    if not difference:
        return f"{len(truth)} rows once, over {len(STOPS)} stops"
    if isinstance(rows, str):
        raise WrongAnswer(f"{difference}.")
    held = Counter(rows)
    mutant = find_mutant(held, batches)
    says = f" That is as if {mutant.says}." if mutant else ""
    said = f"The sink holds {len(rows)} rows where {len(truth)} were sent."
    raise WrongAnswer(
        said + says, run=show(held, batches), miss=mutant.name if mutant else "", part=difference.right / len(truth) / 2
    )


def show(held: Counter[Row], batches: Batches) -> Table:
    """Return what the sink holds of each micro-batch; the first that is wrong is the one to look at."""
    there = count_by_batch(held, batches)
    moments = dict(STOPS)
    rows = [
        (number, len(batch), there[number], MOMENTS.get(moments.get(number, ""), "not stopped"))
        for number, batch in enumerate(batches)
    ]
    wrong = next((number for number, sent, count, _ in rows if sent != count), 0)
    columns = ("batch_id", "rows sent", "rows in the sink", "the process")
    return Table(title="What the sink holds of each micro-batch", columns=columns, rows=tuple(rows), at=wrong)


def is_append(sent: Counter[Row], held: Counter[Row], batches: Batches) -> bool:
    """Every row is there, and all of the batch that was stopped last is there twice."""
    after = Counter(batches[3])
    return held >= sent and all(held[row] == 2 * count for row, count in after.items())


def is_overwrite(sent: Counter[Row], held: Counter[Row], batches: Batches) -> bool:
    """Only the last batch is there."""
    return held == Counter(batches[-1])


def is_skip(sent: Counter[Row], held: Counter[Row], batches: Batches) -> bool:
    """Only rows of the batch of which half was written are missing."""
    return held < sent and not (sent - held) - Counter(batches[2])


def is_distinct(sent: Counter[Row], held: Counter[Row], batches: Batches) -> bool:
    """Every row is there, but not as often as it was sent."""
    return held < sent and set(held) == set(sent)


def is_by_minute(sent: Counter[Row], held: Counter[Row], batches: Batches) -> bool:
    """Of a minute only the rows of the batch that came last are there."""
    last = {minute: number for number, batch in enumerate(batches) for minute, _ in batch}
    return held == Counter(row for number, batch in enumerate(batches) for row in batch if last[row[0]] == number)


MUTANTS = (
    Mutant(
        "append",
        "a repeated batch were a new one",
        is_append,
        "Your files lie beside the files of the first run of the same batch. Which argument is the same in "
        "both runs, and could name the place?",
    ),
    Mutant(
        "overwrite all",
        "each batch took the place of all batches before it",
        is_overwrite,
        "mode('overwrite') empties the whole folder that it is given. Give it one that belongs to the batch alone.",
    ),
    Mutant(
        "skip",
        "the files of the first run were complete",
        is_skip,
        "The process can be killed in the middle of a write: a folder that is there may hold half of its files. Do not "
        "ask whether the batch is there; write it again in its place.",
    ),
    Mutant(
        "distinct",
        "two equal rows were always one row",
        is_distinct,
        "Two different records may be equal, in one batch or in two. Equal rows do not show that a batch was repeated.",
    ),
    Mutant(
        "by minute",
        "a minute were always in one batch",
        is_by_minute,
        "Rows come late: a minute has rows in two batches, and the second overwrites the first. Only the batch id "
        "names a batch.",
    ),
)
"""Wrong sinks, each with a test of what it leaves: whether the sink holds just that."""


def find_mutant(held: Counter[Row], batches: Batches) -> Mutant | None:
    """Return the wrong sink that leaves these rows; None if no known one does."""
    sent = Counter(row for batch in batches for row in batch)
    return next((mutant for mutant in MUTANTS if mutant.function(sent, held, batches)), None)


EXERCISE = Exercise(
    "L16.E3",
    check,
    (
        "Spark notes in the checkpoint which rows belong to a batch before it runs it, and only afterwards that it is "
        "done. A process killed in between runs the same batch again: same rows, same batch_id.",
        "So the write has to be idempotent: two runs of it, or one and a half, must leave the same as one run. Let "
        "batch_id name the place, and replace everything there.",
        'A folder for each batch, f"{folder}/batch={batch_id}", written with mode("overwrite").',
    ),
    points=10,
    misses=hints_of(MUTANTS),
    afterwards=(
        "Why: a restart repeats a batch under the same id, and a write that replaces the files of this id makes the "
        "repetition harmless. That is exactly-once by idempotence, as with a producer's sequences. Next: the same logs "
        "once more, in SQL."
    ),
)
