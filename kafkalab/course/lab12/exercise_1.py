"""L12.E1: four anomalies as SQL, each run on two histories whose injected anomalies are known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from kafkalab.grading.exercise import BlankAnswer, Exercise, WrongAnswer, WrongType, WrongValue, describe, is_blank
from kafkalab.grading.progress_line import show_progress
from kafkalab.grading.remote_query import perform
from kafkalab.grading.seeds import seed

if TYPE_CHECKING:
    from kafkalab.spark.synthetic.shape import Shape

NAMES = ("duplicate", "G1a", "lost-write", "poll-skip")
COLUMNS = ("key", "offset")
FORM = f"a dict with an SQL query for each of {', '.join(NAMES)}; each has the columns key and offset"
OTHER = 1000
"""The number added to the seed for the second history: a query must be right there, too, where no rows are known."""

MISTAKES = {
    "duplicate": {
        "once for each": "SELECT key, max(offset) offset FROM records GROUP BY key, value HAVING count(*) > 1",
    },
    "G1a": {
        "any level": "SELECT DISTINCT key, offset FROM reads JOIN records USING (key, offset) "
        "WHERE outcome = 'aborted'",
        "not committed": "SELECT key, offset FROM reads JOIN records USING (key, offset) "
        "WHERE isolation_level = 'read_committed' AND outcome <> 'committed'",
    },
    "lost-write": {
        "unseen": "SELECT key, offset FROM acknowledged a WHERE committed AND NOT EXISTS "
        "(SELECT 1 FROM reads r WHERE r.key = a.key AND r.offset = a.offset AND r.value = a.value)",
    },
    "poll-skip": {
        "a gap is a loss": "SELECT key, offset FROM (SELECT *, lag(offset) OVER (PARTITION BY consumer, key "
        "ORDER BY poll, offset) AS before FROM reads) WHERE offset > before + 1",
        "no positions": "SELECT key, from_offset AS offset FROM (SELECT *, lag(to_offset) OVER (PARTITION BY consumer, "
        "key ORDER BY poll) AS expected FROM polls) WHERE from_offset > expected",
    },
}  # fmt: skip
"""Plausible wrong queries, by the misconception; whoever gives their rows gets the hint that fits."""


def check(answer: object) -> str:
    """All queries find exactly what is injected, in both histories; WrongAnswer says which does not, and the rows."""
    from kafkalab.course.lab12.nights import night

    queries = _queries(answer)
    first, second = (night(one) for one in (seed(), seed() + OTHER))
    for right, name in enumerate(show_progress(NAMES, len(NAMES), "queries")):
        _check(name, queries[name], first, "", right)
    for name in NAMES:
        _check(name, queries[name], second, " in a second history, which you do not see", len(NAMES) - 1)
    return f"{len(NAMES)} of {len(NAMES)} queries, on 2 histories"


def _check(name: str, query: str, here: Shape, where: str, right: int) -> None:
    from kafkalab.course.lab12.nights import places
    from kafkalab.course.lab12.spark_exercise import compare_rows, most_of

    if is_blank(query):
        raise WrongAnswer(f"The query for {name} is still blank. Give {FORM}.", part=right / len(NAMES))
    truth = places(here)[name]
    given = _rows(name, query, here, most_of(truth))
    difference = compare_rows(given, truth, COLUMNS)
    if difference:
        miss = "" if isinstance(given, str) else _miss(name, given, here, most_of(truth))
        title = f"{name}{where}: the rows that differ, with what the log, polls and reads say of them"
        table = difference.table(title, partial(describe_place, here), KNOWN)
        raise WrongAnswer(f"{name}{where}: {difference}.", run=table, miss=miss, part=right / len(NAMES))


KNOWN = ("value", "transaction", "polls that went over it", "reads of it")
"""The four facts that `describe_place` states of a row."""


def describe_place(here: Shape, row: tuple[str, int]) -> tuple[str, str, str, str]:
    """Return what this history says of a key and an offset; a query of the learner may have named any."""
    key, offset = row
    log = _rows_at(here, "log", key)
    found = next((r for r in log if r["offset"] == offset), None)
    if found is None:
        return ("there is none", "", "", "")
    behind = (r["control"] for r in log if r["producer_id"] == found["producer_id"] and r["offset"] > offset)
    ended = next((control for control in behind if control), "open") if found["transactional"] else "plain"
    polls = [r for r in _rows_at(here, "polls", key) if r["start"] <= offset < r["end"]]
    reads = [r for r in _rows_at(here, "reads", key) if r["offset"] == offset]
    levels = Counter(r["isolation_level"] for r in reads)
    return (
        found["control"] or found["value"],
        "marker" if found["control"] else ended,
        str(len(polls)),
        ", ".join(f"{count} {level}" for level, count in sorted(levels.items())) or "none",
    )


def _rows_at(here: Shape, name: str, key: str) -> list[dict[str, Any]]:
    """Return the rows of one of the history's tables that are about this key, in the order of the table."""
    from kafkalab.course.lab12.nights import by_key

    return by_key(here, name).get(key, [])


