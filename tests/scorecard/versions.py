"""The versions of the clients that are tried, as tests/wire/clients/README.md states them."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

PAGE = Path(__file__).parents[1] / "wire" / "clients" / "README.md"
ROW = re.compile(r"^\| (?P<name>[^|]+) \| (?P<library>[^|]+) \| (?P<version>\d[^|]*) \|", re.MULTILINE)


@cache
def versions() -> dict[str, str]:
    """Return by client its version."""
    return {found["name"].strip(): found["version"].strip() for found in ROW.finditer(PAGE.read_text("utf-8"))}
