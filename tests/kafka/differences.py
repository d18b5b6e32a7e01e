"""Compare kafkalab's answers with recorded ones, answer by answer, and name each difference.

`explained.json` is a list of {"recording": PREFIX, "where": REGEX, "why": TEXT}. The expression is searched in
"SCRIPT/ANSWER .path: Kafka ..., kafkalab ...". An answer is explained if all its differences are.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from tests.kafka.lab_side import run
from tests.kafka.script import HERE, Answer, Script

SHOWN = 8


@dataclass(frozen=True, slots=True)
class Row:
    """One answer: where it differs, and why it may."""

    script: str
    number: int
    api: str
    differences: tuple[str, ...]
    reasons: tuple[str | None, ...]

    @property
    def explained(self) -> bool:
        """True if every difference has a reason."""
        return all(self.reasons)


def differences(real: Any, lab: Any, path: str = "") -> list[str]:
    """Return where the two differ."""
    if isinstance(real, dict) and isinstance(lab, dict):
        found = []
        for key in [*real, *(k for k in lab if k not in real)]:
            if key not in lab:
                found.append(f"{path}.{key}: Kafka {real[key]!r}, kafkalab has none")
            elif key not in real:
                found.append(f"{path}.{key}: kafkalab {lab[key]!r}, Kafka has none")
            else:
                found += differences(real[key], lab[key], f"{path}.{key}")
        return found
    if isinstance(real, list) and isinstance(lab, list):
        if len(real) != len(lab):
            return [f"{path}: Kafka has {len(real)}: {json.dumps(real)}; kafkalab {len(lab)}: {json.dumps(lab)}"]
        return [d for i, (a, b) in enumerate(zip(real, lab, strict=True)) for d in differences(a, b, f"{path}[{i}]")]
    return [] if real == lab else [f"{path}: Kafka {real!r}, kafkalab {lab!r}"]


def explanations(recording: str) -> list[dict[str, str]]:
    """Return the explanations that hold for a recording."""
    rules: list[dict[str, str]] = json.loads((HERE / "explained.json").read_text())
    return [rule for rule in rules if recording.startswith(rule.get("recording", ""))]


def compare(recording: str, scripts: list[Script], found: dict[str, Any]) -> list[Row]:
    """Run the scripts on kafkalab and compare each answer with the recorded one."""
    rules, real = explanations(recording), found["answers"]
    return [row for s in scripts for row in rows_of(s["name"], real.get(s["name"], []), run(s, recording), rules)]


def rows_of(name: str, real: list[Answer], lab: list[Answer], rules: list[dict[str, str]]) -> list[Row]:
    """Return a row for each answer of one script."""
    rows = []
    for number in range(1, max(len(real), len(lab)) + 1):
        one = real[number - 1] if number <= len(real) else {}
        two = lab[number - 1] if number <= len(lab) else {}
        found = tuple(differences(_order(one), _order(two)))
        reasons = tuple(
            next((r["why"] for r in rules if re.search(r["where"], f"{name}/{number} {d}")), None) for d in found
        )
        rows.append(Row(name, number, one.get("ask") or two.get("ask", ""), found, reasons))
    return rows


def _order(answer: Answer) -> Answer:
    """The answer with the producers of each partition by their ids: Kafka lists them in the order of a hash.

    A step that could not be done is the same on both sides, whatever each says about it.
    """
    if "failed" in answer:
        return {"failed": True}
    if answer.get("ask") != "DescribeProducers":
        return answer
    rows = [{**p, "active": sorted(p.get("active", ()), key=lambda r: str(r["producer_id"]))} for p in answer["parts"]]
    return {**answer, "parts": rows}


def find_unexplained(rows: list[Row]) -> list[Row]:
    """Return the answers that differ without a reason."""
    return [row for row in rows if row.differences and not row.explained]


def report(rows: list[Row], shown: int = 1_000_000) -> str:
    """Return the unexplained differences, the first `shown` answers of them, and how many answers there are in all."""
    bad = find_unexplained(rows)
    lines = []
    for row in bad[:shown]:
        lines.append(f"{row.script}, answer {row.number} ({row.api})")
        lines += [f"    {d}" for d, why in zip(row.differences, row.reasons, strict=True) if not why]
    known = sum(bool(row.differences) for row in rows) - len(bad)
    equal = len(rows) - known - len(bad)
    scripts = len({row.script for row in rows})
    different = len({row.script for row in bad})
    return "\n".join(
        [*lines, f"{scripts} scripts, {len(rows)} answers: {equal} equal, {known} explained, {len(bad)} different in "
                 f"{different} scripts"]
    )  # fmt: skip
