"""Report what the checks found in saved scenarios that were run, and in captures: what `kafkalab audit` finds."""

from __future__ import annotations

from collections.abc import Iterator

from kafkalab.checks.all import BY_NAME
from kafkalab.diagnose.evidence import Evidence
from kafkalab.diagnose.facts import Source
from kafkalab.diagnose.finding import CERTAIN, UNKNOWN, Finding, Proof, list_proofs


def judge_run(evidence: Evidence) -> Iterator[Finding]:
    """The verdict, then each anomaly: the checks have all of a run, so it is certain, unless they cannot tell."""
    for run in evidence.runs:
        yield Finding(
            mechanism=f"run_{run.verdict}",
            where=run.file,
            says=run.sentence,
            certainty=UNKNOWN if run.verdict == "unknown" else CERTAIN,
            proofs=(),
            ask=run.ask,
            harmless=run.verdict == "ok",
        )
        for anomaly in dict.fromkeys(name for name, _, _ in run.findings):
            own = [(step, text) for name, step, text in run.findings if name == anomaly]
            yield Finding(
                mechanism=f"anomaly_{anomaly}",
                where=run.file,
                says=f"{anomaly}, {len(own)} {'findings' if len(own) > 1 else 'finding'}. {BY_NAME[anomaly].meaning}",
                certainty=CERTAIN,
                proofs=list_proofs(Proof(Source(run.file, step, text), f"at step {step}") for step, text in own),
                ask=run.ask,
            )


RULES = (judge_run,)
