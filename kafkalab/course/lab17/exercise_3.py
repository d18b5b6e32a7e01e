"""L17.E3: the transactional id of a connector's task: the learner's function names tasks, and runs with them judge."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from random import Random

from kafkalab.course.lab17.ills import find_ills
from kafkalab.course.lab17.parts import (
    FIRST,
    PROFILE,
    SECOND,
    SENT,
    STOPS,
    VALUES,
    base_scenario,
    restart_task,
    task_program,
)
from kafkalab.grading.exercise import Exercise
from kafkalab.grading.mutants import Mutant, hints_of
from kafkalab.grading.seeds import random_for, seed
from kafkalab.grading.trials import Trial, against_trials
from kafkalab.limits import NAME
from kafkalab.programs.booking import INPUT, PAYMENTS, RECEIPTS
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.scenario import Scenario

FORM = "a function name_of(connector, task, attempt) that returns a name"
SOON_MS = 500
"""When the second of two tasks starts that work side by side: the first has sent a receipt by then."""
OTHERS, OTHER_INPUT = ("dee 3", "eve 8", "fay 6"), f"{PAYMENTS}-1"
CONNECTORS = ("orders", "stock", "copy", "audit", "mail")
Start = tuple[str, int, int]
"""A start of a task: the connector, the task's number, and how many times the task has been started."""


def restart(stop: str, of_seed: int, first: str, second: str) -> Scenario:
    """The first attempt crashes or sleeps after it has sent bob's receipt; the second one takes over at 15 s."""
    return restart_task(f"An attempt that {stop}, and the next one", of_seed, PROFILE, (first, second), stop, SENT)


def side_by_side(of_seed: int, first: str, second: str) -> Scenario:
    """Two tasks work at the same time, each on a partition of its own."""
    programs = task_program(FIRST, first), task_program(SECOND, second, start_after_ms=SOON_MS, source=OTHER_INPUT)
    base = base_scenario("Two tasks at work", of_seed, PROFILE, *programs)
    return replace(base, topics={PAYMENTS: 2, RECEIPTS: 1}, records={INPUT: VALUES, OTHER_INPUT: OTHERS})


def find_fenced(cluster: Cluster) -> str:
    """Return which of two tasks side by side an error ends, and what else is wrong; "" if both do their work."""
    errors = [str(said) for said in cluster.results.values() if said != "done"]
    fenced = f"a task that should go on ends with {errors[0]}" if errors else ""
    return " and ".join(filter(None, (fenced, find_ills(cluster))))


def _second_claims(cluster: Cluster) -> int:
    """Return the step at which the second task asks for its producer id."""
    asked = (f for f in cluster.trace.frames.values() if f.name == "InitProducerId" and f.sender == SECOND)
    return next(asked).sent_step


def _trial(one: Start, other: Start, scenario: Callable[[str, str], Scenario], ills: Callable[[Cluster], str]) -> Trial:
    return Trial(calls=(one, other), scenario=scenario, find_ills=ills, find_step=_second_claims)


def _start_again(random: Random, stop: str, connector: str) -> Trial:
    task, attempt = random.randrange(12), random.randint(1, 5)
    run = partial(restart, stop, random.randint(1, 10_000))
    return _trial((connector, task, attempt), (connector, task, attempt + 1), run, find_ills)


def _beside(random: Random, one: tuple[str, int], other: tuple[str, int]) -> Trial:
    """Two tasks whose numbers of attempts are the same, as after a start of all."""
    attempt, run = random.randint(1, 5), partial(side_by_side, random.randint(1, 10_000))
    return _trial((*one, attempt), (*other, attempt), run, find_fenced)


@cache
def trials(of_seed: int) -> tuple[Trial, ...]:
    """Attempts of one task, and tasks side by side: of one connector, of two, and of two with names alike."""
    random = random_for("L17.E3", of_seed)
    found = [_start_again(random, stop, random.choice(CONNECTORS)) for stop in STOPS * 3]
    for _ in range(3):
        one, other = random.sample(CONNECTORS, 2)
        low, high = sorted(random.sample(range(12), 2))
        digit, number = random.randint(1, 9), random.randint(0, 9)
        found.append(_beside(random, (one, low), (one, high)))
        found.append(_beside(random, (one, low), (other, low)))
        found.append(_beside(random, (one, int(f"{digit}{number}")), (f"{one}{digit}", number)))
    random.shuffle(found)
    return tuple(found)


def name_of(connector: str, task: int, attempt: int) -> str:
    """Return a name as Kafka Connect gives it: the connector's and the task's number (KIP-618)."""
    return f"{connector}-{task}"


MUTANTS = (
    Mutant(
        "a new name at each start", "a new start needed a new name", lambda c, t, n: f"{c}-{t}-{n}",
        hint="The old attempt is asleep, or has left a transaction open. How does the coordinator learn that the new "
        "one replaces it?",
    ),
    Mutant(
        "one name for a connector", "the tasks of a connector shared one producer", lambda c, t, n: c,
        hint="Two tasks of a connector are at work at the same time. What does init_transactions() of the second one "
        "do to the first?",
    ),
    Mutant(
        "the number is enough", "no two connectors had tasks of the same number", lambda c, t, n: f"task-{t}",
        hint="Each connector counts its tasks from 0. Which other task has the same name?",
    ),
    Mutant(
        "one name for all", "one name did for every task", lambda c, t, n: "connect",
        hint="What does init_transactions() do to another producer that has the same name and is at work?",
    ),
    Mutant(
        "names run together", "a name and a number side by side were never the same text for two tasks",
        lambda c, t, n: f"{c}{t}",
        hint='Compare task 11 of "copy" with task 1 of "copy1". How do you keep the two parts apart?',
    ),
)  # fmt: skip


def why_not(value: object) -> str:
    """Return why the value is no `transactional.id`; "" if it is one."""
    fits = isinstance(value, str) and value.isprintable() and 0 < len(value) <= NAME.most
    return "" if fits else f"a name is a text of 1 to {NAME.most} printable characters"


EXERCISE = Exercise(
    "L17.E3",
    lambda answer: against_trials(answer, trials(seed()), MUTANTS, FORM, why_not),
    (
        "Two starts of the same task follow each other. Two different tasks work at the same time. In which of the two "
        "cases shall one producer fence the other?",
        "init_transactions() fences the producer with the same name and aborts what it left open. So an attempt needs "
        "the name of the attempt before it, and no task may have the name of another task.",
        "Put connector and task into the name, with a sign between them that keeps the two apart, and leave attempt "
        "out.",
    ),
    points=5,
    misses=hints_of(MUTANTS),
    question=lambda of_seed: [trial.calls for trial in trials(of_seed)],
    afterwards=(
        "Why: a fixed name ends the old attempt, and still the position outside can be ahead of the transaction: a "
        "task that stops after it has stored its position loses the receipt. Kafka Connect's exactly-once support "
        "closes both gaps: a fixed name for each task, and the position in the same transaction. Next: lab 12 counts "
        "such losses in millions of records."
    ),
)
