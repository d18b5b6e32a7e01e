"""Incidents: scenarios that go wrong without one rule, and what their clients logged.

They are the shortest counterexamples that a search has found (data/found/), without their titles.
"""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from kafkalab.checks.all import check_all
from kafkalab.grading.seeds import random_for
from kafkalab.history.export import history_of
from kafkalab.history.schema import Operation
from kafkalab.programs.transfers import read_to_the_end
from kafkalab.protocol import rules
from kafkalab.protocol.rules import Rule
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.scenario import Program, Scenario

CASES = Path(__file__).with_name("incidents.json")
"""The scenarios in the order of MISSING."""
MISSING: tuple[Rule, ...] = (
    rules.DEDUPLICATION, rules.FIVE_BATCHES, rules.SEQUENCE_GAPS, rules.ABORT_ON_INIT, rules.TIMEOUT_MAXIMUM,
    rules.VERIFICATION, rules.EPOCH_PER_TRANSACTION, rules.LSO_BOUND, rules.ABORTED_FILTER, rules.GENERATION_CHECK,
    rules.STABLE_OFFSETS,
)  # fmt: skip
"""The rule that is missing in each of the scenarios."""
COUNT, SEEDS, LATER_MS = 3, 40, 300_000


def ran_and_read(scenario: Scenario) -> Cluster:
    """Run the scenario, and then read every topic to its end under both isolation levels."""
    cluster = Cluster(scenario)
    cluster.run()
    read_to_the_end(cluster)
    return cluster


def anomalies_of(scenario: Scenario) -> list[str]:
    """Return the names of all forbidden anomalies in a run of the scenario."""
    return sorted(check_all(history_of(ran_and_read(scenario))).violated)


def client_logs(scenario: Scenario) -> list[str]:
    """Return a line for each call of a client, and for what each reader was given; no broker's word is in it.

    Of a run whose program gives up there is one line, which says why.
    """
    try:
        history = history_of(ran_and_read(scenario))
    except ValueError as error:
        return [str(error)]
    begun = {o.index: o for o in history.operations}
    calls = [o for o in history.operations if o.function not in ("assign", "poll")]
    lines = [(o.step, _line(o, begun.get(o.invocation))) for o in calls]
    lines += [
        (r.step, f"{r.at_ms} ms {r.process}: {r.isolation_level} reads {r.value!r} at {r.key}[{r.offset}]")
        for r in history.reads
    ]
    return [line for _, line in sorted(lines, key=lambda line: line[0])]


def _line(call: Operation, begun: Operation | None) -> str:
    what = f"{call.at_ms} ms {call.process}: {call.function}"
    value = "" if call.value is None else f" {call.value!r} to {call.key}"
    if begun is None:
        return f"{what}{value}"
    took = f"after {call.at_ms - begun.at_ms} ms"
    return f"{what}{value} {call.type} {took}" + (f", {call.error}" if call.error not in ("", "NONE") else "")


@cache
def scenarios() -> tuple[tuple[Rule, Scenario], ...]:
    """Return the rule that is missing in each incident, and the incident with all rules."""
    found = json.loads(CASES.read_text(encoding="utf-8"))
    return tuple((rule, Scenario.from_json(row, CASES.name)) for rule, row in zip(MISSING, found, strict=True))


def without(scenario: Scenario, rule: Rule) -> Scenario:
    """Return the scenario on a Kafka without this rule."""
    return replace(scenario, rules_off=(rule.name,))


def with_a_till(scenario: Scenario, random: Random) -> Scenario:
    """Return the scenario with a service that has nothing to do with the incident: a few transactions, later."""
    steps: list[list[Any]] = [["sleep", LATER_MS], ["init_transactions"]]
    for number in range(random.randint(3, 5)):
        end = "commit_transaction" if random.random() < 0.7 else "abort_transaction"
        write = ["send", "orders", f"order {number}", None, random.randint(0, 1)]
        steps += [["begin_transaction"], write, ["flush"], [end], ["sleep", random.randint(500, 3_000)]]
    till = Program("till", "operations", {"transactional_id": "till-0", "steps": steps})
    return replace(scenario, topics={**scenario.topics, "orders": 2}, programs=(*scenario.programs, till))


@cache
def draw_incidents(case: int) -> tuple[tuple[Rule, Scenario], ...]:
    """Return `COUNT` incidents: each a missing rule, and a scenario that is clean with it and not without it."""
    random = random_for("L13.E3", case)
    found = []
    for rule, plain in random.sample(scenarios(), COUNT):
        for seed in random.sample(range(1, SEEDS), SEEDS - 1):
            scenario = with_a_till(plain.with_seed(seed), random)
            if not anomalies_of(scenario) and anomalies_of(without(scenario, rule)):
                found.append((rule, scenario))
                break
    return tuple(found)


def first_difference(scenario: Scenario, rule: Rule) -> tuple[Cluster, int]:
    """Return the run without the rule, and the first step at which it differs from the run with all rules."""
    whole, broken = ran_and_read(scenario), ran_and_read(without(scenario, rule))
    pairs = zip(whole.trace.events, broken.trace.events, strict=False)
    return broken, next(a.step for a, b in pairs if a.as_json() != b.as_json())
