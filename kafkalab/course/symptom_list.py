"""The symptoms of symptoms.toml: what an operator sees, what it is, what to check and to do."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SOURCE = Path(__file__).with_name("symptoms.toml")


@dataclass(frozen=True, slots=True, kw_only=True)
class Symptom:
    """Describe what is seen, what it is, what to check first and to do, and where it is shown.

    `part` is its line of the index. `librdkafka` says what to do there if it is not `do`. `lab` and `cell` name the
    cell; `unshown` says what no cell shows, and `cell`, if any, is then the nearest one. `command` is the beginning of
    a command of that lab or of the error guide. `errors` are the errors met, `bugs` numbers in
    `kafkalab/reference/bug_list.py`.
    """

    part: str
    seen: str
    means: str
    check: str
    do: str
    command: str
    librdkafka: str = ""
    lab: int | None = None
    cell: str = ""
    unshown: str = ""
    also: str = ""
    errors: tuple[str, ...] = ()
    bugs: tuple[str, ...] = ()


def _symptoms() -> tuple[Symptom, ...]:
    rows: list[dict[str, Any]] = tomllib.loads(SOURCE.read_text(encoding="utf-8"))["symptom"]
    lists = ("errors", "bugs")
    return tuple(Symptom(**{**row, **{name: tuple(row.get(name, ())) for name in lists}}) for row in rows)


SYMPTOMS = _symptoms()
"""In the order of the page: the symptoms of a part follow each other."""
