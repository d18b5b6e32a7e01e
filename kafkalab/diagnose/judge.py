"""Apply all rules to the evidence, and put what they find in order."""

from __future__ import annotations

from dataclasses import replace

from kafkalab.diagnose.evidence import Evidence
from kafkalab.diagnose.finding import ORDER, Finding
from kafkalab.diagnose.mechanisms.all_mechanisms import RULES

ORDINARY = ("markers_take_offsets", "epoch_per_transaction", "alike_records")
"""Findings that hold for every log with transactions; they are reported if there is no other."""
MOST = 40
"""Findings that are kept: those that come first."""


def apply_rules(evidence: Evidence) -> list[Finding]:
    """Return all that the rules find, in their order, also what follows from something else."""
    found = [finding for rule in RULES for finding in rule(evidence)]
    unlike = {(finding.mechanism, finding.where): finding for finding in reversed(found)}
    return [one for one in found if unlike[one.mechanism, one.where] is one]


def judge(evidence: Evidence) -> list[Finding]:
    """Return what the rules find: the most certain first, what is wrong before what is harmless, causes only.

    A finding that another explains is left out.
    """
    found = apply_rules(evidence)
    explained = {name for finding in found for name in finding.explains}
    causes = [one for one in found if not explained & {one.mechanism, f"{one.mechanism} {one.where}"}]
    if len(causes) > 1:
        causes = [one for one in causes if one.mechanism not in ORDINARY] or causes
    return sorted(_fold(causes), key=lambda one: (one.harmless, ORDER[one.certainty]))[:MOST]


def _fold(findings: list[Finding]) -> list[Finding]:
    """Return one finding for each kind, with the other places; hanging transactions stay apart: each is ended alone."""
    kinds: dict[object, list[Finding]] = {}
    for one in findings:
        kind = (one.mechanism, one.where if one.mechanism == "hanging" else "", one.certainty)
        kinds.setdefault(kind, []).append(one)
    return [replace(alike[0], also=tuple(one.where for one in alike[1:])) for alike in kinds.values()]
