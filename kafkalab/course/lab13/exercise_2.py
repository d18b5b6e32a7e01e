"""L13.E2: how long a read_committed reader waits, from the commit interval; held against what runs have measured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from kafkalab.course.lab13.close import close, number
from kafkalab.course.lab13.scenario import commit_interval
from kafkalab.grading.exercise import BlankAnswer, Exercise, WrongAnswer, WrongType, describe, is_blank
from kafkalab.grading.mutants import called_each
from kafkalab.grading.seeds import random_for, seed
from kafkalab.programs.committing import times
from kafkalab.sim.cluster import Cluster, ran

FORM = "a function waits(interval_ms, every_ms, commit_ms) that returns (shortest, mean, longest) in milliseconds"
INTERVALS, EVERY_MS = (200, 250, 400, 500, 800, 1_000, 2_000), 50
COUNT, NAMES = 5, ("shortest", "mean", "longest")
LEAST_MS = (12, 16, 28)
"""The distance by which each of the three may be off if 5 % of it is less: the delays of single frames cause it."""
Waits = tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class Belief:
    """A wrong law: its name, what it says of a reader, and the three numbers that follow."""

    name: str
    says: str
    waits: Callable[[float, float, float], Waits]


BELIEFS = (
    Belief("no waiting", "a reader had each record as soon as it was sent", lambda i, e, c: (c, c, c)),
    Belief("always all of it", "every record waited a whole interval", lambda i, e, c: (i, i, i)),
    Belief("always half", "every record waited half an interval", lambda i, e, c: (i / 2, i / 2, i / 2)),
    Belief(
        "the next one but one", "a record waited for the commit after the next one",
        lambda i, e, c: (i + c, i + c + (i - e) / 2, 2 * i - e + c),
    ),
    Belief("a free commit", "a commit took no time", lambda i, e, c: (0, (i - e) / 2, i - e)),
)  # fmt: skip


def run_of(interval_ms: int, of_seed: int) -> Cluster:
    """The stream with this interval."""
    return ran(commit_interval(interval_ms, EVERY_MS, 2 * max(INTERVALS), seed=of_seed))


def truth(interval_ms: int, of_seed: int) -> Waits:
    """Return what the reader of that run has measured."""
    found = times(run_of(interval_ms, of_seed).results["reader"])
    return found["shortest"], found["mean"], found["longest"]


@cache
def cases(of_seed: int) -> tuple[tuple[int, int, int, int], ...]:
    """(interval, every, what a commit took in another run, the seed of the delays) of each case."""
    random = random_for("L13.E2", of_seed)
    found = []
    for interval in random.sample(INTERVALS, COUNT):
        delays = random.randint(1, 99)
        other = random.choice([i for i in INTERVALS if i != interval])
        found.append((interval, EVERY_MS, round(truth(other, delays)[0]), delays))
    return tuple(found)


def check(answer: object) -> str:
    """ "5 of 5 cases" if all three numbers are close to what the run has measured."""
    if not callable(answer):
        raise WrongType(f"Give {FORM}, not {describe(answer)}.")
    asked = cases(seed())
    given = called_each(answer, [case[:3] for case in asked])
    if all(is_blank(value) for value in given):
        raise BlankAnswer(f"The function is still blank: it returns nothing. Give {FORM}.")
    found = [_three(value) for value in given]
    truths = [truth(case[0], case[3]) for case in asked]
    wrong = [i for i, (got, true) in enumerate(zip(found, truths, strict=True)) if not _alike(got, true)]
    if not wrong:
        return f"{len(asked)} of {len(asked)} cases"
    belief = next((b for b in BELIEFS if all(map(_alike, found, (b.waits(*c[:3]) for c in asked)))), None)
    first = wrong[0]
    interval, every, commit, delays = asked[first]
    parts = zip(NAMES, found[first], truths[first], LEAST_MS, strict=True)
    name, got, true = next((n, g, t) for n, g, t, least in parts if not close(g, t, least))
    raise WrongAnswer(
        f"{len(asked) - len(wrong)} of {len(asked)} cases are right. One that is not: a commit each {interval} ms, a "
        f"record each {every} ms, a commit takes {commit} ms. You say {got:.0f} ms for the {name} wait; the "
        f"run has measured {'more' if true > got else 'less'}." + (f" That is as if {belief.says}." if belief else ""),
        run=run_of(interval, delays), miss=belief.name if belief else name, part=1 - len(wrong) / len(asked),
    )  # fmt: skip


def _three(value: object) -> Waits:
    if not isinstance(value, (tuple, list)) or len(value) != len(NAMES):
        raise WrongType(f"Give {FORM}, not {describe(value)}.")
    shortest, mean, longest = (number(one, FORM) for one in value)
    return shortest, mean, longest


def _alike(got: Waits, true: Waits) -> bool:
    return all(close(g, t, least) for g, t, least in zip(got, true, LEAST_MS, strict=True))


EXERCISE = Exercise(
    "L13.E2",
    check,
    (
        "Which record waits least: the first one after a commit, or the last before the next one? Which waits longest?",
        "The last record before a commit waits only for the commit itself. The first one after a commit waits for "
        "all the others of its transaction, and then for the commit.",
        "An interval has interval_ms / every_ms records, every_ms apart. The last waits commit_ms; the first every_ms "
        "less than the interval longer. The mean lies in the middle of the two.",
    ),
    points=5,
    misses={
        "no waiting": "That is read_uncommitted. A committed reader gets nothing of a transaction before its marker.",
        "always all of it": 0,
        "always half": "Half an interval is about the mean. Not every record comes in the middle.",
        "the next one but one": "A record is in the transaction that is open when it comes; the next commit ends it.",
        "a free commit": "What does the last record before a commit wait for?",
        "shortest": 0,
        "mean": "If records come evenly, the mean lies in the middle between the shortest wait and the longest.",
        "longest": 1,
    },
    questions=(36,),
    question=lambda of_seed: [case[:3] for case in cases(of_seed)],
    afterwards=(
        "Why: a record is seen when its transaction is decided, so it waits for what is left of the interval, and for "
        "the commit. The reader adds nothing. Next: three incidents."
    ),
)
