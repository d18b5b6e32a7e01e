"""`Tap("host:9092")`: a proxy before a running Kafka in a thread of its own, for notebooks and scripts.

Its views grow while frames pass, and → lets a frame that it holds go on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from kafkalab.faults.frame import Delay, Drop, Hold, Late
from kafkalab.limits import place_of
from kafkalab.live.growing import GrowingJourney
from kafkalab.live.thread import EventLoopThread
from kafkalab.live.watchers import Watchers, in_time
from kafkalab.run.run import Run
from kafkalab.trace import Frame
from kafkalab.widgets.model.enabled_actions import EnabledActions, by_hand
from kafkalab.widgets.model.futures import NO_FRAME_YET
from kafkalab.widgets.model.journey import SHOWN
from kafkalab.widgets.model.jumps import WALKS
from kafkalab.widgets.model.presses import MOVES
from kafkalab.wire.tap.gate import Gate, TapFault
from kafkalab.wire.tap.proxy import Proxy
from kafkalab.wire.tap.recorder import MOST_EVENTS, Recorder
from kafkalab.wire.tap.session import Session

NOTHING_WAITS = "no frame waits; tap.hold() lets frames wait, if the tap was made with faults=True"
NOT_HELD = "{} does not wait: tap.hold() lets frames wait, if the tap was made with faults=True"
Found = TypeVar("Found")


class Tap:
    """Record what clients and a running Kafka say to each other; `Sequence(tap)` shows it.

    Clients connect to `bootstrap_servers`. The tap reads, and changes nothing but brokers' addresses, unless `faults`
    is true. `events` bounds what is kept for pictures; with `save` every frame is written to that file as it passes,
    and `on_frame` is called with it. TapError if no broker answers at `address`, or a port is taken.
    """

    began_ms = 0

    def __init__(
        self,
        address: str,
        port: int = 0,
        faults: bool = False,
        host: str = "127.0.0.1",
        save: str | Path = "",
        events: int = MOST_EVENTS,
        on_frame: Callable[[Frame], None] | None = None,
    ) -> None:
        upstream = place_of(address)
        self._files = ExitStack()
        file = self._files.enter_context(Path(save).open("w", encoding="utf-8")) if save else None  # noqa: SIM115
        self._session = Session(Recorder(f"tap of {address}", events, on_frame=on_frame), file)
        self.gate = Gate(allowed=faults)
        self._proxy = Proxy(upstream, self._session, self.gate, host, port)
        self.loop = EventLoopThread()
        self._watchers = Watchers(self.later)
        self._session.recorder.on_change = self._watchers.on_change
        try:
            self.loop.run(self._proxy.open())
        except BaseException:
            self.close()
            raise

    @property
    def bootstrap_servers(self) -> str:
        """The bootstrap servers for clients, instead of the cluster's own."""
        return self._proxy.bootstrap_servers

    def recording(self) -> Run:
        """Return what has passed by now; a copy, which does not grow."""
        return self.do(self._session.recorder.recording)

    # faults

    def drop(self, frame: str) -> None:
        """Lose a frame that is still to come, "EndTxnResponse#1": its connection breaks, as it would over TCP."""
        self.strike(Drop(frame))

    def delay(self, frame: str, ms: int) -> None:
        """Let a frame that is still to come, and all behind it on its connection, wait for `ms`."""
        self.strike(Delay(frame, ms))

    def strike(self, fault: TapFault) -> None:
        """Do this when its frame comes: Drop, Duplicate, Delay, Hold, Late, RespondWith; or Release a held one.

        A frame has the simulator's name, "EndTxn#1", or a client's, "app:EndTxn#1". ValueError for a frame that has
        passed, and for what no tap can do.
        """
        self.do(lambda: self.gate.plan(fault))

    def late(self, frame: str, before: str) -> None:
        """Let a frame go on just before another one comes, which waits until the first has been answered."""
        self.strike(Late(frame, before))

    @property
    def unused_faults(self) -> tuple[TapFault, ...]:
        """The faults that have not struck: their frame has not come, or what they wait for."""
        return self.do(lambda: tuple(self.gate.unused))

    def hold(self, name: str = "") -> None:
        """Hold every frame of an API ("EndTxn"), of an answer ("EndTxnResponse"), of a client or a broker, of all
        without a name; or hold one frame, "EndTxn#1"."""

        def hold() -> None:
            if "#" in name:
                self.gate.plan(Hold(name))
                return
            self.gate.check()
            self.gate.names[name] = None

        self.do(hold)

    def free(self, name: str = "") -> None:
        """Hold such frames no longer; those that are held stay so until `let_go`."""
        self.do(lambda: self.gate.names.pop(name, None))

    @property
    def held(self) -> list[str]:
        """The frames that wait, oldest first."""
        return self.do(lambda: list(self.gate.held))

    def let_go(self, frame: str) -> None:
        """Let a held frame go on. ValueError for one that is not held."""
        self.do(lambda: self.gate.let_go(frame))

    def refuse(self) -> None:
        """Close every connection, and refuse new ones until `accept()`, as the host of a broker that is down does."""
        self.loop.run(self._proxy.close())

    def accept(self) -> None:
        """Accept connections again, at the same addresses. TapError if a port has been taken meanwhile."""
        self.loop.run(self._proxy.open_again())

    # views

    @property
    def run(self) -> Run:
        """Return the run of all frames that have passed by now, with a trace that grows."""
        return self.do(lambda: self._session.recorder.run)

    @cached_property
    def journey(self) -> TapJourney:
        """The journey that all views of this tap share. ValueError before the first frame."""
        return TapJourney(self)

    def do(self, action: Callable[[], Found]) -> Found:
        """Do it between two frames, and return the result; after `close()` do it here."""
        return self.loop.call(action)

    def later(self, delay_s: float, action: Callable[[], None]) -> None:
        """Do it after `delay_s`. To be called in the tap's thread, or after `close()`."""
        (self.loop.later if self.loop.running else in_time)(delay_s, action)

    def watch(self, action: Callable[[], None]) -> None:
        """Call `action` in the tap's thread after changes, at most ten times a second."""
        self._watchers.add(action)

    # the end

    def close(self) -> None:
        """Close every connection; what was recorded stays."""
        if self.loop.running:
            try:
                self.loop.run(self._proxy.close())
            finally:
                self.loop.close()
        self._files.close()
        self._watchers.tell()

    def __enter__(self) -> Tap:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        recorder = self._session.recorder
        return f"<Tap {self.bootstrap_servers}, {recorder.frames_seen} frames{', full' if recorder.full else ''}>"


class TapJourney(GrowingJourney):
    """The recording of a tap so far. At the end, right lets the frame go on that has waited longest."""

    source: Tap

    def __init__(self, source: Tap, groups: Iterable[str] = SHOWN) -> None:
        """Show what has passed, and grow with it; ValueError for an unknown group, and before the first frame."""
        if not source.run.trace.events:
            raise ValueError(NO_FRAME_YET)
        super().__init__(source, groups)

    def _actions(self) -> EnabledActions:
        return {**by_hand(), "fixed": self.why_fixed}

    def press(self, action: str, target: str = "", **details: object) -> None:
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

    def possible(self, action: str, target: str = "", **details: object) -> str:
        """Return why this press would change nothing; "" if it would change something."""
        if action == "right" and self._is_at_the_end():
            return "" if self.source.gate.held else NOTHING_WAITS
        if action == "next":
            return "" if target in self.source.gate.held else NOT_HELD.format(target)
        if action in (*MOVES, *WALKS, "hide", "show"):
            return "" if action in MOVES else super().possible(action, target, **details)
        return self.why_fixed
