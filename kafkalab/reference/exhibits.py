"""The collections as notebooks show them: Kafka's bugs, the rules and the errors, each run opened where it decides."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from itertools import groupby

from kafkalab.protocol.errors import Error
from kafkalab.protocol.profiles import PROFILES
from kafkalab.protocol.rules import Rule
from kafkalab.reference.bug import Bug, scenario_of, without_the_cure
from kafkalab.reference.bug_list import BUGS
from kafkalab.reference.error_atlas import MEANING, entry_of, group_of
from kafkalab.reference.error_guide import GUIDE
from kafkalab.reference.found_scenarios import slug
from kafkalab.reference.gallery import ROOT, Exhibit, Gallery
from kafkalab.reference.rule_matrix import EXPECTED
from kafkalab.reference.rule_matrix import scenario_of as scenario_of_rule
from kafkalab.widgets.model.findings import forbidden
from kafkalab.widgets.views.chooser import Words
from kafkalab.widgets.views.compare import Compare
from kafkalab.widgets.views.sequence import Sequence
from kafkalab.widgets.views.view import Picture

BUG, RULE, ERROR = "KAFKA-17754", "deduplication", "PRODUCER_FENCED"
"""The first exhibit of each collection."""


def museum(chosen: str = BUG) -> Gallery:
    """Kafka's bugs, each as two runs side by side, with its cure and without: `museum("KAFKA-5494")`."""
    return Gallery("A bug that Kafka had", bug_exhibits(), chosen)


def rule_gallery(chosen: str = RULE) -> Gallery:
    """Return what each rule protects: the same run with it and without it: `rule_gallery("verification")`."""
    return Gallery("A rule", rule_exhibits(), chosen)


def error_gallery(chosen: str = ERROR) -> Gallery:
    """The errors, each in a run that meets it: `error_gallery("INVALID_TXN_STATE")`."""
    return Gallery("An error", error_exhibits(), chosen)


def bug_exhibits() -> list[Exhibit]:
    """The bugs by what they broke."""
    made = [Exhibit(group=broken_by(bug), key=bug.number, title=bug.title, show=partial(_bug, bug)) for bug in BUGS]
    return _group(made)


def rule_exhibits() -> list[Exhibit]:
    """The rules that have a scenario, by the anomaly that shows without them."""
    return _group(
        [
            Exhibit(
                group=f"without it: {anomaly}", key=slug(rule), title=rule.name, show=partial(_rule, rule, anomaly)
            )
            for rule, anomaly in EXPECTED.items()
        ]
    )


def error_exhibits() -> list[Exhibit]:
    """The errors, by what you have to do about them."""
    made = [Exhibit(group=group_of(e), key=e.name, title="", show=partial(_error, e)) for e in MEANING]
    return _group(made)


def broken_by(bug: Bug) -> str:
    """Return what the bug broke: "Atomicity" of "Atomicity: half of it was aborted."."""
    return re.split("[,:]", bug.broke, maxsplit=1)[0]


def _group(exhibits: list[Exhibit]) -> list[Exhibit]:
    order = list(dict.fromkeys(e.group for e in exhibits))
    return sorted(exhibits, key=lambda e: order.index(e.group))


def groups(exhibits: list[Exhibit]) -> list[tuple[str, list[Exhibit]]]:
    """Return the exhibits by their group."""
    return [(name, list(some)) for name, some in groupby(exhibits, key=lambda e: e.group)]


def _bug(bug: Bug) -> tuple[Words, Picture]:
    good = scenario_of(bug, ROOT)
    bad = without_the_cure(bug, good)
    names = (good.profile, bad.profile) if bug.profile else ("with the cure", "without it")
    picture = Compare(good, bad, names=names)
    words = [
        ("What happens", f"{good.title}. {bug.broke}"),
        ("The cure", bug.cure),
        ("Look at", f"{bug.sign.what}. On the left: {bug.good}. On the right: {bug.bad}."),
    ]
    _to_a_difference(picture)
    if bug.profile:  # the protocols part long before it matters
        _open_at_the_finding(picture)
        words.append(("The row", "From here on the right side is wrong; “≠ where they part” shows where it began."))
    return words, picture


def _rule(rule: Rule, anomaly: str) -> tuple[Words, Picture]:
    scenario = scenario_of_rule(rule, ROOT)
    without = replace(scenario, rules_off=(*scenario.rules_off, rule.name))
    picture = Compare(scenario, without, names=("with the rule", "without it"))
    _to_a_difference(picture)
    lacking = ", ".join(name for name, profile in PROFILES.items() if rule in profile.lacks)
    found = forbidden(r for r in picture.check()[1]["results"] if r["name"] == anomaly)
    said = found[0]["text"] if found else "see the sign beside its name"
    words = [
        ("The rule", f"It protects: {rule.protects} ({rule.source})." + (f" Not in {lacking}." if lacking else "")),
        ("What happens", f"{scenario.title}."),
        ("Look at", f"Without it, {anomaly}: {said.rstrip('.')}."),
    ]
    return words, picture


def _error(error: Error) -> tuple[Words, Picture]:
    entry = entry_of(error, ROOT)
    picture = Sequence(entry.scenario)
    answer = picture.payload["frames"][entry.answer]
    picture.step = answer["sent"]
    guide = GUIDE[error]
    words = [
        ("It means", MEANING[error]),
        ("Look at", f"{answer['id']}: {entry.broker} answers {answer['of'] or entry.api} with {error.name}."),
        ("Check first", guide.check),
        ("Do, in Java", guide.java),
        ("Do, in librdkafka", guide.librdkafka),
    ]
    return words, picture


def _open_at_the_finding(picture: Compare) -> None:
    """Put the cursor into the row in which the right run first shows something forbidden, after the runs part."""
    steps = [f["step"] for f in forbidden(picture.check()[1]["results"])]
    at = min((step for step in steps if step >= picture.apart), default=picture.apart)
    picture.row = next((i for i, row in enumerate(picture.rows) if row[1] >= at), picture.row)


def _to_a_difference(picture: Compare) -> None:
    """Put the cursor into the first row from here on that differs: the step at which they part may have no row."""
    rows = enumerate(picture.rows)
    picture.row = next((i for i, row in rows if i >= picture.row and not row[2]), picture.row)
