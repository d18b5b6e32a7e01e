"""What the checks say of a run that is shown: verdicts, and findings each with the step that proves it."""

from __future__ import annotations

from typing import Any

from kafkalab.checks.all import BY_NAME, check_all
from kafkalab.checks.check import FORBIDDEN, OK, UNKNOWN, VIOLATED, Finding, Result
from kafkalab.history.export import history_of
from kafkalab.history.history import History
from kafkalab.programs.transfers import read_to_the_end
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.run_errors import RunawayError, StuckError
from kafkalab.widgets.model.futures import agreement

EXACTLY_ONCE = "exactly-once"
ORDER = {VIOLATED: 0, OK: 1, UNKNOWN: 2}


def report_of(cluster: Cluster) -> dict[str, Any]:
    """Plain data: "verdict", "once" (that of exactly-once), "sentence", and "results" of all checks, the worst first.

    The topics are read to their end in a second run of the same scenario, so the one shown stays as it is; its steps
    are those of the findings. A finding that only this reading shows stands at the last step, with "afterwards".
    """
    last = cluster.trace.steps - 1
    report = check_all(_history(cluster))
    results = [_plain(result, last) for result in report.results]
    results.sort(key=lambda r: (ORDER[r["verdict"]], not r["findings"]))
    once = report[EXACTLY_ONCE]
    verdict = VIOLATED if report.violated else once.verdict
    sentence = _sentence(verdict, report.violated, once)
    return {"verdict": verdict, "once": once.verdict, "sentence": sentence, "results": results}


def _history(cluster: Cluster) -> History:
    try:
        copy = Cluster(cluster.scenario)
        copy.run()
        if agreement(copy.trace, cluster.trace) == cluster.trace.steps:
            read_to_the_end(copy)
            return history_of(copy)
    except (StuckError, RunawayError, ValueError):
        pass  # a run without an end cannot be read to its end: what was read in it must do
    return history_of(cluster)


def _plain(result: Result, last: int) -> dict[str, Any]:
    findings = [_placed(finding, last) for finding in result.findings]
    return {
        "name": result.name,
        "policy": result.policy,
        "verdict": result.verdict,
        "meaning": BY_NAME[result.name].meaning,
        "examined": result.examined,
        "findings": sorted(findings, key=lambda f: (f["policy"] != FORBIDDEN, f["step"])),
    }


def _placed(finding: Finding, last: int) -> dict[str, Any]:
    """The step that proves it is its last one: by then all of it has happened."""
    inside = [step for step in finding.steps if step <= last]
    later = len(inside) < len(finding.steps) or not inside
    return {
        "policy": finding.policy,
        "text": finding.text,
        "step": max(inside, default=last),
        "steps": inside,
        "afterwards": later,
    }


def _sentence(verdict: str, violated: tuple[str, ...], once: Result) -> str:
    if verdict == VIOLATED:
        others = [name for name in violated if name != EXACTLY_ONCE]
        what = "Some input has no exactly-once effects. " if EXACTLY_ONCE in violated else ""
        return what + (f"Forbidden, and found: {', '.join(others)}." if others else "")
    if verdict == UNKNOWN:
        return (
            "Nothing forbidden was found; no output says which input it was made from, so exactly-once "
            "cannot be judged: send it with headers=made_from(record)."
        )
    allowed = " Allowed anomalies were found." if once.findings else ""
    return f"Exactly-once effects: each of {once.examined} inputs whose fate is certain has one.{allowed}"
