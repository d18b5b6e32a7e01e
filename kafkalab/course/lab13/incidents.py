"""Incidents: what was set up and went wrong, as a scenario, and what the clients logged; which rule was missing is not
told. They are the shortest counterexamples that a search has found (data/found/), without their titles.
"""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from kafkalab.checks.all import check_all
from kafkalab.grading.seeds import random_for
from kafkalab.history.export import history_of
from kafkalab.history.schema import Operation
from kafkalab.programs.transfers import read_to_the_end
from kafkalab.protocol import rules
from kafkalab.protocol.rules import Rule
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.scenario import Scenario

CASES = Path(__file__).with_name("incidents.json")
"""The scenarios in the order of QUESTIONS."""
QUESTIONS: dict[Rule, tuple[int, ...]] = {
    rules.DEDUPLICATION: (19,),
    rules.FIVE_BATCHES: (20,),
    rules.SEQUENCE_GAPS: (21,),
    rules.ABORT_ON_INIT: (17,),
    rules.TIMEOUT_MAXIMUM: (16, 6),
    rules.VERIFICATION: (38, 6),
    rules.EPOCH_PER_TRANSACTION: (26, 25),
    rules.LSO_BOUND: (7, 11),
    rules.ABORTED_FILTER: (10, 8),
    rules.GENERATION_CHECK: (28,),
    rules.STABLE_OFFSETS: (29,),
}
"""The learners' questions (kafkalab/course/questions.py) that are about what each rule protects."""
COUNT, SEEDS = 3, 40
CLIENT, LEADER, COORDINATOR, GROUP = "client", "partition leader", "transaction coordinator", "group coordinator"
PLACES = (CLIENT, LEADER, COORDINATOR, GROUP)
SERVES = {
    LEADER: ("Produce", "Fetch", "ListOffsets", "WriteTxnMarkers"),
    COORDINATOR: ("InitProducerId", "AddPartitionsToTxn", "AddOffsetsToTxn", "EndTxn"),
    GROUP: ("TxnOffsetCommit", "OffsetCommit", "OffsetFetch", "JoinGroup", "SyncGroup", "Heartbeat"),
}
PLACE_OF = {api: place for place, apis in SERVES.items() for api in apis}
Incident = dict[str, Any]


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
    return tuple((rule, Scenario.from_json(row, CASES.name)) for rule, row in zip(QUESTIONS, found, strict=True))


def without(scenario: Scenario, rule: Rule) -> Scenario:
    """Return the scenario on a Kafka without this rule."""
    return replace(scenario, rules_off=(rule.name,))


@cache
def draw_incidents(of_seed: int) -> tuple[tuple[Rule, Scenario], ...]:
    """Return `COUNT` incidents with delays of the network under which they happen."""
    random = random_for("L13.E2", of_seed)
    found = []
    for rule, plain in random.sample(scenarios(), COUNT):
        for seed in random.sample(range(1, SEEDS), SEEDS - 1):
            scenario = plain.with_seed(seed)
            if not anomalies_of(scenario) and anomalies_of(without(scenario, rule)):
                found.append((rule, scenario))
                break
    return tuple(found)


@cache
def list_given(of_seed: int) -> tuple[Incident, ...]:
    """Return what the learner is given of each: {"klab": the scenario as text, "logs": the clients' lines}."""
    return tuple(
        {"klab": json.dumps(scenario.to_json()), "logs": client_logs(without(scenario, rule))}
        for rule, scenario in draw_incidents(of_seed)
    )


def first_difference(scenario: Scenario, rule: Rule) -> tuple[Cluster, int]:
    """Return the run without the rule, and the first step at which it differs from the run with all rules."""
    whole, broken = ran_and_read(scenario), ran_and_read(without(scenario, rule))
    pairs = zip(whole.trace.events, broken.trace.events, strict=False)
    return broken, next(a.step for a, b in pairs if a.as_json() != b.as_json())


def place_of(scenario: Scenario, rule: Rule) -> str:
    """Return who acts in another way first if the rule is missing, one of PLACES: there it has to be put back."""
    cluster, step = first_difference(scenario, rule)
    event = cluster.trace.events[step]
    if not cluster.is_server(event.node):
        return CLIENT
    while event.cause >= 0:
        event = cluster.trace.events[event.cause]
        if event.kind == "receive":
            frame = cluster.trace.frames[event.frame]
            if frame.category != "verification" or frame.kind == "request":
                break
            event = cluster.trace.events[cluster.trace.frames[frame.of].sent_step]  # what the verification was for
    return PLACE_OF.get(event.name.removesuffix("Response"), COORDINATOR)
