"""The report of the checks on a run that is shown: verdicts, and findings each with the step that proves it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from kafkalab.checks.all import BY_NAME, Report, check_all
from kafkalab.checks.check import ALLOWED, FORBIDDEN, OK, UNKNOWN, VIOLATED, Finding, Result
from kafkalab.checks.exactly_once import DUPLICATED, NOT_CERTAIN, ONCE, effects
from kafkalab.checks.from_a_log import OF_FRAMES
from kafkalab.checks.view import view_of
from kafkalab.history.export import history_of
from kafkalab.history.history import History
from kafkalab.run.again import read_again
from kafkalab.run.source import Source, run_of
from kafkalab.trace import Trace
from kafkalab.widgets.model.findings_in_logs import DUPLICATE, LOST, missing_since, places_of, value_of

EXACTLY_ONCE = "exactly-once"
NOT_PROMISED = "not promised"
KEPT = "no promise is broken"
UNBROKEN = f"{KEPT} so far"
ALL_KEPT = "No promise is broken."
ORDER = {VIOLATED: 0, OK: 1, UNKNOWN: 2}


def report_of(source: Source, whole: bool = True, spend: bool = False) -> dict[str, Any]:
    """Plain data: "verdict", "once", "sentence", and "results" of all checks, the worst first.

    "once" is the verdict of exactly-once; "not promised" where inputs lack exactly one effect and Kafka allows it.

    The topics are read to their end in a second run of the same scenario, so the one shown stays as it is; its steps
    are those of the findings. A finding that only this reading shows stands at the last step, with "afterwards".
    Without `whole` the run is judged as far as it has come, and nothing is read. For `spend` see `read_again`.
    """
    run = run_of(source)
    shown = replace(run.trace, events=list(run.trace.events))
    history = history_of(read_again(run, spend) if whole else run)
    report = check_all(history)
    if run.logs is None:
        report = Report(tuple(_unknown(r) if r.name in OF_FRAMES else r for r in report.results))
    sent_again = any(f.policy == ALLOWED for f in report[DUPLICATE].findings)
    outcomes = view_of(history).outcomes if sent_again else {}
    place = partial(_place, trace=shown, history=history, outcomes=outcomes)
    results = [_plain(result, place) for result in report.results]
    results.sort(key=lambda r: (ORDER[r["verdict"]], not r["findings"]))
    once = report[EXACTLY_ONCE]
    fates = Counter(effect.verdict for effect in effects(view_of(history))) if once.findings else {ONCE: once.examined}
    certain = sum(count for fate, count in fates.items() if fate not in NOT_CERTAIN)
    promised = once.verdict == VIOLATED or fates.get(ONCE, 0) == certain
    unknown = not once.findings or UNKNOWN in fates
    verdict = VIOLATED if report.violated else once.verdict if unknown else OK
    sentence = _sentence(verdict, report, fates, certain, promised)
    if after := shown.stopped_after:
        sentence = f"Recording has stopped after {after}, and this is about them alone. {sentence}"
    judged = once.verdict if promised else NOT_PROMISED
    return {"verdict": verdict, "once": judged, "sentence": sentence, "results": results}


def findings_at(report: dict[str, Any], step: int) -> list[dict[str, Any]]:
    """Return what a picture of `step` shows of a report: the findings that are true by then, each with its "name".

    What Kafka does not promise to prevent is shown only where it lies in a log.
    """
    found = [{**f, "name": r["name"]} for r in report.get("results", ()) for f in r["findings"]]
    return [f for f in found if f["since"] <= step and (f["policy"] == FORBIDDEN or f["places"])]


def lines_at(report: dict[str, Any], step: int) -> list[str]:
    """Return what the checks say of the run up to a step, in lines; none without a report."""
    if not report:
        return []
    until = findings_at(report, step)
    broken = [f"✕ {f['name']} ({f['policy']}): {f['text']}" for f in until if f["policy"] == FORBIDDEN]
    allowed = [f"{f['name']} ({f['policy']}): {f['text']}" for f in until if f["policy"] != FORBIDDEN]
    return [*(broken or [UNBROKEN]), *allowed]


def forbidden(results: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the findings among these results of a report that break a promise."""
    return [f for result in results for f in result["findings"] if f["policy"] == FORBIDDEN]


