"""A script: what a client is told to do, and what the broker answers where it is not healthy.

`calls` are the client's methods by their names in Java, with arguments: `["send", "out-0", "a"]`. `answers` are the
exceptions from a healthy broker's answers, each with
* `api`, and `nth`: a number, a list of numbers, or "all" (counted per API, for FindCoordinator per kind of key);
* `error`, for all partitions or for `partition` alone, or `do`: "drop" (no answer), "close" (the connection breaks).
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SCRIPTS = Path(__file__).parent / "scripts"
RECORDED = Path(__file__).parents[3] / "data" / "recorded" / "java-4.3.1-clients.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """One script at one transaction version. `logs`, `committed` and `topics` are what the broker begins with."""

    name: str
    why: str
    client: str
    calls: list[list[Any]]
    config: dict[str, Any] = field(default_factory=dict)
    answers: list[dict[str, Any]] = field(default_factory=list)
    transaction_version: int = 2
    topics: dict[str, int] = field(default_factory=lambda: {"out": 2, "in": 2})
    logs: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    log_start: dict[str, int] = field(default_factory=dict)
    last_stable: dict[str, int] = field(default_factory=dict)
    aborted: dict[str, list[list[int]]] = field(default_factory=dict)
    committed: dict[str, int] = field(default_factory=dict)


def scripts() -> list[Script]:
    """Read all scripts; one with several `versions` is one script for each, its name ending in " TV1", " TV2"."""
    found = []
    for path in sorted(SCRIPTS.glob("*.json")):
        for row in json.loads(path.read_text()):
            versions = row.pop("versions", [2])
            for version in versions:
                name = f"{row['name']} TV{version}" if len(versions) > 1 else row["name"]
                values = {**row, "name": name, "client": path.stem.split("-")[0]}
                found.append(Script(**values, transaction_version=version))
    names = [s.name for s in found]
    assert len(set(names)) == len(names), [n for n in names if names.count(n) > 1]
    return found
