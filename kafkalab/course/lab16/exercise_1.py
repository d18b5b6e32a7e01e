"""L16.E1: sequence gaps by a window and a join, in logs of both transaction versions."""

from __future__ import annotations

from kafkalab.course.lab16.gap_rules import COLUMNS, MUTANTS, find_gaps
from kafkalab.grading.exercise import Exercise, WrongType, describe
from kafkalab.grading.mutants import hints_of

FORM = f"a function gaps(log, sends) that returns a DataFrame with the columns {', '.join(COLUMNS)}"


def check(answer: object) -> str:
    """Run the function on a log of each version; WrongAnswer shows the rows that differ from what a leader sees."""
    from kafkalab.course.lab16.tasks import GAPS
    from kafkalab.course.lab16.verdicts import Audit, judge, record_before

    if not callable(answer):
        raise WrongType(f"Give {FORM}, not {describe(answer)}.")
    audit = Audit(
        task=GAPS, columns=COLUMNS, find=find_gaps, mutants=MUTANTS,
        beside=("the record of its producer before it", record_before),
        fails="gaps(log, sends) fails", blank=f"The function is still blank: it returns nothing. Give {FORM}.",
    )  # fmt: skip
    return judge(audit, answer)


EXERCISE = Exercise(
    "L16.E1",
    check,
    (
        "Do what a leader does: keep for each key and producer the epoch and sequence that came last. In a new epoch "
        "it expects 0, else the number after the last. From a producer that it does not know it accepts any number.",
        "First drop markers and repeated batches (groupBy key, producer, epoch, sequence; keep the smallest offset). "
        "Then lag both producer_epoch and sequence over a window of key and producer, in the order of offsets.",
        "missing is pmod(sequence - expected, 2147483648); keep the rows where it is above 0. Then a left join with "
        "sends on key, producer, epoch and pmod(sends.sequence - expected, 2147483648) < missing, and count_if.",
    ),
    points=15,
    misses=hints_of(MUTANTS),
    afterwards=(
        "Why: a leader accepts a batch only if its sequence follows the last one, so a gap shows that the log had a "
        "batch and lost it. The window shows that records are missing; only the join shows whether they were "
        "acknowledged. Next: what such a window costs."
    ),
)
