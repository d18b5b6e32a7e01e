"""L6.E1: a name for every instance, tried in four deployments over 200 schedules."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from random import Random
from typing import Any

from kafkalab.client.exceptions import KafkaError
from kafkalab.faults.fault import Fault
from kafkalab.faults.node import Crash, Pause, Resume
from kafkalab.grading.counterexamples import answer_step
from kafkalab.grading.exercise import BlankAnswer, Exercise, WrongType, WrongValue, describe, is_blank
from kafkalab.grading.mutants import call_with_copy
from kafkalab.grading.schedules import AuditFinding, over_scenarios
from kafkalab.grading.seeds import random_for, seed
from kafkalab.programs.billing import CHARGES, ORDERS, REPLACED_MS
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.scenario import Program, Scenario

FORM = "a function transactional_id(facts) that returns a string"
SCHEDULES = 50
"""Of each deployment."""

PROMPT_MS = 15_000
"""By then a replacement that started at 5 s has charged everything, and a read_committed reader must see it."""

Facts = dict[str, Any]
Name = Callable[[Facts], str]


def facts_of(random: Random, environment: str = "production", instance: int = 0) -> Facts:
    """Return what an instance knows of itself when it starts. Host and start are others after every restart."""
    return {
        "app": "billing",
        "environment": environment,
        "instance": instance,
        "host": f"node-{random.randrange(16**6):06x}",
        "started_ms": 1_760_000_000_000 + random.randrange(10**9),
    }


def _service(node: str, name: str, slot: int, group: str, start_after_ms: int = 0) -> Program:
    args = {"transactional_id": name, "slot": slot, "group": group, "start_after_ms": start_after_ms}
    return Program(node, "billing", args)


def _deployment(title: str, programs: list[Program], faults: tuple[Fault, ...], random: Random) -> Scenario:
    slots = 1 + max(int(p.args["slot"]) for p in programs)
    return Scenario(
        title=title,
        seed=random.randint(1, 10_000),
        topics={ORDERS: slots, CHARGES: 1},
        records={f"{ORDERS}-{slot}": tuple(f"{slot}{n}" for n in (1, 2)) for slot in range(slots)},
        programs=tuple(programs),
        faults=faults,
    )


def _replace(random: Random, name: Name, title: str, *faults: Fault) -> Scenario:
    first, second = name(facts_of(random)), name(facts_of(random))
    programs = [_service("till-1", first, 0, "billing"), _service("till-2", second, 0, "billing", REPLACED_MS)]
    return _deployment(title, programs, faults, random)


def crash(random: Random, name: Name) -> Scenario:
    """One instance; it crashes, and is started again on another host."""
    return _replace(random, name, "One instance, started again after a crash", Crash("till-1", at_ms=_moment(random)))


def asleep(random: Random, name: Name) -> Scenario:
    """One instance; it stops for a while and is replaced, then it wakes up."""
    at = _moment(random)
    faults = (Pause("till-1", at_ms=at), Resume("till-1", at_ms=REPLACED_MS + random.randint(0, 15_000)))
    return _replace(random, name, "One instance, replaced while it only slept", *faults)


def side_by_side(random: Random, name: Name) -> Scenario:
    """Three instances at once, each with a partition of its own; nothing goes wrong."""
    programs = [
        _service(f"billing-{n}", name(facts_of(random, instance=n)), n, "billing", random.randint(0, 200))
        for n in range(3)
    ]
    return _deployment("Three instances side by side", programs, (), random)


def two_environments(random: Random, name: Name) -> Scenario:
    """Production and test on one cluster; nothing goes wrong."""
    programs = [
        _service(kind, name(facts_of(random, kind)), n, f"billing-{kind}", random.randint(0, 200))
        for n, kind in enumerate(("production", "test"))
    ]
    return _deployment("Production and test on one cluster", programs, (), random)


DEPLOYMENTS = (crash, asleep, side_by_side, two_environments)


def _moment(random: Random) -> int:
    """A moment at which the first instance is in the middle of its work."""
    return random.randint(60, 190)


def scenarios(of_seed: int, name: Name) -> Iterator[Scenario]:
    """Each deployment so many times, at other moments and with other latencies."""
    random = random_for("L6.E1", of_seed)
    for _ in range(SCHEDULES):
        for deployment in DEPLOYMENTS:
            yield deployment(random, name)


# what is asked of each run


def audit(cluster: Cluster) -> AuditFinding | None:
    """Needless fencing, a charge made twice, or readers that wait for a transaction which nobody ends."""
    title = cluster.scenario.title
    for node, result in cluster.results.items():
        if isinstance(result, KafkaError) and not cluster.scenario.faults:
            says = f"{title}: {node} was stopped by {type(result).__name__}, although nobody was to replace it."
            miss = "environments" if node in ("production", "test") else "shared"
            return AuditFinding(says=says, miss=miss, step=answer_step(cluster.trace, node))
    charges = cluster.outcome().committed[f"{CHARGES}-0"]
    twice = next((value for value in charges if charges.count(value) > 1), None)
    if twice is not None:
        says = f"{title}: order {twice} was charged twice, by the old instance and the new."
        return AuditFinding(says=says, miss="new name", step=_charged_again(cluster, twice))
    waiting = _still_hidden(cluster)
    if waiting:
        says = (
            f"{title}: at 15 s all is charged, but a read_committed reader cannot see the last {waiting} records yet."
        )
        step = max(e.step for e in cluster.trace.events if e.at_ms <= PROMPT_MS)
        return AuditFinding(says=says, miss="new name", step=step)
    return None


def _charged_again(cluster: Cluster, value: str) -> int:
    """The step at which the log has this charge for the second time."""
    leader = cluster.controller.metadata.leader(f"{CHARGES}-0")
    appends = [e for e in cluster.trace.of("append", f"{CHARGES}-0") if e.node == leader]
    return [e.step for e in appends if value in [r.value for r in e.data.records]][1]


def _still_hidden(cluster: Cluster) -> int:
    """Return how many offsets of the charges lie between last stable offset and high watermark at PROMPT_MS."""
    partition = f"{CHARGES}-0"
    leader = cluster.controller.metadata.leader(partition)
    known = [e.data for e in cluster.trace.of("state", "watermark") if e.at_ms <= PROMPT_MS and e.node == leader]
    marks = [(d["high_watermark"], d["last_stable_offset"]) for d in known if d["partition"] == partition]
    return marks[-1][0] - marks[-1][1] if marks else 0


def check(answer: object) -> str:
    """ "200 of 200 schedules" if the names never do harm; WrongAnswer carries the first run in which they do."""
    if not callable(answer):
        raise WrongType(f"Give {FORM}, not {describe(answer)}.")
    every = scenarios(seed(), partial(_call_name, answer))
    return over_scenarios(every, (audit,), SCHEDULES * len(DEPLOYMENTS))


def _call_name(answer: Callable[..., Any], facts: Facts) -> str:
    name = call_with_copy(answer, (facts,))
    if is_blank(name):
        raise BlankAnswer(f"The function is still blank: it returns nothing. Give {FORM}.")
    if not isinstance(name, str):
        raise WrongValue(f"For {facts} the function returns {describe(name)}, which is no string. Give {FORM}.")
    return name


EXERCISE = Exercise(
    "L6.E1",
    check,
    (
        "Ask of every two instances: is one the replacement of the other? If so they need the same name, if not they "
        "need different ones.",
        "Which facts are the same for an instance and its replacement? Only those may be in the name. Which facts tell "
        "apart two instances that live at the same time? All of those must be.",
        "Host and start change when an instance is replaced; app, environment and instance stay. Make the name from "
        "the three that stay.",
    ),
    points=4,
    questions=(12, 13),
    misses={
        "shared": "Instances that work side by side do not replace each other. Under one name the later one fences "
        "the others. What tells them apart?",
        "environments": "All programs on a cluster share one name space. What tells production from test?",
        "new name": "With a new name the replacement fences no instance, and ends no transaction. "
        "Which facts does it share with the instance that it replaces?",
    },
    afterwards=(
        "Why: the name is the same for an instance and its replacement, so the replacement fences the old one and "
        "ends its transaction; and it is different for any two that live side by side. Next: exercise 2 takes the "
        "epoch check away."
    ),
)
