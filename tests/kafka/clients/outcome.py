"""The form in which both sides are recorded: times become classes of waiting, pictures of a race are left out."""

from __future__ import annotations

from typing import Any

LADDER = ((15, "at once"), (35, "20 ms"), (72, "50 ms"), (150, "100 ms"), (290, "200 ms"), (560, "400 ms"))


def waited(after_ms: float) -> str:
    """Name the back-off that a time is nearest to: `waited(117) == "100 ms"` (Java's have a jitter of a fifth)."""
    return next((name for limit, name in LADDER if after_ms < limit), "1 s" if after_ms < 1400 else "longer")


def with_classes(log: list[dict[str, Any]]) -> list[str]:
    """Return each request in one line, with its version, and how long after a failed answer it came."""
    lines: list[str] = []
    for row in log:
        line = f"v{row['version']} {row['request']}"
        if "after_ms" in row:
            line += f" | {waited(row['after_ms'])}"
        if row["request"].startswith("Fetch") and lines and lines[-1].split(" | ")[0] == line.split(" | ")[0]:
            continue  # the same Fetch again, as long as there is nothing to read
        lines.append(line)
    return lines
