"""Virtual time: what is due, in order. Nothing ever waits; the clock jumps to the next entry."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import TypeAlias

Entry: TypeAlias = tuple[int, int, bool, str, int, Callable[[], None]]
"""When, a number that makes the order of equal times definite, background or not, node, its life, and what it does."""


class Schedule:
    """A heap of entries. `foreground` counts those that keep a run going."""

    def __init__(self) -> None:
        self.now = 0
        self.foreground = 0
        self._heap: list[Entry] = []
        self._sequence = 0

    def __len__(self) -> int:
        return len(self._heap)

    def at(self, at_ms: int, node: str, life: int, action: Callable[[], None], background: bool = False) -> None:
        """Plan an action; entries for the same time run in the order in which they were planned."""
        self._sequence += 1
        if at_ms < self.now:
            at_ms = self.now
        heapq.heappush(self._heap, (at_ms, self._sequence, background, node, life, action))
        if not background:
            self.foreground += 1

    @property
    def last_foreground_ms(self) -> int:
        """The time of the last entry that keeps a run going, -1 for none."""
        return max((entry[0] for entry in self._heap if not entry[2]), default=-1)

    def advance(self, duration_ms: int) -> None:
        """The clock jumps; what was due in between is due at once, in its order."""
        self.now += duration_ms

    def pop(self) -> Entry:
        """The next entry; the clock stands at its time, or later if it has jumped."""
        entry = heapq.heappop(self._heap)
        if entry[0] > self.now:
            self.now = entry[0]
        if not entry[2]:
            self.foreground -= 1
        return entry
