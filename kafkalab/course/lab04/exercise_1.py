"""L4.E1: what the metric, the tool and the reader say of a group; the learner's function beside a run, and mutants."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial
from typing import Any

from kafkalab.course.lab05.logs import PARTITION, RECORD, rows, stable_offset
from kafkalab.course.lab05.picture import STEP_MS, scenario
from kafkalab.grading.exercise import Exercise
from kafkalab.grading.mutants import Case, Counterexample, Mutant, against_mutants, hints_of
from kafkalab.grading.seeds import random_for, seed
from kafkalab.sim.cluster import Cluster, ran
from kafkalab.sim.scenario import Program

Seen = dict[str, Any]
FORM = 'a function five_numbers(seen) that returns a dict with "records", "position", "records-lag", "LAG", "LAG later"'
LOGS = 30
OPEN, COMMITTED, ABORTED, PLAIN = "open", "committed", "aborted", "plain"
FATES = {"COMMIT": COMMITTED, "ABORT": ABORTED}


def with_fates(log: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows with the `fate` of each record: what the next marker of its producer says; a marker has none."""
    found = []
    for row in log:
        later = (r for r in log[row["offset"] :] if r["producer"] == row["producer"] and r["kind"] != RECORD)
        marker = next(later, None)
        fate = PLAIN if row["producer"] is None else FATES[marker["kind"]] if marker else OPEN
        found.append({**row, "fate": fate if row["kind"] == RECORD else ""})
    return found


@cache
def cases(of_seed: int) -> tuple[Case, ...]:
    """Logs, half of them with a transaction left open, each with an offset that the group has committed."""
    random = random_for("L4.E1", of_seed)
    found: list[Case] = []
    while len(found) < LOGS:
        log = with_fates(rows(random, random.randint(4, 10), all_end=len(found) % 2 == 0))
        end, stable = len(log), stable_offset(log, len(log))
        if stable == 0 or (len(found) % 2 and stable == end):
            continue
        seen = {"rows": log, "high_watermark": end, "last_stable_offset": stable}
        found.append(({**seen, "committed": random.randint(0, stable)},))
    return tuple(found)


def run_of(seen: Seen) -> Cluster:
    """The log of the case, written by hand; then the group reads on."""
    given = {"partition": PARTITION, "committed": seen["committed"], "at_ms": (len(seen["rows"]) + 5) * STEP_MS}
    by_hand = scenario(seen["rows"])
    books = Program("books", "lags", given)
    return ran(replace(by_hand, title="The log of the case, and its group", programs=(*by_hand.programs, books)))


def measure(seen: Seen) -> dict[str, int]:
    """Return what the group's consumer and the tool say in a run."""
    result: dict[str, int] = run_of(seen).results["books"]
    return result


def five(
    seen: Seen,
    *,
    gets: tuple[str, ...] = (COMMITTED, PLAIN),
    markers: bool = False,
    offsets: bool = False,
    by_record: bool = False,
    tool: str = "high_watermark",
    metric: str = "last_stable_offset",
) -> dict[str, int]:
    """The five numbers with some of the rules switched; with none they are those of the runs, which a test says."""
    committed, stable = seen["committed"], seen["last_stable_offset"]
    until = seen["high_watermark"] if OPEN in gets else stable
    behind = [row for row in seen["rows"] if committed <= row["offset"] < until]
    got = [row for row in behind if row["fate"] in gets or (markers and row["kind"] != RECORD)]
    position = stable
    if by_record:
        position = got[-1]["offset"] + 1 if got else committed
    return {
        "records": stable - committed if offsets else len(got),
        "position": position,
        "records-lag": seen[metric] - committed,
        "LAG": seen[tool] - committed,
        "LAG later": seen[tool] - position,
    }


def plain(seen: Seen) -> dict[str, int]:
    """The five numbers of a log in which there are no transactions."""
    left = seen["high_watermark"] - seen["committed"]
    return {"records": left, "position": seen["high_watermark"], "records-lag": left, "LAG": left, "LAG later": 0}


MUTANTS = (
    Mutant("no transactions", "nothing in this log belonged to a transaction", plain, hint=0),
    Mutant("offsets are records", "each offset were a record", partial(five, offsets=True), hint=0),
    Mutant("markers are records", "a consumer were given markers", partial(five, markers=True), hint=0),
    Mutant(
        "aborted are records", "a read_committed consumer were given aborted records",
        partial(five, gets=(COMMITTED, PLAIN, ABORTED)), hint=0,
    ),
    Mutant(
        "open are records", "a read_committed consumer were given records that are not decided",
        partial(five, gets=(COMMITTED, PLAIN, OPEN)), hint=1,
    ),
    Mutant(
        "position by the last record", "a consumer's position were the offset after its last record",
        partial(five, by_record=True), hint="A consumer's position also moves past markers and aborted records. Where "
        "does it stop?",
    ),
    Mutant(
        "the tool knows transactions", "kafka-consumer-groups.sh counted up to the last stable offset",
        partial(five, tool="last_stable_offset"),
        hint="The tool does not know which isolation level the group's consumers have. Up to where does it count?",
    ),
    Mutant(
        "the metric is the tool's", "the consumer's metric counted up to the high watermark",
        partial(five, metric="high_watermark"), hint=1,
    ),
)  # fmt: skip


def show_case(seen: Seen) -> Counterexample:
    """The tape of the case's log, at the end of its run."""
    cluster = run_of(seen)
    return {"run": cluster, "step": cluster.trace.steps - 1, "view": "LogTape"}


def _examples(of_seed: int) -> list[Seen]:
    """The cases to look at: those that have the most fates after the committed offset."""

    def fates(case: Case) -> int:
        return len({row["fate"] for row in case[0]["rows"] if row["offset"] >= case[0]["committed"] > 0})

    return [case[0] for case in sorted(cases(of_seed), key=fates, reverse=True)[:2]]


EXERCISE = Exercise(
    "L4.E1",
    lambda answer: against_mutants(answer, measure, MUTANTS, cases(seed()), FORM, show_case),
    (
        "Begin with `records`: count the rows from `committed` on, before the last stable offset, whose `fate` is "
        "committed or plain.",
        "A read_committed consumer reads up to the last stable offset. Its metric measures up to there, and its "
        "position is there when it has read all it may.",
        "Both values of LAG are taken from the high watermark. The first one is high watermark minus `committed`, the "
        "second is high watermark minus the new position.",
    ),
    points=7,
    misses=hints_of(MUTANTS),
    questions=(2,),
    question=_examples,
    afterwards=(
        "Why: of the five only `records` counts records. The metric reaches 0 when the reader has read all it may. LAG "
        "reaches 0 only if nothing is undecided either. Next: a program that must know when to stop."
    ),
)
