"""Runs that go wrong in known ways: the scenarios of the rules in data/, with the rule off."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

from kafkalab.history.export import history_of
from kafkalab.history.history import History
from kafkalab.protocol.rules import Rule
from kafkalab.reference.found_scenarios import slug
from kafkalab.reference.rule_matrix import EXPECTED, FOLDER
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.scenario import Scenario

ROOT = Path(__file__).resolve().parents[3]
RULES = {slug(rule): rule for rule, anomaly in EXPECTED.items() if anomaly in ("duplicate", "torn transaction")}
STUCK = {slug(rule): rule for rule, anomaly in EXPECTED.items() if anomaly == "hanging transaction"}


@cache
def without(name: str) -> History:
    """Return what happens in the scenario of data/rules without its rule."""
    rule: Rule = {**RULES, **STUCK}[name]
    scenario = Scenario.load(ROOT / FOLDER / f"{name}.klab")
    cluster = Cluster(replace(scenario, rules_off=(*scenario.rules_off, rule.name)))
    cluster.run()
    return history_of(cluster)


def all_of_them() -> list[tuple[int, History]]:
    """Each with a number."""
    return [(number, without(name)) for number, name in enumerate((*RULES, *STUCK), 1)]
