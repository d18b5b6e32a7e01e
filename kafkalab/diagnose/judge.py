"""Apply all rules to the evidence, and put what they find in order."""

from __future__ import annotations

from kafkalab.diagnose.evidence import Evidence
from kafkalab.diagnose.finding import ORDER, Finding
from kafkalab.diagnose.mechanisms.all_mechanisms import RULES

ORDINARY = "markers_take_offsets"
"""What is true of every log with transactions: it is said if there is nothing else to say."""
MOST = 40
"""Findings that are kept: those that come first."""


def judge(evidence: Evidence) -> list[Finding]:
    """Return what the rules find: the most certain first, what is wrong before what is harmless, causes only.

    A finding that another explains is left out.
    """
    found = [finding for rule in RULES for finding in rule(evidence)]
    unlike = {(finding.mechanism, finding.where): finding for finding in reversed(found)}
    explained = {name for finding in unlike.values() for name in finding.explains}
    causes = [
        one
        for one in found
        if unlike.get((one.mechanism, one.where)) is one
        and not explained & {one.mechanism, f"{one.mechanism} {one.where}"}
    ]
    if len(causes) > 1:
        causes = [one for one in causes if one.mechanism != ORDINARY] or causes
    return sorted(causes, key=lambda one: (one.harmless, ORDER[one.certainty]))[:MOST]
