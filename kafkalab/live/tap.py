"""`Tap` for notebooks: its views grow while frames pass, and → lets a frame that it holds go on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any, TypeVar

from kafkalab.live.growing import GrowingJourney
from kafkalab.live.watchers import Watchers, in_time
from kafkalab.sim.recording import Recording
from kafkalab.widgets.model.enabled_actions import EnabledActions, by_hand
from kafkalab.widgets.model.journey import NO_FRAME_YET, SHOWN
from kafkalab.widgets.model.jumps import WALKS
from kafkalab.widgets.model.presses import MOVES
from kafkalab.wire.tap import tap

NOTHING_WAITS = "no frame waits; tap.hold() lets frames wait, if the tap was made with faults=True"
NOT_HELD = "{} does not wait: tap.hold() lets frames wait, if the tap was made with faults=True"
Found = TypeVar("Found")


class Tap(tap.Tap):
    __doc__ = tap.Tap.__doc__

    began_ms = 0

    def __init__(self, address: str, *more: Any, **settings: Any) -> None:
        self._watchers = Watchers(self.later)
        super().__init__(address, *more, **settings)
        self._session.recorder.on_change = self._watchers.changed

    @cached_property
    def cluster(self) -> Recording:
        """What is recorded, not a copy: `look` takes over what has come since."""
        recorder = self._session.recorder
        return Recording(recorder.trace, recorder.known)

    def look(self) -> None:
        """Decode the batches that have come since, and take over what is known of the cluster by now."""
        self._session.recorder.read_records()
        self.cluster.learn(self._session.recorder.known)

    @cached_property
    def journey(self) -> TapJourney:
        """The journey that all views of this tap share. ValueError before the first frame."""
        return TapJourney(self)

    def do(self, action: Callable[[], Found]) -> Found:
        """Do it between two frames, and return the result; after `close()` do it here."""
        here = threading.current_thread() is self._thread or not self._thread.is_alive()
        return action() if here else self._do(action)

    def later(self, delay_s: float, action: Callable[[], None]) -> None:
        """Do it between two frames after `delay_s`; after `close()` in a thread of its own."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._loop.call_later, delay_s, action)
        else:
            in_time(delay_s, action)

    def watch(self, action: Callable[[], None]) -> None:
        """Call `action` in the tap's thread after changes, at most ten times a second."""
        self._watchers.add(action)

    def close(self) -> None:
        """Close every connection; what was recorded stays."""
        super().close()
        self._watchers.tell()


class TapJourney(GrowingJourney):
    """What a tap has recorded so far. At the end, right lets the frame go on that has waited longest."""

    why_fixed = Recording.why
    source: Tap

    def __init__(self, source: Tap, groups: Iterable[str] = SHOWN) -> None:
        """Show what has passed, and grow with it; ValueError for an unknown group, and before the first frame."""
        source.do(source.look)
        if not source.cluster.trace.events:
            raise ValueError(NO_FRAME_YET)
        super().__init__(source, groups)

    def _grow(self, follow: bool = False) -> None:
        self.source.look()
        super()._grow(follow)

    def _actions(self) -> EnabledActions:
        return {**by_hand(), "fixed": Recording.why}

    def press(self, action: str, target: str = "", **details: Any) -> None:
        """Move the cursor, or let a frame that is held go on; ValueError for all that needs a simulator."""
        with self._lock:
            if reason := self.possible(action, target, **details):
                raise ValueError(reason)
            if action == "right" and self._is_at_the_end():
                self._act(self._let_next_go)
            elif action == "next":
                self._act(lambda: self.source.gate.let_go(target))
            else:
                super().press(action, target, **details)

    def _let_next_go(self) -> None:
        if not self.source.gate.held:
            raise ValueError(NOTHING_WAITS)
        self.source.gate.let_go(next(iter(self.source.gate.held)))

    def possible(self, action: str, target: str = "", **details: Any) -> str:
        """Return why this press would change nothing; "" if it would change something."""
        if action == "right" and self._is_at_the_end():
            return "" if self.source.gate.held else NOTHING_WAITS
        if action == "next":
            return "" if target in self.source.gate.held else NOT_HELD.format(target)
        if action in (*MOVES, *WALKS, "hide", "show"):
            return "" if action in MOVES else super().possible(action, target, **details)
        return Recording.why
