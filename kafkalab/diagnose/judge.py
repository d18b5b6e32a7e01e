"""Apply all rules to the evidence, and put what they find in order."""

from __future__ import annotations

from kafkalab.diagnose.evidence import Evidence
from kafkalab.diagnose.finding import ORDER, Finding
from kafkalab.diagnose.mechanisms.all_mechanisms import RULES

MOST = 40
"""Findings that are kept: those that come first."""


def judge(evidence: Evidence) -> list[Finding]:
    """Return what the rules find: the most certain first, what is wrong before what is harmless, causes only.

    A finding that another explains is left out.
    """
    found = [finding for rule in RULES for finding in rule(evidence)]
    unlike = {(finding.mechanism, finding.where): finding for finding in reversed(found)}
    explained = {name for finding in unlike.values() for name in finding.explains}
    causes = [one for one in found if unlike.get((one.mechanism, one.where)) is one and one.mechanism not in explained]
    return sorted(causes, key=lambda one: (one.harmless, ORDER[one.certainty]))[:MOST]
