"""The matrix of rules and anomalies: for each rule a stored run that is clean with it and shows an anomaly without it.

To add a rule: save a scenario as data/rules/<the rule's constant in small letters>.klab, name the anomaly in EXPECTED,
run `kafkalab rules`. A rule without which no check finds anything is named in REASONS instead.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from kafkalab.checks.all import CHECKS, Report, check_all
from kafkalab.history.export import history_of
from kafkalab.protocol import rules
from kafkalab.protocol.profiles import PROFILES
from kafkalab.protocol.rules import REGISTRY, Rule
from kafkalab.reference.found_scenarios import fault_count, section, slug
from kafkalab.reference.protocol_page import table
from kafkalab.sim.cluster import Cluster, ran
from kafkalab.sim.scenario import Scenario

FOLDER = Path("data") / "rules"
REASONS: dict[Rule, str] = {
    rules.ANY_FIRST_SEQUENCE: "Without it the batch of a producer that was idle for long is refused "
    "(UNKNOWN_PRODUCER_ID), and nothing is written; the rule protects the producer's right to go on.",
    rules.TOPIC_WRITE_SUFFICES: "It decides who may ask for a producer id, not what becomes of records; without it "
    "idempotence needs one more right.",
    rules.INVALID_RECORD_CODE: "A malformed batch is refused with it and without it; without it with the error of a "
    "damaged one (CORRUPT_MESSAGE), which producers retry.",
    rules.LSO_FOR_ALL: "Without it a Fetch under read_uncommitted has -1 in its place; no record depends on it.",
    rules.NEXT_GUARD_STAYS: "Without it the first batch of the next transaction is refused (INVALID_TXN_STATE) and its "
    "producer ends; nothing is written that should not be, and nothing is lost that was acknowledged.",
    rules.VERIFIED_AT_ONCE: "Without it a batch has to wait (NOT_ENOUGH_REPLICAS) and may arrive after a later one, "
    "which the leader then refuses by its lowest verified sequence: another rule, in the table above.",
    rules.EPOCH_BEFORE_GUARD: "The batch is refused with it and without it; it decides with which error, and so "
    "whether the producer can abort and continue, or has to end.",
    rules.FENCED_CODE: "A fenced producer is refused with it and without it; it decides with which error, and so "
    "whether a producer whose transaction has timed out can continue.",
    rules.PENDING_FIRST: "Without it a producer that uses its new epoch while the markers are under way gets "
    "PRODUCER_FENCED and ends; its transactions are complete.",
    rules.FENCE_BUMPS_ONCE: "Without it a takeover or a timeout uses two epochs instead of one. The skipped epoch "
    "belongs to no producer, and at the last epoch the producer id is replaced as usual.",
    rules.EMPTY_NOT_COMPLETED: "Without it the aborted index has an entry for a marker without records; a consumer "
    "removes the entry at the marker, so it costs space in the index and in Fetch responses, but no record.",
    rules.EFFECTIVE_MIN_ISR: "Without it a record that acks=1 left in one replica can be read and its decision be "
    "answered; only a disk that fails then loses it, and no fault of this cluster destroys a disk.",
    rules.GROUP_LOG_WAITS: "Without it a commit is refused at once while too few replicas are in sync, as any write "
    "with acks=all; with it the commit waits for a replica to come back, and fails after offsets.commit.timeout.ms.",
    rules.DELETE_HORIZON: "Without it the age is taken from the file's modification time, which every cleaning renews, "
    "so markers and tombstones stay; what is read is the same, from a log that grows.",
    rules.NO_NEEDLESS_BATCH: "Without it each cleaning keeps the last batch of what it cleans, even if that is empty; "
    "what is read is the same.",
}
"""Rules that no scenario can show to matter to a promise about data: why, and what stops without them instead."""

PAGE = Path("docs") / "rules.md"

EXPECTED: dict[Rule, str] = {
    rules.DEDUPLICATION: "duplicate",
    rules.FIVE_BATCHES: "duplicate",
    rules.OLD_BATCHES: "lost-write",
    rules.SEQUENCE_GAPS: "sequence gap",
    rules.STATE_OUTLIVES_DATA: "duplicate",
    rules.MARKERS_KEEP_STATE: "torn transaction",
    rules.PRODUCE_EPOCH: "zombie write",
    rules.VERIFICATION: "hanging transaction",
    rules.MARKER_TAKES_GUARD: "hanging transaction",
    rules.LOWEST_SEQUENCE: "sequence gap",
    rules.FIRST_SEQUENCE_ZERO: "sequence gap",
    rules.COORDINATOR_EPOCH_CHECK: "torn transaction",
    rules.EXACT_END_EPOCH: "decision without marker",
    rules.BUMP_ON_INIT: "torn transaction",
    rules.ABORT_ON_INIT: "torn transaction",
    rules.KEEP_EPOCH_EXPECTED: "exactly-once",
    rules.EPOCH_PER_TRANSACTION: "torn transaction",
    rules.PREPARE_FIRST: "marker without decision",
    rules.REDRIVE_PREPARE: "decision without marker",
    rules.COMPLETE_REWRITTEN: "decision without marker",
    rules.FENCE_ROTATES: "torn transaction",
    rules.ROTATION_LOGGED: "torn transaction",
    rules.MARKERS_BY_EPOCH: "decision without marker",
    rules.LEADER_AWAITED: "hanging transaction",
    rules.TIMEOUT_ABORT: "hanging transaction",
    rules.TIMEOUT_BUMPS: "torn transaction",
    rules.TIMEOUT_MAXIMUM: "hanging transaction",
    rules.MARKER_EPOCH: "torn transaction",
    rules.MARKER_PRODUCER_EPOCH: "torn transaction",
    rules.NEWER_MARKER_EPOCH: "torn transaction",
    rules.MARKER_RETRY: "decision without marker",
    rules.GENERATION_CHECK: "offset/output split",
    rules.OFFSETS_EPOCH: "zombie write",
    rules.GROUP_SEEN_AGAIN: "offset/output split",
    rules.STABLE_OFFSETS: "offset/output split",
    rules.NEWEST_OFFSET: "exactly-once",
    rules.LSO_BOUND: "G1a",
    rules.WATERMARK_ONCE: "G1a",
    rules.ABORTED_FILTER: "G1a",
    rules.HIGH_WATERMARK: "inconsistent-offsets",
    rules.LEADER_EPOCH: "inconsistent-offsets",
    rules.CLEAN_ELECTION: "lost-write",
    rules.LAST_BATCH_STAYS: "duplicate",
}
"""The anomaly that each rule's scenario must show when the rule is off; others may show with it."""

