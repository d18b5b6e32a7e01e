"""Advise what to do about a finding, derived from the symptoms, the bugs and the rules; nothing is written twice."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kafkalab.diagnose.finding import Finding

if TYPE_CHECKING:
    from kafkalab.course.symptom_list import Symptom

LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """Hold what the project's pages say about a finding. All fields are text; those without an answer are empty."""

    means: str = ""
    check: str = ""
    java: str = ""
    librdkafka: str = ""
    lab: str = ""
    symptom: str = ""
    bugs: tuple[str, ...] = ()
    rule: str = ""


def advise(finding: Finding) -> Advice:
    """Return the advice on a finding. ValueError if it names a symptom or bug that no page has."""
    from kafkalab.reference.bug_list import BUGS  # takes half a second: reading needs none of it

    cures = {bug.number: f"{bug.heading}. {bug.cure}" for bug in BUGS}
    unknown = [number for number in finding.bugs if number not in cures]
    if unknown:
        raise ValueError(f"docs/bugs.md has no {unknown[0]}")
    bugs = tuple(cures[number] for number in finding.bugs)
    if not finding.symptom:
        return Advice(bugs=bugs, rule=finding.rule)
    one = symptom_of(finding.symptom)
    return Advice(
        means=_plain(one.means),
        check=_plain(one.check),
        java=_plain(one.do),
        librdkafka=_plain(one.librdkafka or one.do),
        lab="" if one.lab is None else f"lab {one.lab}",
        symptom=one.seen,
        bugs=bugs,
        rule=finding.rule,
    )


def symptom_of(seen: str) -> Symptom:
    """Return the symptom with this heading. ValueError if there is none."""
    from kafkalab.course.symptom_list import SYMPTOMS

    for one in SYMPTOMS:
        if one.seen == seen:
            return one
    raise ValueError(f"docs/symptoms.md has no {seen!r}")


def _plain(text: str) -> str:
    """Return the text without its links."""
    return LINK.sub(r"\1", text)