def _miss(name: str, given: list[object], here: Shape, most: int) -> str:
    """The mistake whose rows are the learner's."""
    rows = ((miss, _rows(name, sql, here, most)) for miss, sql in MISTAKES[name].items() if given)
    return next((f"{name}: {miss}" for miss, found in rows if Counter(found) == Counter(given)), "")


def _rows(name: str, query: str, here: Shape, most: int) -> Any:
    """The rows of a query in this history, or the problem with it."""
    from kafkalab.course.lab12.nights import folder_of
    from kafkalab.course.lab12.spark_exercise import rows_of
    from kafkalab.course.lab12.tasks import QUERY

    answer = perform(QUERY, folder_of(here), query, COLUMNS, most)
    return rows_of(answer, f"The query for {name} does not run", "")


def _queries(answer: object) -> dict[str, str]:
    if not isinstance(answer, Mapping):
        raise WrongType(f"Give {FORM}, not {describe(answer)}.")
    unknown = [name for name in answer if name not in NAMES]
    if unknown or set(answer) != set(NAMES):
        what = (
            f"there is no {unknown[0]!r}" if unknown else f"{', '.join(n for n in NAMES if n not in answer)} is missing"
        )
        raise WrongValue(f"Give {FORM}; {what}.")
    wrong = [name for name in NAMES if not isinstance(answer[name], str) and not is_blank(answer[name])]
    if wrong:
        raise WrongType(f"The query for {wrong[0]} is SQL in a string, not {describe(answer[wrong[0]])}.")
    if all(is_blank(query) for query in answer.values()):
        raise BlankAnswer(f"All queries are still blank. Give {FORM}.")
    return {name: answer[name] if isinstance(answer[name], str) else "" for name in NAMES}


EXERCISE = Exercise(
    "L12.E1",
    check,
    (
        "Say each anomaly as a sentence with two tables in it. duplicate: records and records. G1a: reads and records. "
        "lost-write: acknowledged, polls and reads. poll-skip: polls and the polls before them, then records.",
        "A key is a topic-partition, and every statement is about one key: put key into every GROUP BY, PARTITION BY "
        "and ON. Only read_committed promises that nothing aborted is read.",
        "lost-write: EXISTS a poll of the key with from_offset <= offset < to_offset, and NOT EXISTS a read of it. "
        "poll-skip: lag(to_offset) OVER (PARTITION BY consumer, key ORDER BY poll) is where the next poll should "
        "begin; a record between that and from_offset counts only if it is committed or plain.",
    ),
    points=20,
    questions=(5,),
    misses={
        "duplicate: once for each": "All places of the value belong to the finding, the first one, too.",
        "G1a: any level": "read_uncommitted promises nothing: an aborted record that it returns is no G1a.",
        "G1a: not committed": "Outside transactions there is nothing to commit: plain records may be read.",
        "lost-write: unseen": "A record that no consumer has polled yet may only be late. It is lost when a poll of "
        "its key has passed it.",
        "poll-skip: a gap is a loss": "Gaps in offsets are legal: markers and aborted records take offsets, too. "
        "Which committed records lie in the gap?",
        "poll-skip: no positions": "A poll that begins further on has skipped something only if a committed record "
        "lies in between.",
    },
    afterwards=(
        "Why: each query compares the promises (acknowledged, committed) with the events (reads, polls), one key at a "
        "time. A count of offsets could show none of this. Next: one torn transaction among a million records."
    ),
)
