"""Report what the checks found in saved scenarios that were run."""

from __future__ import annotations

from collections.abc import Iterator

from kafkalab.diagnose.evidence import Evidence
from kafkalab.diagnose.facts import Source
from kafkalab.diagnose.finding import CERTAIN, UNKNOWN, Finding, Proof, list_proofs


def judge_run(evidence: Evidence) -> Iterator[Finding]:
    """The verdict of the checks: a run is whole, so it is certain, unless they say that they cannot tell."""
    for run in evidence.runs:
        steps = [Proof(Source(run.file, step, text), f"at step {step}") for step, text in run.findings]
        yield Finding(
            mechanism=f"run_{run.verdict}",
            where=run.file,
            says=f"The saved run: {run.sentence}",
            certainty=UNKNOWN if run.verdict == "unknown" else CERTAIN,
            proofs=list_proofs(steps),
            ask=f"kafkalab page {run.file} --out run.html",
            harmless=run.verdict == "ok",
        )


RULES = (judge_run,)
