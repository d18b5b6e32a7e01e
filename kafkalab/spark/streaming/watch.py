"""The protocol of a streaming audit, and the parts that all of them share: what they take and keep."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from kafkalab.checks.check import Finding
from kafkalab.spark.streaming.arrivals import Arrival

LONGEST_MS = 70_000
"""transaction.timeout.ms is 60 s, and the coordinator looks every 10 s: what is open for longer asks for a look."""

WINDOW_MS = 600_000
"""Five times delivery.timeout.ms: no retry of a producer comes later."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """From when on waiting is too long, in milliseconds of the history's own time; and for how long of this machine's
    time a query remembers a value after its newest copy, to find the next one."""

    open_ms: int = LONGEST_MS
    stuck_ms: int = LONGEST_MS
    window_ms: int = WINDOW_MS

    def __post_init__(self) -> None:
        for name, least in (("open_ms", 0), ("stuck_ms", 0), ("window_ms", 1)):
            value = getattr(self, name)
            if value < least:
                raise ValueError(f"{name} is a number of milliseconds from {least} on, not {value}")


class Watch(Protocol):
    """One audit of one group of arrivals: what it has seen so far, as far as it still matters."""

    def take(self, row: Arrival) -> Iterator[Finding]:
        """Return the findings that this row (an `Arrival`, or a Spark row of one) makes certain, each once."""
        ...

    def save_state(self) -> Any:
        """Return the state to remember, as JSON: a watch made with `kept=save_state()` goes on as this one would."""
        ...
