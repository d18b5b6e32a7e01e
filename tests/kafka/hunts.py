"""The hunts and the compared cleanings by now: a row for each, which the commands write and docs/compared.md shows."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

HUNTS, CLEANINGS = (Path(__file__).with_name(name) for name in ("hunts.json", "cleanings.json"))


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Return the rows in their order."""
    rows: list[dict[str, Any]] = json.loads(path.read_text("utf-8"))
    return rows


def add_row(path: Path, row: dict[str, Any]) -> None:
    """Add a row, with the commit that was compared."""
    git = subprocess.run(["git", "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True, check=True)
    rows = [*read_rows(path), {**row, "commit": git.stdout.strip()}]
    path.write_text("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n", "utf-8")


def first_fresh_seed(path: Path = HUNTS) -> int:
    """Return the seed after those of all rows; the first hunts, which do not say, began at 1."""
    return max([1, *(int(row.get("next", 1 + row.get("scripts", 0))) for row in read_rows(path))])
