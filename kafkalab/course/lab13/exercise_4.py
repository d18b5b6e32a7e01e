"""L13.E4: plan an upgrade to transaction.version 2 for a fleet of clients; each step's protection is a run."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import combinations
from random import Random
from typing import Any

from kafkalab.checks.all import check_all
from kafkalab.course.lab09.scenario import lab09
from kafkalab.course.lab13.incidents import ran_and_read
from kafkalab.course.lab15.scenario import late_batch
from kafkalab.faults.frame import Hold, Release
from kafkalab.grading.exercise import BlankAnswer, Exercise, WrongAnswer, WrongType, describe, is_blank
from kafkalab.grading.mutants import called_each
from kafkalab.grading.seeds import random_for, seed
from kafkalab.history.export import history_of
from kafkalab.sim.scenario import Scenario

JAVA_3, JAVA_4, LIBRDKAFKA = CLIENTS = ("Java 3.9", "Java 4.3", "librdkafka 2.16")
PROTOCOL = {JAVA_3: 1, JAVA_4: 2, LIBRDKAFKA: 1}
"""The newest form of the transactional requests that each client speaks, of its newest release for librdkafka."""
LATE_END, LATE_WRITE = FEARS = ("late EndTxn", "late Produce")
NAMES = ("billing", "stock", "mail", "audit", "loyalty", "fraud")
BROKERS, LEVEL_1, LEVEL_2 = "brokers", "level 1", "level 2"
PORT = 10
FORM = (
    "a function plan(fleet) that returns a list of steps, each with the services that are protected after it, like "
    '[("brokers", ["mail"]), ("level 2", ["mail", "stock"])]'
)
FLEETS = 6
Service = dict[str, Any]
Fleet = tuple[Service, ...]
Step = tuple[str, tuple[str, ...]]


def draw_fleet(random: Random) -> Fleet:
    """Draw four to six services: a client, what it fears, and how many instances it has."""
    names = random.sample(NAMES, random.randint(4, 6))
    clients = [*CLIENTS, *(random.choice(CLIENTS) for _ in names[3:])]
    random.shuffle(clients)
    return tuple(
        {"name": name, "client": client, "fears": random.choice(FEARS), "instances": random.randint(1, 9)}
        for name, client in zip(names, clients, strict=True)
    )


@cache
def fleets(of_seed: int) -> tuple[Fleet, ...]:
    """Return the fleets that are asked about; in each a Java 3.9 and a librdkafka fear a late EndTxn."""
    random, found = random_for("L13.E4", of_seed), list[Fleet]()
    while len(found) < FLEETS:
        fleet = draw_fleet(random)
        if {JAVA_3, LIBRDKAFKA} <= {s["client"] for s in fleet if s["fears"] == LATE_END}:
            found.append(fleet)
    return tuple(found)


def scenario(protocol: int, level: int, fears: str) -> Scenario:
    """Return a service of this protocol on brokers with this level of transaction.version, and the frame it fears.

    Brokers 3.9 and 4.3 with level 0 differ in nothing that a late frame meets.
    """
    profile, config = f"4.x/TV{protocol}", {"transaction_version": level}
    if fears == LATE_END:
        late = (Hold("EndTxn#1"), Release("EndTxn#1", at_ms=33_000))
        return lab09(profile, faults=late, config=config)
    return replace(late_batch(profile=profile, verified=True), config=config)


@cache
def holds(protocol: int, level: int, fears: str) -> bool:
    """Return True if no promise is broken in the run."""
    return not check_all(history_of(ran_and_read(scenario(protocol, level, fears)))).violated


def level_after(steps: list[str]) -> int:
    """Return the level of transaction.version after these steps."""
    return 2 if LEVEL_2 in steps else 1 if LEVEL_1 in steps else 0


def is_protected(service: Service, steps: list[str]) -> bool:
    """Return True if the run of this service after these steps keeps all promises."""
    changed = {f"client {service['name']}", f"port {service['name']}"} & set(steps)
    protocol = PROTOCOL[service["client"]]
    if changed and (service["client"] != LIBRDKAFKA or f"port {service['name']}" in steps):
        protocol = PROTOCOL[JAVA_4]
    return holds(protocol, level_after(steps), service["fears"])


def cost_of(fleet: Fleet, steps: list[str]) -> int:
    """Return the number of restarts that the steps take; to port a service costs as much as ten restarts of each."""
    instances = {s["name"]: s["instances"] for s in fleet}
    costs = {BROKERS: 3, LEVEL_1: 0, LEVEL_2: 0}
    costs |= {f"client {name}": count for name, count in instances.items()}
    costs |= {f"port {name}": PORT * count for name, count in instances.items()}
    return sum(costs[step] for step in steps)


def list_steps(fleet: Fleet) -> list[str]:
    """Return all steps that there are for this fleet."""
    names = [s["name"] for s in fleet]
    return [BROKERS, LEVEL_1, LEVEL_2, *(f"client {n}" for n in names), *(f"port {n}" for n in names)]


def find_least(fleet: Fleet) -> int:
    """Return the cost of the cheapest steps after which every service is protected, found by trying."""
    costs = [0 if all(is_protected(s, []) for s in fleet) else 3]
    for service in fleet:
        own = [f"client {service['name']}", f"port {service['name']}"]
        sets = [list(some) for size in range(3) for some in combinations(own, size)]
        good = [some for some in sets if is_protected(service, [BROKERS, LEVEL_2, *some])]
        costs.append(min(cost_of(fleet, some) for some in good))
    return sum(costs)


def check(answer: object) -> str:
    """ "6 of 6 fleets" if each plan protects its fleet at the least cost; else WrongAnswer about the first."""
    if not callable(answer):
        raise WrongType(f"Give {FORM}, not {describe(answer)}.")
    given = fleets(seed())
    plans = called_each(answer, [([dict(s) for s in fleet],) for fleet in given])
    if all(is_blank(plan) for plan in plans):
        raise BlankAnswer(f"The function is still blank: it returns nothing. Give {FORM}.")
    for number, (fleet, plan) in enumerate(zip(given, plans, strict=True)):
        try:
            judge(fleet, _read_plan(plan, fleet))
        except WrongAnswer as error:
            text = f"Fleet {number + 1} of {FLEETS}: {error}"
            raise WrongAnswer(text, run=error.run, miss=error.miss, part=number / FLEETS) from None
    return f"{FLEETS} of {FLEETS} fleets"


def judge(fleet: Fleet, plan: list[Step]) -> None:
    """Raise a WrongAnswer for the first step whose protection is not as said, and for a plan that is not the best."""
    steps: list[str] = []
    for step, said in plan:
        if step in (LEVEL_1, LEVEL_2) and BROKERS not in steps:
            raise WrongAnswer(f"{step!r} comes before the brokers: 3.9 has no transaction.version.", miss="too early")
        steps.append(step)
        for service in fleet:
            _compare(service, steps, service["name"] in said)
    open_ones = [s["name"] for s in fleet if not is_protected(s, steps)]
    if open_ones:
        raise WrongAnswer(f"After all steps {open_ones[0]!r} is not protected.", miss="not all")
    cost, least = cost_of(fleet, steps), find_least(fleet)
    if cost > least:
        raise WrongAnswer(f"Every service is protected, for {cost} restarts; {least} would do.", miss="too dear")


def _compare(service: Service, steps: list[str], said: bool) -> None:
    """Raise a WrongAnswer with the run if the service is protected and was not said to be, or the other way round."""
    if said == is_protected(service, steps):
        return
    name, step = service["name"], steps[-1]
    protocol = 2 if service["client"] == JAVA_4 or f"port {name}" in steps else PROTOCOL[service["client"]]
    if f"client {name}" in steps and service["client"] == JAVA_3:
        protocol = 2
    run = scenario(protocol, level_after(steps), service["fears"])
    text = f"{name!r} ({service['client']}, {service['fears']}) is {'not ' if said else ''}protected after {step!r}."
    if not said:
        miss = "protected already" if service["fears"] == LATE_WRITE else "overlooked"
    elif service["client"] == LIBRDKAFKA:
        miss = "librdkafka speaks 1"
    else:
        miss = "the level alone" if protocol == 1 else "the client alone"
    raise WrongAnswer(text, run=run, miss=miss)


def _read_plan(plan: Any, fleet: Fleet) -> list[Step]:
    """Return a plan as steps with names. WrongType for another form, WrongAnswer for a step that there is not."""
    names, known, found = [s["name"] for s in fleet], list_steps(fleet), list[Step]()
    if not isinstance(plan, (list, tuple)):
        raise WrongType(f"Give {FORM}, not {describe(plan)}.")
    for row in plan:
        if not isinstance(row, (list, tuple)) or len(row) != 2 or not isinstance(row[1], (list, tuple, set)):
            raise WrongType(f"Give {FORM}; one of your steps is {describe(row)}.")
        step, said = row[0], tuple(row[1])
        if step not in known or any(name not in names for name in said):
            raise WrongAnswer(
                f"There is no step {step!r} for {', '.join(map(repr, said)) or 'nobody'}.", miss="no step"
            )
        if step in [before for before, _ in found]:
            raise WrongAnswer(f"The step {step!r} is there twice.", miss="too dear")
        found.append((step, said))
    return found


def question(of_seed: int) -> list[list[Service]]:
    """Return the fleets, as the function gets them."""
    return [[dict(service) for service in fleet] for fleet in fleets(of_seed)]


EXERCISE = Exercise(
    "L13.E4",
    check,
    (
        "Ask two questions of each service: which late frame does it fear, and which protocol does its client speak? "
        "A late Produce is stopped by brokers that verify (3.6 or later), whatever the client. A late EndTxn is "
        "stopped only where each transaction has its own epoch.",
        "An epoch for each transaction needs both: level 2 on the cluster and a client of protocol 2. Java 4.x speaks "
        "2 as soon as the cluster has level 2. Java 3.x and librdkafka speak 1.",
        'Steps: "brokers", "level 2", then "client NAME" for each Java 3.9 that fears a late EndTxn, and "port NAME" '
        "for each such librdkafka. Level 1 and all other restarts protect no service. A service that fears a late "
        "Produce is protected from the beginning, so its name is in every list.",
    ),
    points=10,
    misses={
        "too early": "Brokers of 3.9 do not know the feature. What has to be restarted first?",
        "protected already": "Brokers verify a partition before they append to it since 3.6. Does that depend on the "
        "client?",
        "overlooked": "This service's client speaks protocol 2, and the cluster has level 2. What is missing?",
        "librdkafka speaks 1": "Its newest release speaks protocol 1. What does a broker of level 2 do with that?",
        "the level alone": "The level says what brokers can do. What does this client say in its requests?",
        "the client alone": "A client of protocol 2 speaks 1 on a cluster below level 2.",
        "not all": "Which service is left with a client of protocol 1 and a late EndTxn?",
        "too dear": "Leave out each step in turn. Is any service less protected?",
        "no step": 'The steps are "brokers", "level 1", "level 2", "client NAME" and "port NAME".',
    },
    question=question,
    afterwards=(
        "Why: verification protects all clients and came with the brokers. The epoch for each transaction needs the "
        "cluster level and the client, so an old client stays unprotected on new brokers, without any error. Next: "
        "lab 14 compares Kafka's commit with three other ways."
    ),
)
