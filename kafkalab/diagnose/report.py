"""The report as text and as JSON: findings with their lines, advice, and what no reader knew."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator
from typing import Any

from kafkalab.diagnose.advice import advise
from kafkalab.diagnose.evidence import Evidence
from kafkalab.diagnose.finding import Finding
from kafkalab.diagnose.nearest.nearest import CAUTION, find_nearest
from kafkalab.limits import list_names

WIDTH = 110
NOTHING = "Nothing that a rule knows. That does not say that nothing is wrong: see which lines were read."

HALVES = {"same": "same", "only in your lines": "only_in_your_lines", "only in the run": "only_in_the_run"}
"""By their titles, the lists of what the nearest run and the evidence have in common, and of what they have not."""


def as_data(evidence: Evidence, findings: list[Finding]) -> dict[str, Any]:
    """Return the report as plain data, for JSON and for the page."""
    return {
        "findings": [_finding_data(one) for one in findings],
        "nearest": _nearest_data(evidence, findings),
        "files": [
            {
                "file": name,
                "lines": counts.lines,
                "used": counts.used,
                "passed": counts.passed,
                "unknown": counts.unknown,
                "cut": counts.cut,
                "samples": [{"line": one.line, "text": one.text} for one in counts.samples],
            }
            for name, counts in evidence.files.items()
        ],
        "undecoded": [{"partition": name, "at": str(source)} for name, source in evidence.undecoded.items()],
        "captures": evidence.captures,
        "left_out": evidence.left_out,
    }


def _finding_data(one: Finding) -> dict[str, Any]:
    advice = advise(one)
    return {
        "mechanism": one.mechanism,
        "where": one.where,
        "cause": one.cause,
        "also": list(one.also),
        "certainty": one.certainty,
        "harmless": one.harmless,
        "says": one.says,
        "evidence": [
            {
                "file": proof.source.file,
                "line": proof.source.line,
                "text": _squeeze(proof.source.text),
                "says": proof.says,
            }
            for proof in one.proofs
        ],
        "ask": one.ask,
        "act": one.act,
        "symptom": advice.symptom,
        "means": advice.means,
        "check": advice.check,
        "java": advice.java,
        "librdkafka": advice.librdkafka,
        "lab": advice.lab,
        "bugs": list(advice.bugs),
        "rule": advice.rule,
    }


def _nearest_data(evidence: Evidence, findings: list[Finding]) -> dict[str, Any]:
    """Return the nearest run as plain data; "run" is None if there is none, and "why" says why."""
    found = find_nearest(evidence, findings)
    run = None if found.run is None else {**found.run._asdict(), "features": list(found.run.features)}
    lists = {"same": found.same, "only_in_your_lines": found.only_text, "only_in_the_run": found.only_run}
    return {"run": run, "why": found.why, **{name: list(some) for name, some in lists.items()}}


def as_json(evidence: Evidence, findings: list[Finding]) -> str:
    """Return the report as JSON."""
    return json.dumps(as_data(evidence, findings), indent=1, ensure_ascii=False)


def as_text(evidence: Evidence, findings: list[Finding]) -> str:
    """Return the report as text: the findings, then what was read."""
    data = as_data(evidence, findings)
    lines = [line for one in data["findings"] for line in _finding_lines(one)] or [NOTHING, ""]
    return "\n".join([*lines, *_nearest_lines(data["nearest"]), *_read_lines(data)])


def _nearest_lines(found: dict[str, Any]) -> Iterator[str]:
    run = found["run"]
    if run is None:
        yield from _wrap(f"NO NEAR RUN: {found['why']}", "")
    else:
        yield from _wrap(f"THE NEAREST RUN of the lab: {run['title']}. {CAUTION}", "")
        for title, name in HALVES.items():
            for sentence in found[name]:
                yield from _wrap(f"{title}: {sentence}", "  ")
        if run["call"]:
            yield from _wrap(f"open it, in a notebook: {run['call']}", "  ", unbroken=True)
        yield from _wrap(f"read on: {run['page']}", "  ", unbroken=True)
    yield ""


def _squeeze(text: str) -> str:
    """Return the text with one blank for each run of blanks and tabs."""
    return " ".join(text.split())


def _finding_lines(one: dict[str, Any]) -> Iterator[str]:
    mark = "harmless, " if one["harmless"] else ""
    yield from _wrap(f"{mark}{one['certainty']}: ".upper() + one["says"], "")
    if one["also"]:
        yield from _wrap(f"the same: {list_names(one['also'])}", "  ")
    for proof in one["evidence"]:
        yield from _wrap(f"{proof['file']}:{proof['line']}  {proof['says']}", "  ")
        yield f"      {proof['text'][:WIDTH]}"
    rows = (
        ("end it", one["act"]),
        ("ask", one["ask"]),
        ("check first", one["check"]),
        ("do, in Java", one["java"]),
        ("do, in librdkafka", one["librdkafka"] if one["librdkafka"] != one["java"] else ""),
        *(("bug", bug) for bug in one["bugs"]),
        ("rule", one["rule"]),
        ("see", ", ".join(filter(None, [one["lab"], one["symptom"] and f'docs/symptoms.md "{one["symptom"]}"']))),
    )
    for name, text in rows:
        if text:
            yield from _wrap(f"{name}: {text}", "  ", unbroken=name in ("ask", "end it"))
    yield ""


def _wrap(text: str, indent: str, unbroken: bool = False) -> list[str]:
    if unbroken:
        return [indent + text]
    wrapper = textwrap.TextWrapper(WIDTH, initial_indent=indent, subsequent_indent=indent + "  ")
    wrapper.break_long_words = wrapper.break_on_hyphens = False
    return wrapper.wrap(text)


def _read_lines(data: dict[str, Any]) -> Iterator[str]:
    for row in data["files"]:
        said = f"{row['used']} with facts, {row['passed']} of a known form, {row['unknown']} unknown"
        yield f"{row['file']}: {row['lines']} lines, {said}" + (f", {row['cut']} cut" if row["cut"] else "")
        yield from (f"  unknown, line {one['line']}: {one['text'][:WIDTH]}" for one in row["samples"])
    for row in data["undecoded"]:
        option = "--transaction-log-decoder" if row["partition"].startswith("__tr") else "--offsets-decoder"
        yield f"{row['partition']} was dumped without its decoder ({row['at']}): use {option}"
    for folder in data["captures"]:
        yield (
            f"{folder}: of this capture the brokers' words on producers were read; it is large, or pyarrow is missing: "
            f"`kafkalab audit {folder}` reads the rest"
        )
    if data["left_out"]:
        yield f"{data['left_out']} facts were left out: too many partitions or transactional ids"
