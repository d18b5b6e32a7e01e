"""The form in which both sides are recorded: times become classes of waiting, ports and Java's objects are left out."""

from __future__ import annotations

import re
from typing import Any

OBJECTS = ((r"127\.0\.0\.1:\d+", "HOST:PORT"), (r"(FetchPosition\{offset=\d+), .*?\}\}", r"\1}"),
           (r"\d+ ms has passed", "N ms has passed"), (r"(times in) \d+ms", r"\1 N ms"))
"""Java's print of its own objects and times, with what is left of each."""

LADDER = ((15, "at once"), (40, "20 ms"), (150, "100 ms"), (290, "200 ms"), (560, "400 ms"), (1400, "1 s"))
TWENTY = "AddPartitionsToTxn"
"""The only request with a back-off of 20 ms; with any other so short a time is the machine's own."""
LOOSE = ("FindCoordinator", "Heartbeat", "ListOffsets")
"""Requests whose waiting other threads or the metadata's own back-off lengthen: only whether they wait is compared."""


def name_wait(row: dict[str, Any]) -> str:
    """Name the back-off that a time is nearest to: 117 is "100 ms" (Java's have a jitter of a fifth).

    Around the look-up of a coordinator a client opens connections as well: then only whether it waits at all.
    """
    found = next((name for limit, name in LADDER if row["after_ms"] < limit), "longer")
    if found == "20 ms" and not row["request"].startswith(TWENTY):
        found = "at once"
    loose = row["around_look_up"] or row["request"].startswith(LOOSE)
    return "later" if loose and found != "at once" else found


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
            line += f" | {name_wait(row)}"
        lines.append(line)
    return lines


def quickest(logs: list[list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Return one log with the least waiting of each request: a busy machine only adds to it. AssertionError: a race."""
    first, *others = logs
    for other in others:
        assert [r["request"] for r in other] == [r["request"] for r in first], (first, other)
    return [{**row, **({"after_ms": min(x[n]["after_ms"] for x in logs)} if "after_ms" in row else {})}
            for n, row in enumerate(first)]
