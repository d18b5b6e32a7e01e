"""Virtual time: what is due, in order. Nothing ever waits; the clock jumps to the next entry."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable
from typing import TypeAlias

Entry: TypeAlias = tuple[bool, str, int, Callable[[], None]]
"""Background or not, node, its incarnation (-1 for any), and what it does."""


class Schedule:
    """Entries by the millisecond at which they are due.

    `foreground` counts those that keep a run going; at `worked_ms` the last one of them was done.
    """

    def __init__(self) -> None:
        self.now = self.worked_ms = 0
        self.foreground = 0
        self._due: dict[int, deque[Entry]] = {}
        self._times: list[int] = []  # a heap of the milliseconds that have entries

    def __len__(self) -> int:
        return sum(map(len, self._due.values()))

    def at(self, at_ms: int, node: str, incarnation: int, action: Callable[[], None], background: bool = False) -> None:
        """Plan `action` for `at_ms`; entries of the same millisecond run in the order in which they were planned."""
        if at_ms < self.now:
            at_ms = self.now
        due = self._due.get(at_ms)
        if due is None:
            due = self._due[at_ms] = deque()
            heapq.heappush(self._times, at_ms)
        due.append((background, node, incarnation, action))
        if not background:
            self.foreground += 1

    @property
    def next_ms(self) -> int:
        """Return when the next entry is due, -1 if there is none."""
        return self._times[0] if self._times else -1

    @property
    def last_foreground_ms(self) -> int:
        """Return the time of the last foreground entry, -1 if there is none."""
        return max((at_ms for at_ms, due in self._due.items() if not all(entry[0] for entry in due)), default=-1)

    def advance(self, duration_ms: int) -> None:
        """Move the clock forward; what was due in between is due at once, in order."""
        self.now += duration_ms

    def pop(self) -> Entry:
        """Remove and return the next entry, and move the clock to its time unless it is past that."""
        at_ms = self._times[0]
        due = self._due[at_ms]
        entry = due.popleft()
        if not due:
            del self._due[at_ms]
            heapq.heappop(self._times)
        if at_ms > self.now:
            self.now = at_ms
        if not entry[0]:
            self.foreground -= 1
            self.worked_ms = self.now
        return entry
