"""The scenarios that a search found, beside those made by hand: how few faults show what a rule protects."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from kafkalab.checks.all import BY_NAME
from kafkalab.explore.anomalies import FAILED, REFUSED, findings_of, named
from kafkalab.explore.programs import GENERIC
from kafkalab.explore.trial import run_to_end
from kafkalab.protocol import rules
from kafkalab.protocol.rules import REGISTRY, Rule
from kafkalab.sim.faults import Heal, Release, Restart, Resume
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
within the budget.
"""


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

    Failed programs and refused requests are named where no anomaly of the checks shows.
    """
    names = (*named(()), FAILED, REFUSED)
    without = replace(scenario, rules_off=(*scenario.rules_off, rule.name))
    both = [findings_of(run_to_end(one)[0], names) for one in (scenario, without)]
    on, off = (tuple(dict.fromkeys(f.anomaly for f in found)) for found in both)
    shown = tuple(name for name in off if name not in on)
    checked = tuple(name for name in shown if name in BY_NAME)
    return tuple(name for name in on if name in BY_NAME), checked or shown


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
    names = [f"* {rule.name}" for rule in missing]
    head = ["", "Nothing found within the budget, or no program to search in:", ""] if names else []
    return [TOP, *lines, *head, *names]


def place(scenario: Scenario) -> str:
    """Return which program the search found it in, and the profile; "own programs" for the rule's own."""
    title = scenario.title.partition(": ")[2].partition(', without "')[0]
    generic = {make().title: make.__name__.replace("_", " ") for make in GENERIC}
    return f"{generic.get(title, 'own programs')}, {scenario.profile}"