def in_short(report: dict[str, Any]) -> str:
    """Return the forbidden anomalies of a whole run with their counts, "✕ lost-write ×2"; "✓ no promise is broken"."""
    counts = Counter(r["name"] for r in report["results"] for f in r["findings"] if f["policy"] == FORBIDDEN)
    return ", ".join(f"✕ {name}" + f" ×{n}" * (n > 1) for name, n in counts.items()) or f"✓ {KEPT}"


def _unknown(result: Result) -> Result:
    return replace(result, verdict=UNKNOWN, findings=(), examined=0)


def _plain(result: Result, place: Callable[[Finding], dict[str, Any]]) -> dict[str, Any]:
    findings = [place(finding) for finding in result.findings]
    return {
        "name": result.name,
        "policy": result.policy,
        "verdict": result.verdict,
        "meaning": BY_NAME[result.name].meaning,
        "examined": result.examined,
        "findings": sorted(findings, key=lambda f: (f["policy"] != FORBIDDEN, f["step"])),
    }


def _place(
    finding: Finding, trace: Trace, history: History, outcomes: Mapping[tuple[str, int], str]
) -> dict[str, Any]:
    """The step that proves it is its last one: by then all of it has happened.

    "since" is the step from which on a picture shows it: that step, or the last one if only a reading after the end
    proves it; a lost value is missed from where the leader lacks it. "places" are its records, [partition, offset].
    """
    last = trace.steps - 1
    inside = [step for step in finding.steps if step <= last]
    later = len(inside) < len(finding.steps) or not inside
    since = last if later else max(inside)
    places = places_of(finding, outcomes)
    value = value_of(finding, history) if finding.anomaly == LOST else ""
    if finding.anomaly == LOST and places:
        key, offset = places[0]
        missing = missing_since(trace, key, offset, value, max(inside, default=0))
        since = missing if missing >= 0 else since
    return {
        "policy": finding.policy,
        "text": finding.text,
        "step": max(inside, default=last),
        "steps": inside,
        "since": since,
        "places": places,
        "value": value,
        "afterwards": later,
    }


def _sentence(verdict: str, report: Report, fates: Mapping[str, int], certain: int, promised: bool) -> str:
    """Return what was found, then how many inputs have exactly one effect.

    `fates` counts the inputs by what became of them, `certain` are those of which that is certain; `promised` is false
    where some of these lack exactly one effect, and Kafka allows it.
    """
    others = [r for r in report.results if r.name != EXACTLY_ONCE]
    broken = [name for name in report.violated if name != EXACTLY_ONCE] or report.violated
    allowed = [r.name for r in others if any(f.policy == ALLOWED for f in r.findings)]
    found = f" Found, and allowed: {', '.join(allowed)}." if allowed else ""
    head = f"A promise is broken: {', '.join(broken)}." if verdict == VIOLATED else ALL_KEPT
    if report[EXACTLY_ONCE].verdict == UNKNOWN and (UNKNOWN in fates or not report[EXACTLY_ONCE].findings):
        why = "no record says what it was made from (headers=made_from(record) does)"
        if report[EXACTLY_ONCE].findings:
            why = "no committed offset says how far the inputs were read (with_positions does)"
        return f"{head}{found} Exactly-once was not checked: {why}."
    if not certain:
        return f"{head}{found} Exactly-once effects: the fate of no input is certain yet."
    whose = f"{certain} inputs whose fate is certain" if certain > 1 else "1 input whose fate is certain"
    good, more = fates.get(ONCE, 0), fates.get(DUPLICATED, 0)
    if good == certain:
        effect = f"Exactly-once effects: each of {whose} has one."
        return effect + found if verdict == OK else f"{head}{found} {effect}"
    counts = {"exactly one": good, "more than one": more, "none": certain - good - more}
    effect = " ".join(
        (
            f"Effects of {whose}:",
            ", ".join(f"{count} with {what}" for what, count in counts.items() if count) + ".",
            *(() if promised else ("Kafka promises exactly one only if all offsets are committed in transactions.",)),
        )
    )
    return f"{head}{found} {effect}"
