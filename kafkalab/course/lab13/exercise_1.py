"""L13.E1: how many records a transaction should have; the size is tried in a run and held against two targets."""

from __future__ import annotations

from functools import cache
from typing import Any

from kafkalab.course.lab13.close import number
from kafkalab.course.lab13.scenario import lab13
from kafkalab.grading.exercise import BlankAnswer, Exercise, WrongAnswer, WrongType, describe, is_blank
from kafkalab.grading.mutants import called_each
from kafkalab.grading.seeds import random_for, seed
from kafkalab.sim.cluster import Cluster, ran
from kafkalab.sim.scenario import Scenario

FORM = "a function size_for(measured, least_per_second, longest_ms) that returns a number of records, or None"
CASES, TRANSACTIONS, SAMPLES, MOST = 6, 4, (8, 16, 32), 400
TOLERANCE = 0.05
Case = dict[str, Any]


def scenario(case: Case, size: int) -> Scenario:
    """Four transactions of this size, under the case's work and delays."""
    return lab13(records=TRANSACTIONS * size, size=size, partitions=1, work_ms=case["work_ms"], seed=case["seed"])


def measure(case: Case, size: int) -> tuple[float, float, Cluster]:
    """Return records a second, the longest time from a record's work to its commit, and the run."""
    cluster = ran(scenario(case, size))
    times = cluster.results["app"]
    return 1000 * TRANSACTIONS * size / times["all"], times["longest"], cluster


@cache
def cases(of_seed: int) -> tuple[Case, ...]:
    """Targets around what a size between two samples reaches; one case in six asks for more than any size can."""
    random = random_for("L13.E1", of_seed)
    found = []
    for index in range(CASES):
        case: Case = {"work_ms": random.randint(4, 9), "seed": random.randint(1, 99)}
        good = random.randint(9, 30)
        pace, longest, _ = measure(case, good)
        case["possible"] = index != CASES - 2
        case["longest_ms"] = round(longest * 1.06)
        case["least_per_second"] = round(pace * (0.96 if case["possible"] else 1.35), 1)
        times = {n: ran(scenario(case, n)).results["app"]["all"] / TRANSACTIONS for n in SAMPLES}
        case["measured"] = [{"size": n, "ms": round(ms)} for n, ms in times.items()]
        found.append(case)
    return tuple(found)


def arguments_of(case: Case) -> tuple[Any, ...]:
    """The arguments of the learner's function."""
    return case["measured"], case["least_per_second"], case["longest_ms"]


def check(answer: object) -> str:
    """ "6 of 6 cases" if each size meets both targets in a run, and None is said where no size can."""
    if not callable(answer):
        raise WrongType(f"Give {FORM}, not {describe(answer)}.")
    asked = cases(seed())
    given = called_each(answer, [arguments_of(case) for case in asked])
    if all(is_blank(value) for value in given):
        raise BlankAnswer(f"The function is still blank: it returns nothing. Give {FORM}.")
    right = 0
    first: WrongAnswer | None = None
    for case, value in zip(asked, given, strict=True):
        wrong = judge(case, value)
        first, right = first or wrong, right + (wrong is None)
    if first is None:
        return f"{len(asked)} of {len(asked)} cases"
    raise WrongAnswer(
        f"{right} of {len(asked)} cases are right. {first}", run=first.run, step=first.step, miss=first.miss,
        part=right / len(asked),
    )  # fmt: skip


def judge(case: Case, value: object) -> WrongAnswer | None:
    """Return what is wrong with a size; None if it meets both targets."""
    _, least, longest = arguments_of(case)
    asks = f"For at least {least} records a second, and at most {longest} ms from a record's work to its commit"
    if value is None or value is ...:
        if not case["possible"]:
            return None
        return WrongAnswer(f"{asks}, you say that no size will do. There is one.", miss="gave up")
    size = round(number(value, FORM))
    if not 1 <= size <= MOST:
        return WrongAnswer(f"{asks}, you say {size}. Try sizes from 1 to {MOST}.", miss="out of range")
    pace, took, cluster = measure(case, size)
    slow, late = pace < least * (1 - TOLERANCE), took > longest * (1 + TOLERANCE)
    if not slow and not late:
        return None
    says = f"{asks}, you say {size}. It was run: {pace:.1f} records a second, and {took} ms at the longest."
    if not case["possible"]:
        return WrongAnswer(says, run=cluster, miss="no size will do")
    if late and size == int(longest / case["work_ms"]):
        return WrongAnswer(f"{says} That is as if only the records took time.", run=cluster, miss="no fixed cost")
    return WrongAnswer(says, run=cluster, miss="too large" if late else "too small")


EXERCISE = Exercise(
    "L13.E1",
    check,
    (
        "What a transaction takes has two parts: one that grows with each record, and one that does not.",
        "Take two rows of `measured`. Divide the difference of their times by the difference of their records: that is "
        "the time of one record. Take one row, and subtract the time of its records: that is the fixed cost.",
        "With `fixed` and `each`, a transaction of n records takes `fixed + each * n` ms. Go through n from 1 upwards, "
        "and return the first n for which that is at most `longest_ms` and 1000 * n divided by it at least "
        "`least_per_second`.",
    ),
    points=6,
    misses={
        "no fixed cost": "You have left out the fixed cost of a transaction: the round trips and the markers. Two rows "
        "of `measured` show it.",
        "too large": "A larger transaction writes more records a second, but its first record waits for the commit "
        "after the last one. Which of the two targets limits the size upwards?",
        "too small": "A small transaction commits soon, but pays the fixed cost for few records. Which of the two "
        "targets limits the size downwards?",
        "no size will do": "Sometimes no size meets both targets: the smallest size for one is larger than the largest "
        "for the other. Then return None.",
        "gave up": 0,
        "out of range": 0,
    },
    questions=(35,),
    question=lambda of_seed: [arguments_of(case) for case in cases(of_seed)[:2]],
    afterwards=(
        "Why: each transaction pays the fixed cost once. So a larger transaction costs less for each record, and its "
        "records wait longer. Two targets leave a range of sizes, or none. Next: what does a reader wait for?"
    ),
)
