"""Write docs/changes.md: what the newest release of Kafka changed, from APIs, profiles, runs and recordings."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kafkalab.protocol.api import REFERENCES
from kafkalab.protocol.messages.registry import ALL
from kafkalab.protocol.profiles import PROFILES, SERVED
from kafkalab.reference.profile_table import profile_table
from kafkalab.reference.protocol_page import table
from kafkalab.wire.definitions import Field, message

PAGE = Path("docs") / "changes.md"
RECORDED = Path("data") / "recorded"
OLD, NEW = list(REFERENCES)[-2:]
WHY_ONE_MORE = """The one request more is Metadata:
a producer of 4.4 has to know the ids of topics whose offsets it commits, and asks for those that are new to it before
TxnOffsetCommit (KIP-1319). A client that speaks protocol 1 asks, too, although its TxnOffsetCommit names topics."""
BY_ID = "topic_ids."
"""Begins the names of scripts that are the same as others, but for topic ids: "topic_ids.offsets.x" is "offsets.x"."""


def text_of(root: Path) -> str:
    """Return the page as tables, runs and the recordings under `root` have it now."""
    return f"""# What Kafka {NEW} changed for transactions

Made by `kafkalab changes` from the code's tables, from runs, and from the recordings of Apache Kafka {REFERENCES[OLD]}
and {REFERENCES[NEW]}; a test compares. The profiles `{SERVED[NEW, 1]}` and `{SERVED[NEW, 2]}` follow {NEW}, as do
`kafkalab serve --kafka {NEW}` and `LiveCluster(kafka="{NEW}")`. Labs follow {OLD}.

## Versions of APIs

{_versions()}

## Rules

{_rules()}

## The same questions

{_questions()}

## The same requests

{_recordings(root)}

[compared.md](compared.md) says why a script has other answers. With topic ids in place of names the following answers
differ; all other answers are the same.

{_by_id(root)}
"""


def _versions() -> str:
    rows = []
    for api in sorted(ALL, key=lambda api: api.name):
        first = api.since.get(NEW)
        if first is not None:
            fields = [_new_fields(f"{api.name}{side}", first) for side in ("Request", "Response")]
            rows.append((api.name, first, *(", ".join(names) or "as before" for names in fields)))
    return "\n".join(table(("API", "new version", "new in the request", "new in the response"), rows))


def _new_fields(name: str, version: int) -> list[str]:
    old = set(_names(message(name, version - 1).fields))
    return [field for field in _names(message(name, version).fields) if field not in old]


def _names(fields: tuple[Field, ...], within: str = "") -> Iterator[str]:
    for field in fields:
        yield f"`{within}{field.name}`"
        yield from _names(field.fields, f"{within}{field.name}.")


def _rules() -> str:
    old, new = (PROFILES[SERVED[release, 2]].lacks for release in (OLD, NEW))
    rows = [(rule.name, rule.source, rule.protects) for rule in old if rule not in new]
    return "\n".join(table((f"rule that {OLD} lacks", "from", "protects"), rows))


def _questions() -> str:
    names = [SERVED[release, level] for level in (1, 2) for release in (OLD, NEW)]
    rows = [(question, *(said[name] for name in names)) for question, said in profile_table().items()]
    changed = [row for row in rows if row[1] != row[2] or row[3] != row[4]]
    same = f"Of the {len(rows)} questions of [profiles.md](profiles.md) all others are answered alike. {WHY_ONE_MORE}"
    return "\n".join([*table(("question", *names), changed), "", same])


def _recordings(root: Path) -> str:
    rows = []
    for path in sorted((root / RECORDED).glob(f"{REFERENCES[NEW]}-*.json")):
        answers, others = _answers(path), _answers(_old(path))
        asked = [name for name in answers if name in others]
        different = [f"`{name}`" for name in asked if not isinstance(answers[name], str)]
        count = sum(len(others[name]) for name in asked)
        rows.append((path.stem, len(asked), count, ", ".join(different) or "none", len(answers) - len(asked)))
    head = ("recording", f"scripts that {OLD} knows, too", "answers", "scripts with other answers", "new scripts")
    return "\n".join(table(head, rows))


def _answers(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))["answers"]
    return found


def _old(path: Path) -> Path:
    return path.with_name(path.name.replace(REFERENCES[NEW], REFERENCES[OLD]))


def _by_id(root: Path) -> str:
    found: dict[tuple[str, str, str], dict[str, None]] = {}
    for path in sorted((root / RECORDED).glob(f"{REFERENCES[NEW]}-*.json")):
        others = _answers(_old(path))
        for name, answers in _answers(path).items():
            if name.startswith(BY_ID):
                for old, new in zip(others[name.removeprefix(BY_ID)], answers, strict=True):
                    for was, now in zip(_errors(old), _errors(new), strict=True):
                        if was != now:
                            found.setdefault((old["ask"], was, now), {})[f"`{name}`"] = None
    rows = [(*change, ", ".join(names)) for change, names in sorted(found.items())]
    return "\n".join(table(("API", "with names", "with topic ids", "scripts"), rows))


def _errors(answer: dict[str, Any]) -> list[str]:
    return sorted([str(row["error"]) for row in (answer, *answer.get("parts", ())) if "error" in row])
