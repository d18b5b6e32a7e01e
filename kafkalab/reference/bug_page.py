"""docs/bugs.md: every bug, what its scenario showed with the cure and without, as it was run just now."""

from __future__ import annotations

from pathlib import Path

from kafkalab.protocol.profiles import PROFILES
from kafkalab.reference.bug import FOLDER, Bug, ViewState, anchor_of, scenario_of, show, without_the_cure
from kafkalab.reference.bug_list import BUGS
from kafkalab.reference.protocol_page import table

NOT_SHOWN: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        "Two threads of one process met in the wrong moment; here a handler runs to its end before anything else does.",
        ("KAFKA-9777", "KAFKA-9835", "KAFKA-15653", "KAFKA-19012", "KAFKA-20114"),
    ),
    (
        "A client was wrong, not a broker; the clients here are today's, or those of 0.11 and 1.0.",
        ("KAFKA-7296", "KAFKA-13412", "KAFKA-13598", "KAFKA-14831", "KAFKA-18019", "KAFKA-18227", "KAFKA-18401")
        + ("KAFKA-19176", "KAFKA-19250"),
    ),
    (
        "A coordinator that reads a partition does so in one step here, so an older load has nothing old to serve.",
        ("KAFKA-18137",),
    ),
    (
        "The transition table, or an exception, stopped a coordinator's own work; no rule takes that check back in.",
        ("KAFKA-5415", "KAFKA-8803", "KAFKA-14880"),
    ),
    (
        "The lab's group coordinator was made after the cure, and no rule takes it away.",
        ("KAFKA-8335", "KAFKA-17507"),
    ),
    (
        "Only what a client was told in an answer; the answers here are today's.",
        ("KAFKA-16386", "KAFKA-18654", "KAFKA-18660", "KAFKA-18662"),
    ),
    ("Brokers of different versions in one cluster are not modelled.", ("KAFKA-20322",)),
    ("Superseded by KIP-360, whose rule is above.", ("KAFKA-6817", "KAFKA-7298")),
)
"""Known bugs of exactly-once that no scenario shows, with the reason."""

PAGE = Path("docs") / "bugs.md"
TOP = """\
# Bugs that Kafka had

Computed by `kafkalab bugs`: each scenario of data/bugs/ was run twice, with the rule that cures the bug and without it,
and every check was applied to both histories. With the rule, no check found a forbidden anomaly. Many of these bugs
never broke a promise about data; they blocked a producer or reader, which no check of a history sees. So each has a
sign: where to look at the end of the run. To see a run step by step, load its file in a notebook (`Scenario.load`),
with the rule's name in `rules_off` or without it.
"""


def text_of(root: Path) -> str:
    """The page for the project's folder `root`. ValueError where a scenario cannot be run as it is meant."""
    rows: list[tuple[str, ...]] = []
    sections: list[str] = []
    for bug in BUGS:
        scenario = scenario_of(bug, root)
        good, bad = show(bug, scenario), show(bug, without_the_cure(bug, scenario))
        rows.append((f"[{bug.number}](#{anchor_of(bug.heading)})", scenario.title, bug.sign.what, good.sign, bad.sign))
        sections += _section(bug, scenario.title, good, bad)
    lines = table(("bug", "what happens", "sign", "with the rule", "without it"), rows, "|---|---|---|---|---|")
    rest = ["", "## Not shown", "", *(f"* {', '.join(numbers)}. {why}" for why, numbers in NOT_SHOWN)]
    return "\n".join([TOP, *lines, *sections, *rest]) + "\n"


def _section(bug: Bug, happens: str, good: ViewState, bad: ViewState) -> list[str]:
    lacking = [name for name, profile in PROFILES.items() if bug.rule in profile.lacks]
    without = f"in profile {bug.profile}" if bug.profile else "with the rule off"
    return [
        "",
        f"## {bug.heading}",
        "",
        f"{happens}. {bug.broke}",
        "",
        f"* The cure: {bug.cure}",
        f'* The rule: "{bug.rule.name}"; profiles without it: {", ".join(lacking) or "none"}.',
        f"* {bug.sign.what[0].upper()}{bug.sign.what[1:]}: {good.sign}; {without}: {bad.sign}.",
        f"* Anomalies without the cure: {', '.join(bad.anomalies) or 'none'}.",
        f"* To run it: `kafkalab run {(FOLDER / bug.file).as_posix()}`",
    ]
