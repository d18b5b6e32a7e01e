"""kafkalab answers as a real Kafka answered: every script against its recording, without a Kafka."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kafkalab.protocol.errors import Error
from tests.kafka.differences import SHOWN, compare, find_unexplained, report
from tests.kafka.mutations import read_mutations
from tests.kafka.page import text
from tests.kafka.script import HERE, RECORDED, belongs, families, read_recorded, read_recording, scripts_of


def list_apis(family: str) -> set[str]:
    """Return the APIs that the scripts of a family ask."""
    return {step["ask"] for script in scripts_of(family) for step in script["steps"] if "ask" in step}


CASES = [
    pytest.param(path.stem, family, marks=pytest.mark.subjects(*list_apis(family)))
    for path in sorted(RECORDED.glob("[0-9]*.json"))
    for family in families()
    if any(belongs(s, path.stem) for s in scripts_of(family))
]


@pytest.mark.parametrize(("recording", "family"), CASES)
def test_kafkalab_answers_as_the_recording(recording: str, family: str) -> None:
    scripts = [s for s in scripts_of(family) if belongs(s, recording)]
    rows = compare(recording, scripts, read_recorded(recording))
    assert not find_unexplained(rows), report(rows, SHOWN)


@pytest.mark.parametrize("recording", [path.stem for path in sorted(RECORDED.glob("[0-9]*.json"))])
def test_every_script_is_recorded(recording: str) -> None:
    found = read_recorded(recording)["answers"]
    assert list(found) == [s["name"] for s in scripts_of() if belongs(s, recording)]
    assert [name for name, answers in found.items() if any("failed" in a for a in answers)] == []


def test_a_recording_whose_like_has_changed_is_to_be_made_again(tmp_path: Path) -> None:
    name = scripts_of("init")[0]["name"]
    path = tmp_path / "4.4.0-tv2.json"
    path.write_text(json.dumps({"like": "4.3.1-tv2", "answers": {name: "00000000"}}))
    with pytest.raises(ValueError, match=rf"4\.3\.1-tv2 has other answers to {name} now: record 4\.4\.0-tv2 again"):
        read_recording(path)


def test_the_page_is_what_the_recordings_say(root: Path) -> None:
    assert (root / "docs" / "compared.md").read_text("utf-8") == text(), "run python -m tests.kafka page"


def test_every_error_is_recorded_or_has_a_reason() -> None:
    lost = '"error": "NETWORK_EXCEPTION"'  # so a script notes that no answer came
    texts = [path.read_text("utf-8").replace(lost, "") for path in RECORDED.glob("[0-9]*.json")]
    reasons: dict[str, str] = json.loads((HERE / "not_recorded.json").read_text("utf-8"))
    missing = [e.name for e in Error if not any(f'"{e.name}"' in text for text in texts)]
    assert sorted(missing) == sorted(reasons)


def test_every_change_is_noticed_or_has_a_reason() -> None:
    rows = read_mutations()
    assert [r for r in rows if not r.get("by") and not r.get("why")] == []
    assert sum("by" in r for r in rows) >= len(rows) * 3 / 4
