"""L12.E3: what a sink without transactions holds after its tasks were tried again, and how every row is there once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from random import Random

from kafkalab.grading.exercise import BlankAnswer, Exercise, WrongAnswer, WrongType, WrongValue, describe
from kafkalab.grading.mutants import Mutant, against_mutants, hints_of
from kafkalab.grading.remote_query import perform
from kafkalab.grading.seeds import random_for
from kafkalab.grading.tables import Table

FORM = 'a dict {"sent": your function of (rows, fails), "once": your function of the topic}'
SENT = "a function sent(rows, fails) that returns the number of records in the topic"
ONCE = "a function once(topic) that returns a DataFrame with the column value"
CASES = 30


def count_sent(rows: Sequence[int], fails: Mapping[int, int]) -> int:
    """Every task's rows, and again what a failed first attempt had sent."""
    return sum(rows) + sum(n for task, n in fails.items() if n <= rows[task])


MUTANTS = (
    Mutant(
        "rolled back",
        "the rows of a failed attempt were removed, or the next attempt continued after them",
        lambda rows, fails: sum(rows),
        hint=0,
    ),
    Mutant(
        "all twice",
        "a failed task had sent all of its rows before it failed",
        lambda rows, fails: sum(rows) + sum(rows[t] for t, n in fails.items() if n <= rows[t]),
        hint=1,
    ),
    Mutant(
        "the whole job",
        "one failed task made all tasks send again",
        lambda rows, fails: sum(rows) * (2 if any(n <= rows[t] for t, n in fails.items()) else 1),
        hint=0,
    ),
    Mutant(
        "always fails",
        "a task failed that had ended before",
        lambda rows, fails: sum(rows) + sum(fails.values()),
        hint=1,
    ),
)


def cases(random: Random) -> list[tuple[list[int], dict[int, int]]]:
    """Rows of each task, and which tasks fail after how many."""
    made = []
    for _ in range(CASES):
        rows = [random.randrange(1, 9) for _ in range(random.randrange(2, 6))]
        failing = random.sample(range(len(rows)), random.randrange(len(rows)))
        made.append((rows, {task: random.randrange(rows[task] + 3) for task in sorted(failing)}))
    return made


def attempts(given: object, rows: Sequence[int], fails: Mapping[int, int]) -> Table:
    """Return what each attempt of each task sends, and at the end the sum beside `given`, the learner's."""
    found: list[tuple[str | int, ...]] = []
    for task, count in enumerate(rows):
        failed = task in fails and fails[task] <= count
        first = f"{fails[task]}, then it fails" if failed else f"{count}, and it ends"
        found.append((f"task {task}", count, first, count if failed else ""))
    found.append(("in the topic", "", f"{count_sent(rows, fails)}", f"your function says {given!r}"))
    title = "What each attempt of this job sends"
    return Table(title=title, columns=("", "rows", "first attempt", "second attempt"), rows=tuple(found), at=len(rows))


def topic(random: Random) -> tuple[list[tuple[str, int, int, int]], list[str]]:
    """Return what the topic holds after a job in which tasks failed, and the values that it ought to hold.

    Some values are there twice by right: the application has two rows with that value.
    """
    found, truth = [], []
    for task in range(4):
        values = [f"v{random.randrange(12)}" for _ in range(6 + task)]
        truth += values
        failed = random.randrange(1, 6) if task != 1 else -1
        attempts = [values[:failed], values] if failed > 0 else [values]
        found += [(value, task, a, place) for a, part in enumerate(attempts) for place, value in enumerate(part)]
    random.shuffle(found)
    return found, truth


def check(answer: object) -> str:
    """Both functions do what they should; WrongAnswer shows the first case in which one does not."""
    if not isinstance(answer, Mapping):
        raise WrongType(f"Give {FORM}, not {describe(answer)}.")
    if set(answer) != {"sent", "once"}:
        raise WrongValue(f"Give {FORM}; yours has the names {', '.join(map(str, answer)) or 'none'}.")
    random = random_for("L12.E3")
    try:
        line = against_mutants(answer["sent"], count_sent, MUTANTS, cases(random), SENT, rows_of=attempts)
    except BlankAnswer as error:
        raise BlankAnswer(f"sent: {error}") from None
    except WrongAnswer as error:
        raise WrongAnswer(f"sent: {error}", run=error.run, miss=error.miss, part=error.part / 2) from None
    _check_once(answer["once"], random)
    return f"{line}, and every row is there once"


def _check_once(function: object, random: Random) -> None:
    from kafkalab.course.lab12.spark_exercise import compare_rows, most_of, rows_of
    from kafkalab.course.lab12.tasks import TOPIC

    if not callable(function):
        raise WrongType(f"Give {ONCE}, not {describe(function)}.")
    rows, values = topic(random)
    truth = [(value,) for value in values]
    answer = perform(TOPIC, function, rows, ("value",), most_of(truth))
    try:
        given = rows_of(answer, "once(topic) fails", f"once is still blank: it returns nothing. Give {ONCE}.")
    except WrongAnswer as error:
        raise WrongAnswer(str(error), part=0.5) from None
    difference = compare_rows(given, truth, ("value",))
    if difference:
        found = None if difference.problem else Counter(row[0] for row in given)
        miss = _miss(found, rows, values)
        said = f"sent is right. once is not yet, on a topic made anew: {difference}."
        title = "The values that differ, and where the topic holds them: (task, attempt, place)"
        shown = difference.table(title, lambda row: (places(rows, row[0]),), ("in the topic",))
        raise WrongAnswer(said, run=shown, miss=miss, part=0.5)


def places(rows: list[tuple[str, int, int, int]], value: object) -> str:
    """Return where the topic holds a value, as "(task, attempt, place)" in the order of tasks."""
    return " ".join(str(row[1:]) for row in sorted(rows, key=lambda r: r[1:]) if row[0] == value) or "nowhere"


def _miss(given: Counter[str] | None, rows: list[tuple[str, int, int, int]], truth: list[str]) -> str:
    """Return which of the known mistakes gives these values."""
    known = {
        "nothing removed": Counter(row[0] for row in rows),
        "by value": Counter(set(truth)),
        "first attempts": Counter(row[0] for row in rows if row[2] == 0),
        "second attempts": Counter(row[0] for row in rows if row[2] == 1),
    }
    return next((name for name, values in known.items() if values == given), "")


EXERCISE = Exercise(
    "L12.E3",
    check,
    (
        "The rows that a failed attempt has sent stay in the topic. The next attempt of that task knows nothing of "
        "them and begins at its first row. Other tasks are not touched.",
        "A task fails only if it reaches the row after which it fails; one with fewer rows ends before. For once: "
        "which columns of the topic name a row, whatever attempt sent it?",
        "Two different rows may have the same value. The same task and the same place, sent by two attempts, are one "
        "row: keep one of each.",
    ),
    points=10,
    questions=(34,),
    misses=hints_of(MUTANTS)
    | {
        "by value": "Two rows of the application may have the same value. What names a row, besides its value?",
        "nothing removed": 1,
        "first attempts": "Where a first attempt failed, only the second attempt sent the rows after the failure.",
        "second attempts": "A task that never failed has no second attempt, and its rows count, too.",
    },
    afterwards=(
        "Why: a second attempt repeats rows that the first one sent, and task and place name a row whichever "
        "attempt sent it; its value does not. Next: which findings break a promise at all?"
    ),
)
