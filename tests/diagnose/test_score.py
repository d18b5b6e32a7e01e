"""The forty incidents of tests/incidents: what is right, what is not, and that nothing is wrong with certainty.

An incident is right if the first finding names the key's symptom, bug and rule, and is as certain as the key.
"""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from kafkalab.diagnose.advice import advise
from kafkalab.diagnose.finding import CERTAIN, UNKNOWN, Finding
from kafkalab.diagnose.judge import judge
from kafkalab.diagnose.reading import read_files

HERE = Path(__file__).parents[1] / "incidents"
KEY = "key.toml"
FOLDERS = sorted(path.parent for path in HERE.glob(f"*/{KEY}"))
MISSED = ("36",)
"""36: a dump of the state log may be older than that of the partition, so it is likely at most."""
RIGHT = [number for number in (f"{n:02}" for n in range(1, 41)) if number not in MISSED]
"""The numbers of the incidents that are right."""
ASKS = {
    "04": "describe-producers --topic deliveries --partition",
    "16": "SELECT",
    "30": "kafka-topics.sh --bootstrap-server host:9092 --describe --topic tax-codes",
    "31": "describe --transactional-id refund-worker-2",
    "32": "describe --transactional-id seat-maps-4",
    "40": "the application's own log",
}
"""Of those that the text cannot answer, what the command has to hold."""


@cache
def findings_of(folder: Path) -> list[Finding]:
    """Return the findings of an incident, without its key."""
    return judge(read_files(path for path in sorted(folder.iterdir()) if path.name != KEY))


def read_key(folder: Path) -> dict[str, Any]:
    """Return the key."""
    return tomllib.loads((folder / KEY).read_text())


def is_right(finding: Finding, key: dict[str, Any]) -> bool:
    """Compare the first finding with the key."""
    said = (finding.symptom, finding.certainty)
    bug = not key["bug"] or key["bug"] in finding.bugs
    return said == (key["symptom"], key["certainty"]) and bug and (not key["rule"] or key["rule"] == finding.rule)


def test_the_score() -> None:
    right = [folder.name[:2] for folder in FOLDERS if is_right(findings_of(folder)[0], read_key(folder))]
    assert right == RIGHT


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.name)
def test_nothing_is_wrong_with_certainty(folder: Path) -> None:
    key, certain = read_key(folder), [one for one in findings_of(folder) if one.certainty == CERTAIN]
    assert [one.symptom for one in certain] == [key["symptom"]] * len(certain)
    assert not certain or key["certainty"] == CERTAIN


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.name)
def test_the_evidence_has_a_line_of_the_key(folder: Path) -> None:
    key, finding = read_key(folder), findings_of(folder)[0]
    wanted = {(row["file"], row["line"]) for row in key["evidence"]}
    shown = [(proof.source.file, proof.source.line) for proof in finding.proofs]
    near = {(name, line + step) for name, line in shown for step in (-1, 0, 1)}
    assert wanted & near


@pytest.mark.parametrize("number", ASKS)
def test_what_the_text_cannot_answer_is_unknown_and_asks(number: str) -> None:
    (folder,) = (path for path in FOLDERS if path.name.startswith(number))
    finding = findings_of(folder)[0]
    assert finding.certainty == UNKNOWN
    assert ASKS[number] in finding.ask


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.name)
def test_the_advice_is_that_of_the_pages(folder: Path) -> None:
    for finding in findings_of(folder):
        advice = advise(finding)
        assert advice.java
        assert len(advice.bugs) == len(finding.bugs)
