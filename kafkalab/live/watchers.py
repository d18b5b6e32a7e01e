"""Calls to those who watch something that changes, soon and not too often."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

CHANGED_S, SOON_S = 0.1, 0.04
"""Watchers are called at most once in the first time, and the second after a change: what belongs together comes
together."""


class Watchers:
    """Calls those who watch something, soon after it has changed; `later(delay_s, action)` is the loop's."""

    def __init__(self, later: Callable[[float, Callable[[], None]], None]) -> None:
        self._later = later
        self._actions: list[Callable[[], None]] = []
        self._told_s = 0.0
        self._planned = False

    def add(self, action: Callable[[], None]) -> None:
        """Call `action` from now on."""
        self._actions.append(action)

    def on_change(self) -> None:
        """Plan the next call, unless it is planned."""
        if self._actions and not self._planned:
            self._planned = True
            self._later(max(SOON_S, self._told_s + CHANGED_S - time.monotonic()), self.tell)

    def tell(self) -> None:
        """Call all."""
        self._planned, self._told_s = False, time.monotonic()
        for action in self._actions:
            action()


def in_time(delay_s: float, action: Callable[[], None]) -> None:
    """Call `action` after `delay_s` in a thread of its own: where there is no loop any more."""
    timer = threading.Timer(delay_s, action)
    timer.daemon = True
    timer.start()
