"""Every incident has files, and a key that is complete, whose links look right and whose evidence is in the files."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
INCIDENTS = sorted(path for path in HERE.iterdir() if re.match(r"\d\d_", path.name))
TEXTS = {"title", "source_says", "client", "happened", "certainty", "command", "bug", "rule", "lab", "symptom"}
"""The fields that are one text each; the last four may be empty."""
LISTS = {"sources", "brokers", "evidence"}
OPTIONAL = {"bug", "rule", "lab", "symptom"}
LINK = re.compile(
    r"https://(github\.com/[\w.-]+/[\w.-]+/(issues|pull)/\d+|issues\.apache\.org/jira/browse/[A-Z]+-\d+"
    r"|cwiki\.apache\.org/confluence/\S+|www\.mail-archive\.com/\S+)"
)
SECRET = re.compile(
    r"(password|secret|token|api[._-]?key)\s*[=:]\s*(?!null|\[hidden\]|None)\S+|[\w.+-]+@[\w-]+\.[a-z]{2,}", re.I
)


def read_key(folder: Path) -> dict[str, Any]:
    """Return the key of an incident."""
    return tomllib.loads((folder / "key.toml").read_text())


def find_faults(folder: Path) -> list[str]:
    """Return what is wrong with the form of an incident."""
    key, files = read_key(folder), {path.name for path in folder.iterdir()} - {"key.toml"}
    found = [f"field {name}" for name in sorted((TEXTS | LISTS | {"do"}) ^ set(key))]
    found += [f"{name} is empty" for name in sorted((TEXTS | LISTS | {"do"}) - OPTIONAL) if not key.get(name)]
    found += [f"link {link}" for link in key["sources"] if not LINK.fullmatch(link)]
    if key["certainty"] not in ("certain", "likely", "unknown"):
        found.append(f"certainty {key['certainty']}")
    if not 1 <= len(files) <= 3:
        found.append(f"{len(files)} files")
    found += [f"{name} has no evidence" for name in sorted(files - {row["file"] for row in key["evidence"]})]
    for row in key["evidence"]:
        lines = (folder / row["file"]).read_text().splitlines() if row["file"] in files else []
        shown = lines[row["line"] - 1] if 0 < row["line"] <= len(lines) else ""
        if not row["quote"] or row["quote"] not in shown or not row["says"]:
            found.append(f"{row['file']}:{row['line']} does not hold {row['quote']!r}")
    found += [f"secret in {name}" for name in sorted(files) if SECRET.search((folder / name).read_text())]
    return found


def test_there_are_forty() -> None:
    assert [path.name[:2] for path in INCIDENTS] == [f"{n:02}" for n in range(1, 41)]
    counts = [len(list(path.iterdir())) - 1 for path in INCIDENTS]
    assert counts.count(1) >= 16
    assert sum(count > 1 for count in counts) >= 16
    assert sum(read_key(path)["certainty"] == "unknown" for path in INCIDENTS) == 6


@pytest.mark.parametrize("folder", INCIDENTS, ids=lambda path: path.name)
def test_incident_is_complete(folder: Path) -> None:
    assert find_faults(folder) == []


@pytest.mark.parametrize("folder", INCIDENTS, ids=lambda path: path.name)
def test_incident_can_be_made_again(folder: Path) -> None:
    makers = [path.read_text() for path in HERE.glob("make_*.py")]
    assert any(f"def make_{folder.name[:2]}(" in text and f'"{folder.name}"' in text for text in makers)


@pytest.mark.parametrize("folder", INCIDENTS, ids=lambda path: path.name)
def test_places_in_the_lab_exist(folder: Path, root: Path) -> None:
    key = read_key(folder)
    if key["bug"]:
        assert f"\n## {key['bug']}: " in (root / "docs/bugs.md").read_text()
    if key["rule"]:
        assert f"| {key['rule']} |" in (root / "docs/rules.md").read_text()
    if key["symptom"]:
        assert f"\n## {key['symptom']}\n" in (root / "docs/symptoms.md").read_text()
    if key["lab"]:
        assert (root / "labs" / key["lab"]).is_file()


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("ssl.key.password = null", False),
        ("sasl.jaas.config = [hidden]", False),
        ("sasl.password=hunter2", True),
        ("api_key: abc", True),
        ("write to a.b@example.com", True),
    ],
)
def test_secrets_are_seen(text: str, is_one: bool) -> None:
    assert bool(SECRET.search(text)) is is_one
