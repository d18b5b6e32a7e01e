"""The scenarios that a search found, beside those made by hand: how few faults show what a rule protects."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from kafkalab.checks.all import BY_NAME
from kafkalab.explore.anomalies import FAILED, REFUSED, findings_of, parse_names
from kafkalab.explore.answers import other_answers
from kafkalab.explore.experiment import run_to_end
from kafkalab.explore.programs import GENERIC
from kafkalab.faults.frame import Release
from kafkalab.faults.link import Heal
from kafkalab.faults.node import Restart, Resume
from kafkalab.protocol import rules
from kafkalab.protocol.rules import REGISTRY, Rule
from kafkalab.sim.scenario import Scenario

FOLDER = Path("data") / "found"
UNDO = (Restart, Resume, Heal, Release)
TOP = """\
## The fewest faults that a search found

`python -m tests.explore table` searches with each rule off: first in three generic programs, of which none was written
for a rule (`kafkalab/explore/programs.py`: an idempotent producer; transactions over two partitions and a successor;
two workers that consume, transform and produce), then in the programs of the rule's own scenario without its faults.
What it found is made small and saved in data/found/; each was run for this page with the rule on, which is clean, and
off. A fault and what undoes it are one. "own programs": found there, and in no generic program with as few faults
within the budget. Where no anomaly of the checks shows, "failed program" and "refused request" say what does, and
"other answer" that a client is answered otherwise than with the rule on. What the same programs show with all rules on
is in [campaign.md](campaign.md).
"""


WHY_NOT: dict[Rule, str] = {
    rules.ROTATION_LOGGED: "it takes the crash of a coordinator, and three frames that are lost or late",
    rules.MARKERS_BY_EPOCH: "it takes two elections of the coordinator's partition, and three markers that are lost or "
    "late",
    rules.GROUP_SEEN_AGAIN: "it takes a paused member, and a verification that is as late as its pause is long",
    rules.NEXT_GUARD_STAYS: "it takes a marker and a verification that are late by a few milliseconds each",
    rules.LEADER_EPOCH: "it takes a cut, two elections, and the crash of the leader",
    rules.CLEAN_ELECTION: "it takes a replica that is cut off for long, and then the crash of both others",
    rules.LAST_BATCH_STAYS: "it takes a lost answer, a compaction, a replica that was down meanwhile, and its election",
    rules.DELETE_HORIZON: "what is read is the same; only the log grows",
    rules.NO_NEEDLESS_BATCH: "what is read is the same; only the log is longer by an empty batch",
}
"""For each rule that no search has found: what it takes, or why nothing shows."""


def found_scenario(rule: Rule, root: Path) -> Scenario | None:
    """Return what the search found for the rule, with the rule on; None for a rule without."""
    path = root / FOLDER / f"{slug(rule)}.klab"
    return Scenario.load(path) if path.exists() else None


def slug(rule: Rule) -> str:
    """The name of the rule's constant in small letters: `slug(DEDUPLICATION) == "deduplication"`."""
    return next(name for name, value in vars(rules).items() if value == rule).lower()


def fault_count(scenario: Scenario) -> int:
    """Return how many faults a scenario has; what undoes one is none."""
    return sum(not isinstance(fault, UNDO) for fault in scenario.faults)


def shown_without(rule: Rule, scenario: Scenario) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the forbidden anomalies of the run with the rule on, and what shows only with the rule off.

    Failed programs and refused requests are named where no anomaly of the checks shows, and another answer where
    not even these do.
    """
    names = (*parse_names(()), FAILED, REFUSED)
    without = replace(scenario, rules_off=(*scenario.rules_off, rule.name))
    runs = [run_to_end(one)[0] for one in (scenario, without)]
    on, off = (tuple(dict.fromkeys(f.anomaly for f in findings_of(run, names))) for run in runs)
    shown = tuple(name for name in off if name not in on)
    checked = tuple(name for name in shown if name in BY_NAME)
    answers = tuple(f.anomaly for f in other_answers(runs[1], runs[0]))
    return tuple(name for name in on if name in BY_NAME), checked or shown or answers


def section(hand: dict[Rule, int], root: Path) -> list[str]:
    """Return the lines of the section; `hand` says how many faults the scenario made by hand has."""
    lines = ["| rule off | faults by hand | found | in | faults | what shows |", "|---|:-:|:-:|---|---|---|"]
    missing = []
    for rule in REGISTRY:
        scenario = found_scenario(rule, root)
        if scenario is None:
            missing.append(rule)
            continue
        shown = ", ".join(shown_without(rule, scenario)[1])
        by_hand = str(hand[rule]) if rule in hand else ""
        faults = "; ".join(f"`{fault!r}`" for fault in scenario.faults) or "none"
        lines.append(f"| {rule.name} | {by_hand} | {fault_count(scenario)} | {place(scenario)} | {faults} | {shown} |")
    names = [f"* {rule.name}: {WHY_NOT[rule]}" if rule in WHY_NOT else f"* {rule.name}" for rule in missing]
    head = ["", "Not found within 30 seconds, because of what it takes:", ""] if names else []
    return [TOP, *lines, *head, *names]


def place(scenario: Scenario) -> str:
    """Return which program the search found it in, and the profile; "own programs" for the rule's own."""
    title = scenario.title.partition(": ")[2].partition(', without "')[0]
    generic = {make().title: make.__name__.replace("_", " ") for make in GENERIC}
    return f"{generic.get(title, 'own programs')}, {scenario.profile}"