TOP = """\
# What each rule protects

Computed by `kafkalab rules` from the scenarios of data/rules/: each was run with its rule on and off, and every
check was applied to both histories. With the rule on, no check found a forbidden anomaly. A mark is one found with
the rule off; the bold one is the anomaly that the scenario was written to show.
"""


@dataclass(frozen=True, slots=True)
class Row:
    """One rule: its scenario, the forbidden anomalies with the rule on and off, and what is off there besides."""

    rule: Rule
    title: str
    on: tuple[str, ...]
    off: tuple[str, ...]
    profile: str = "4.x/TV2"
    besides: tuple[str, ...] = ()


def scenario_of(rule: Rule, root: Path) -> Scenario:
    """The stored scenario of a rule, under the project's folder `root`. ValueError if its profile lacks the rule."""
    scenario = Scenario.load(root / FOLDER / f"{slug(rule)}.klab")
    if not scenario.rules.on(rule):
        raise ValueError(f"{slug(rule)}.klab runs without the rule {rule.name!r}: with it on it must be clean")
    return scenario


def report_of(scenario: Scenario) -> Report:
    """Return what the checks say of a run of the scenario. ValueError if one of its faults changed nothing."""
    return check_all(history_of(ran_with_all(scenario)))


def ran_with_all(scenario: Scenario) -> Cluster:
    """Run the scenario to its end. ValueError if one of its faults changed nothing."""
    cluster = ran(scenario)
    if cluster.unused_faults:
        raise ValueError(f"{scenario.title!r}: {', '.join(map(repr, cluster.unused_faults))} changed nothing")
    return cluster


def matrix(root: Path) -> list[Row]:
    """One row for each rule of EXPECTED, in the order of its list."""
    found = []
    for rule in EXPECTED:
        scenario = scenario_of(rule, root)
        off = report_of(replace(scenario, rules_off=(*scenario.rules_off, rule.name)))
        on = report_of(scenario).violated
        found.append(Row(rule, scenario.title, on, off.violated, scenario.profile, scenario.rules_off))
    return found


def text_of(root: Path) -> str:
    """Return docs/rules.md as the runs made now have it."""
    hand = {rule: fault_count(scenario_of(rule, root)) for rule in EXPECTED}
    return page(matrix(root)) + "\n" + "\n".join(section(hand, root)) + "\n"


def page(rows: list[Row]) -> str:
    """The matrix as a page of Markdown: the marks, what happens in each scenario, and the rules of REASONS."""
    return "\n".join([TOP, *_marks(rows), "", *_stories(rows), "", *_without_scenario(rows)]) + "\n"


def _marks(rows: list[Row]) -> list[str]:
    found = {name for row in rows for name in row.off}
    anomalies = [check.name for check in CHECKS if check.name in found]
    lines = []
    for row in rows:
        signs = {name: "**X**" if EXPECTED.get(row.rule) == name else "x" for name in row.off}
        lines.append((row.rule.name, *(signs.get(name, "") for name in anomalies)))
    return table(("rule off", *anomalies), lines, f"|---|{':-:|' * len(anomalies)}")


def _stories(rows: list[Row]) -> list[str]:
    head = ("rule", "from", "what happens", "profile", "anomalies with the rule off", "profiles without it")
    lines = []
    for row in rows:
        lacking = ", ".join(name for name, profile in PROFILES.items() if row.rule in profile.lacks) or "none"
        off = ", ".join(row.off) or "none"
        clean = "" if not row.on else f" (with it on: {', '.join(row.on)})"
        where = "; ".join((row.profile, *(f'also off: "{name}"' for name in row.besides)))
        lines.append((row.rule.name, row.rule.source, row.title, where, off + clean, lacking))
    return ["## What happens in the scenarios", "", *table(head, lines, "|---|---|---|---|---|---|")]


def _without_scenario(rows: list[Row]) -> list[str]:
    rest = [rule for rule in REGISTRY if rule not in [row.rule for row in rows]]
    lines = ["## Rules whose absence no check can see", ""]
    return [*lines, *(f"* {rule.name} ({rule.source}). {REASONS.get(rule, 'No scenario yet.')}" for rule in rest)]
