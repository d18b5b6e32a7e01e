"""Things that wait, since when, and which of them have just waited for too long."""

from __future__ import annotations

from typing import Any


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
