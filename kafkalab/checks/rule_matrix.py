"""The matrix of rules and anomalies: for each rule a stored run that is clean with it and shows an anomaly without it.

To add a rule: save a scenario as data/rules/<the rule's constant in small letters>.klab, name the anomaly in EXPECTED,
run `kafkalab rules`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from kafkalab import rules
from kafkalab.checks.all import Report, check_all
from kafkalab.history import history_of
from kafkalab.profiles import PROFILES
from kafkalab.rules import REGISTRY, Rule
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.scenario import Scenario

FOLDER = Path("data") / "rules"
PAGE = Path("docs") / "rules.md"

EXPECTED: dict[Rule, str] = {
    rules.DEDUPLICATION: "duplicate",
    rules.FIVE_BATCHES: "duplicate",
    rules.SEQUENCE_GAPS: "sequence gap",
    rules.PRODUCE_EPOCH: "zombie write",
    rules.VERIFICATION: "hanging transaction",
    rules.MARKER_TAKES_GUARD: "hanging transaction",
    rules.COORDINATOR_EPOCH_CHECK: "torn transaction",
    rules.REDRIVE_PREPARE: "decision without marker",
    rules.TIMEOUT_ABORT: "hanging transaction",
    rules.MARKER_EPOCH: "torn transaction",
    rules.MARKER_PRODUCER_EPOCH: "torn transaction",
    rules.NEWER_MARKER_EPOCH: "torn transaction",
    rules.MARKER_RETRY: "decision without marker",
    rules.STABLE_OFFSETS: "offset/output split",
    rules.LSO_BOUND: "G1a",
    rules.ABORTED_FILTER: "G1a",
}
"""The anomaly that each rule's scenario must show when the rule is off; others may show with it."""


@dataclass(frozen=True, slots=True)
class Row:
    """One rule: its scenario's title, and the forbidden anomalies with the rule on and off."""

    rule: Rule
    title: str
    on: tuple[str, ...]
    off: tuple[str, ...]


def slug(rule: Rule) -> str:
    """The name of the rule's constant in small letters: `slug(DEDUPLICATION) == "deduplication"`."""
    return next(name for name, value in vars(rules).items() if value == rule).lower()


def scenario_of(rule: Rule, root: Path) -> Scenario:
    """The stored scenario of a rule, under the project's folder `root`. ValueError if its profile lacks the rule."""
    scenario = Scenario.load(root / FOLDER / f"{slug(rule)}.klab")
    if not scenario.rules.on(rule):
        raise ValueError(f"{slug(rule)}.klab runs without the rule {rule.name!r}: with it on it must be clean")
    return scenario


def report_of(scenario: Scenario) -> Report:
    """What the checks say of a run of the scenario. ValueError if one of its faults changed nothing."""
    cluster = Cluster(scenario)
    cluster.run()
    if cluster.unused_faults:
        raise ValueError(f"{scenario.title!r}: {', '.join(map(repr, cluster.unused_faults))} changed nothing")
    return check_all(history_of(cluster))


def matrix(root: Path) -> list[Row]:
    """One row for each rule of EXPECTED, in the order of its list."""
    found = []
    for rule in EXPECTED:
        scenario = scenario_of(rule, root)
        off = report_of(replace(scenario, rules_off=(*scenario.rules_off, rule.name)))
        found.append(Row(rule, scenario.title, report_of(scenario).violated, off.violated))
    return found


def page(rows: list[Row]) -> str:
    """The matrix as a page of Markdown; rules without a scenario are listed behind it."""
    lines = [
        "# What each rule protects",
        "",
        "Computed by `kafkalab rules` from the scenarios of data/rules/: each was run with its rule on and off, and",
        "all checks looked at both histories. With the rule on none found anything forbidden.",
        "",
        "| rule | from | what happens in the scenario | anomalies with the rule off | profiles without it |",
        "|---|---|---|---|---|",
    ]
    for row in rows:
        lacking = ", ".join(name for name, profile in PROFILES.items() if row.rule in profile.lacks) or "none"
        off = ", ".join(row.off) or "none"
        clean = "" if not row.on else f" (with it on: {', '.join(row.on)})"
        lines.append(f"| {row.rule.name} | {row.rule.source} | {row.title} | {off}{clean} | {lacking} |")
    rest = [rule for rule in REGISTRY if rule not in [row.rule for row in rows]]
    if rest:
        lines += ["", "Without a scenario so far:", ""]
        lines += [f"* {rule.name} ({rule.source}): {rule.protects}" for rule in rest]
    return "\n".join(lines) + "\n"
