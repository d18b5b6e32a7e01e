"""docs/bugs.md: every bug, what its scenario showed with the cure and without, as it was run just now."""

from __future__ import annotations

from pathlib import Path

from kafkalab.protocol.profiles import PROFILES
from kafkalab.reference.bug import FOLDER, Bug, Shown, scenario_of, show, without_the_cure
from kafkalab.reference.bug_list import BUGS
from kafkalab.reference.bugs_not_shown import REASONS

PAGE = Path("docs") / "bugs.md"
TOP = """\
# Bugs that Kafka had

Computed by `kafkalab bugs`: each scenario of data/bugs/ was run twice, with the rule that cures the bug and without it,
and all checks looked at both histories. With the rule none found anything forbidden. Many of these bugs never broke a
promise about data; they stopped somebody from going on, which no check of a history sees. So each has a sign: where to
look at the end of the run. To see a run step by step, load its file in a notebook (`Scenario.load`), with the rule's
name in `rules_off` or without it.
"""


def text_of(root: Path) -> str:
    """The page for the project's folder `root`. ValueError where a scenario cannot be run as it is meant."""
    lines = [TOP, "| bug | what happens | sign | with the rule | without it |", "|---|---|---|---|---|"]
    sections: list[str] = []
    for bug in BUGS:
        scenario = scenario_of(bug, root)
        good, bad = show(bug, scenario), show(bug, without_the_cure(bug, scenario))
        cells = (f"[{bug.number}](#{_anchor(bug)})", scenario.title, bug.sign.what, good.sign, bad.sign)
        lines.append(f"| {' | '.join(cells)} |")
        sections += _section(bug, scenario.title, good, bad)
    return "\n".join([*lines, *sections, *_not_shown()]) + "\n"


def _not_shown() -> list[str]:
    return ["", "## Not shown", "", *(f"* {', '.join(numbers)}. {why}" for why, numbers in REASONS)]


def _heading(bug: Bug) -> str:
    return f"{bug.number}: {bug.title}"


def _anchor(bug: Bug) -> str:
    """As GitHub makes it from the heading."""
    kept = (c for c in _heading(bug).lower() if c.isalnum() or c in " -")
    return "".join(kept).replace(" ", "-")


def _section(bug: Bug, happens: str, good: Shown, bad: Shown) -> list[str]:
    lacking = [name for name, profile in PROFILES.items() if bug.rule in profile.lacks]
    without = f"in profile {bug.profile}" if bug.profile else "with the rule off"
    return [
        "",
        f"## {_heading(bug)}",
        "",
        f"{happens}. {bug.broke}",
        "",
        f"* The cure: {bug.cure}",
        f'* The rule: "{bug.rule.name}"; profiles without it: {", ".join(lacking) or "none"}.',
        f"* {_capital(bug.sign.what)}: {good.sign}; {without}: {bad.sign}.",
        f"* Anomalies without the cure: {', '.join(bad.anomalies) or 'none'}.",
        f"* To run it: `kafkalab run {(FOLDER / bug.file).as_posix()}`",
    ]


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]
