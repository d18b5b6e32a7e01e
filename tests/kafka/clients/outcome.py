"""The form in which both sides are recorded: times become classes of waiting, ports and Java's objects are left out."""

from __future__ import annotations

import re
from typing import Any

OBJECTS = ((r"127\.0\.0\.1:\d+", "HOST:PORT"), (r"(FetchPosition\{offset=\d+), .*?\}\}", r"\1}"))
"""What Java prints of its own objects, with what is left of it."""

LADDER = ((15, "at once"), (40, "20 ms"), (150, "100 ms"), (290, "200 ms"), (560, "400 ms"), (1400, "1 s"))
TWENTY = "AddPartitionsToTxn"
"""The only request with a back-off of 20 ms; with any other so short a time is the machine's own."""


def waited(after_ms: float, request: str) -> str:
    """Name the back-off that a time is nearest to: 117 is "100 ms" (Java's have a jitter of a fifth)."""
    found = next((name for limit, name in LADDER if after_ms < limit), "longer")
    return "at once" if found == "20 ms" and not request.startswith(TWENTY) else found


def without_objects(outcome: Any) -> Any:
    """Return an outcome without what Java prints of its own objects."""
    if isinstance(outcome, dict):
        return {name: without_objects(value) for name, value in outcome.items()}
    if isinstance(outcome, str):
        for pattern, short in OBJECTS:
            outcome = re.sub(pattern, short, outcome)
    return outcome


def with_classes(log: list[dict[str, Any]]) -> list[str]:
    """Return each request in one line, with its version, and how long after a failed answer it came."""
    lines: list[str] = []
    for row in log:
        line = f"v{row['version']} {row['request']}"
        if "after_ms" in row:
            line += f" | {waited(row['after_ms'], row['request'])}"
        lines.append(line)
    return lines
