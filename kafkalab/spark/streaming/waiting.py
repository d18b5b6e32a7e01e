"""What waits for longer than anybody means to wait: open transactions, and readers behind a last stable offset.

"Open too long" counts what a broker's metric PartitionsWithLateTransactionsCount counts, with a limit of its own.
"LSO stuck" is a last stable offset that stays, while records behind it are replicated and wait.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kafkalab.checks.check import REPORTED, Finding
from kafkalab.spark.streaming.watch import Limits

OPEN_TOO_LONG, LSO_STUCK = "open too long", "LSO stuck"


class Overdue:
    """What waits, by name: the offset, the time and the step at which waiting began. Each is told once."""

    def __init__(self, limit_ms: int, kept: Any = None) -> None:
        self.limit_ms = limit_ms
        self.waiting: dict[str, list[Any]] = kept or {}
        self.due_ms = self._next()

    def begin(self, name: str, offset: int, at_ms: int, step: int) -> None:
        """From `at_ms` on this waits; whatever waited under that name does not any more."""
        self.waiting[name] = [offset, at_ms, step, False]
        due = at_ms + self.limit_ms
        self.due_ms = due if self.due_ms is None else min(self.due_ms, due)

    def end(self, name: str) -> None:
        """It waits no longer, if it did."""
        self.waiting.pop(name, None)

    def offset(self, name: str) -> int:
        """Where this waits; -1 if it does not."""
        return int(self.waiting[name][0]) if name in self.waiting else -1

    def late(self, now_ms: int) -> list[tuple[str, int, int]]:
        """Name, offset and step of all that has waited for more than the limit and was not told yet, by name."""
        if self.due_ms is None or now_ms <= self.due_ms:
            return []
        found = []
        for name, entry in sorted(self.waiting.items()):
            if not entry[3] and now_ms > entry[1] + self.limit_ms:
                entry[3] = True
                found.append((name, entry[0], entry[2]))
        self.due_ms = self._next()
        return found

    def _next(self) -> int | None:
        return min((e[1] + self.limit_ms for e in self.waiting.values() if not e[3]), default=None)


class OpenTooLong:
    """A run's open transactions: for each key and producer id its first record, until a marker ends it."""

    def __init__(self, limits: Limits, kept: Any = None) -> None:
        self.open = Overdue(limits.open_ms, kept)

    def take(self, row: Any) -> Iterator[Finding]:
        """Yield what is open for too long at the time of `row`; then note the row itself."""
        for place, offset, step in self.open.late(row.at_ms):
            producer_id, _, key = place.partition(" ")
            limit = self.open.limit_ms
            text = f"{key} waits for producer {producer_id} since offset {offset}, for more than {limit} ms"
            yield _found(OPEN_TOO_LONG, text, key, offset, step)
        place = f"{row.producer_id} {row.key}"
        if row.kind == "marker":
            self.open.end(place)
        elif row.kind == "record" and row.transactional and place not in self.open.waiting:
            self.open.begin(place, row.offset, row.at_ms, row.step)

    def kept(self) -> Any:
        """The open transactions."""
        return self.open.waiting


class LsoStuck:
    """The keys of a run whose readers wait. The leader may hand its place on meanwhile: they wait all the same."""

    def __init__(self, limits: Limits, kept: Any = None) -> None:
        self.keys = Overdue(limits.stuck_ms, kept)

    def take(self, row: Any) -> Iterator[Finding]:
        """Yield what is stuck at the time of `row`; then note the row itself."""
        for key, offset, step in self.keys.late(row.at_ms):
            limit = self.keys.limit_ms
            text = f"the last stable offset of {key} is {offset} for more than {limit} ms, and records wait"
            yield _found(LSO_STUCK, text, key, offset, step)
        if row.kind != "watermark":
            return
        if row.high_watermark <= row.last_stable_offset:
            self.keys.end(row.key)
        elif self.keys.offset(row.key) != row.last_stable_offset:
            self.keys.begin(row.key, row.last_stable_offset, row.at_ms, row.step)

    def kept(self) -> Any:
        """The keys that wait."""
        return self.keys.waiting


def _found(anomaly: str, text: str, key: str, offset: int, step: int) -> Finding:
    steps = (step,) if step >= 0 else ()
    return Finding(anomaly=anomaly, policy=REPORTED, text=text, steps=steps, keys=(key,), offsets=(offset,))
