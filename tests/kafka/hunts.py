"""The hunts by now: hunts.json has a row for each, which `hunt` writes and docs/compared.md shows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

HUNTS = Path(__file__).with_name("hunts.json")


def read_hunts() -> list[dict[str, Any]]:
    """Return the rows in their order."""
    rows: list[dict[str, Any]] = json.loads(HUNTS.read_text("utf-8"))
    return rows


def first_fresh_seed() -> int:
    """Return the seed after those of all hunts; the first hunts, which do not say, began at 1."""
    return max(int(row.get("next", 1 + row["scripts"])) for row in read_hunts())
