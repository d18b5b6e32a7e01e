"""A journey through a run that goes on: it grows by itself, and is checked in the background while it does."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from threading import Thread
from typing import Any, Protocol, TypeVar

from kafkalab.run.run import Run
from kafkalab.trace import Trace
from kafkalab.widgets.model.enabled_actions import EnabledActions
from kafkalab.widgets.model.findings import report_of
from kafkalab.widgets.model.journey import CHECKED_AT_ONCE, SHOWN, Journey
from kafkalab.widgets.model.messages import Content
from kafkalab.widgets.payload.growing import GrowingPayload
from kafkalab.widgets.payload.packing import pack
from kafkalab.widgets.payload.text import ALWAYS, is_shown

RETRY_S = 0.02
CHECK_S, IDLE_S, SHARE = 3.0, 1.0, 20
"""The background checks wait this long after the last ones, or `SHARE` times as long as these took; and until nothing
has been pressed for `IDLE_S`, but not longer than twice `CHECK_S`."""

Found = TypeVar("Found")


class GoesOn(Protocol):
    """A run that goes on in a thread of its own, as a journey needs it: `LiveCluster` and `Tap` are two."""

    began_ms: int

    @property
    def run(self) -> Run:
        """The run so far, with the trace, to which events are added; why nothing of it can be undone."""
        ...

    def do(self, action: Callable[[], Found]) -> Found:
        """Do it between two events, and return the result."""
        ...

    def later(self, delay_s: float, action: Callable[[], None]) -> None:
        """Do it between two events, after `delay_s`."""
        ...

    def watch(self, action: Callable[[], None]) -> None:
        """Call `action` after changes, between two events."""
        ...


class GrowingJourney(Journey):
    """The run so far. The cursor stays at its end, unless it has been moved away from there."""

    def __init__(self, source: GoesOn, groups: Iterable[str] = SHOWN) -> None:
        """Show what has happened, and grow with it; ValueError for an unknown group."""
        self.source = source
        self._pressed_s = self._checked_s = self._checks_took_s = 0.0
        self._watched = self._check_planned = False
        run = source.run
        self.why_fixed = run.why
        self._growing: GrowingPayload = source.do(lambda: GrowingPayload(run, source.began_ms))
        self._begin(run, {**self._growing.whole, "actions": source.do(self._actions)}, groups, 0)
        self.step = self._newest()
        source.watch(self._on_change)

    @property
    def run(self) -> Run:
        """The run so far."""
        return self.source.run

    def _handlers(self) -> dict[str, Callable[[Content], None]]:
        return {**super()._handlers(), "more": self._send_since}

    def _should_send_property(self, key: str, value: object) -> bool:
        """The payload is sent in parts, and as a whole only to a browser that asks for the state."""
        return key != "payload" and bool(super()._should_send_property(key, value))

    def _actions(self) -> EnabledActions:
        """Return what can be pressed at the end of the run, and why each other button would change nothing."""
        raise NotImplementedError

    def _let_next_go(self) -> None:
        """In the run's thread: let the frame that has waited longest go; ValueError if none waits."""
        raise NotImplementedError

    def _press(self, content: Content) -> None:
        """Do what a button of the browser does. It sends right only from the end of the run as it knows it."""
        if content.get("action") != "right":
            super()._press(content)
            return
        with self._lock:
            self._act(self._let_next_go)
        self.send({"kind": "done"})

    # growing

    def _on_change(self) -> None:
        """In the run's thread: grow, unless a press is under way, which does so itself."""
        if not self._lock.acquire(blocking=False):
            self.source.later(RETRY_S, self._on_change)
            return
        try:
            self._grow()
        finally:
            self._lock.release()

    def _grow(self, follow: bool = False) -> None:
        """Take what is new, in the run's thread; the cursor follows if it is at the end, or with `follow`."""
        follow, was = follow or self._is_at_the_end(), self.step
        part = self._growing.more(self.source.run)
        actions = self._actions()
        if not part["events"] and not part["frames"] and actions == self.payload["actions"]:
            return
        self.payload = {**self._growing.whole, "actions": actions}
        if follow:
            with self._lock_property(step=(step := self._newest())):  # the browser is told with the part
                self.step = step
        text = pack({**part, "actions": actions})
        self.send({"kind": "more", "from": part["from"], "text": text, "step": self.step, "was": was})
        if self._watched:
            self._plan_check()

    def _newest(self) -> int:
        """The last event that a picture shows: a stop, or the arrival of a frame."""
        return self._last_shown(lambda e: e["stop"] or e["kind"] == "receive")

    def _last_shown(self, wanted: Callable[[dict[str, Any]], bool]) -> int:
        """The last event of this kind that is shown, 0 for none."""
        shown, hidden = self.groups, self.hidden
        told = (e for e in reversed(self.payload["events"]) if wanted(e))
        told = (e for e in told if e["category"] in shown or e["kind"] in ALWAYS)
        return next((int(e["step"]) for e in told if not hidden or is_shown(self.payload, e, hidden)), 0)

    def _is_at_the_end(self) -> bool:
        """Return True if no stop lies after the cursor."""
        return self.step >= self._last_shown(lambda e: bool(e["stop"]))

    def _send_since(self, content: Content) -> None:
        """Send a browser what it lacks: all from event `have` on."""
        have = content.get("have")

        def send() -> None:
            self._grow()
            if isinstance(have, int) and 0 <= have <= len(self.payload["events"]):
                text = pack({**self._growing.since(have), "actions": self.payload["actions"]})
                self.send({"kind": "more", "from": have, "text": text, "step": self.step})

        with self._lock:
            self.source.do(send)

    def _act(self, action: Callable[[], object]) -> None:
        """Do it in the run's thread; show at once what follows."""

        def act() -> None:
            self._pressed_s = time.monotonic()
            action()
            self._grow(follow=True)

        self.source.do(act)

    # the checks

    def _check(self, content: Content) -> None:
        """Send what the checks say of the run so far, soon, and from now on after it has grown."""
        self._watched = True
        self.source.do(self._plan_check)

    def _plan_check(self) -> None:
        """In the run's thread: check as soon as that may be."""
        if self._check_planned or self._reports.get(0, {}).get("steps") == len(self.payload["events"]):
            return
        self._check_planned = True
        rest_s = max(CHECK_S, SHARE * self._checks_took_s) if self._checked_s else 0.0
        self.source.later(max(0.0, self._checked_s + rest_s - time.monotonic()), self._check_when_idle)

    def _check_when_idle(self) -> None:
        now = time.monotonic()
        stepping = now - self._pressed_s < IDLE_S and now - self._checked_s < 2 * CHECK_S
        if stepping or not self._lock.acquire(blocking=False):
            self.source.later(IDLE_S / 2, self._check_when_idle)
            return
        try:
            snapshot = self._snapshot()
        finally:
            self._lock.release()
        Thread(target=self._check_now, args=(snapshot,), name="kafkalab checks", daemon=True).start()

    def _check_now(self, snapshot: Run) -> None:
        """In a thread of its own: check the snapshot, and send what is found."""
        began_s = time.thread_time()
        found = self._judge(snapshot)
        self._checks_took_s = time.thread_time() - began_s

        def take_verdict() -> None:
            self._check_planned, self._checked_s = False, time.monotonic()
            self.verdict = self._reports[0] = found
            self._plan_check()

        self.source.do(take_verdict)

    def _snapshot(self) -> Run:
        """In the run's thread: show what has happened, and return the run with a trace that does not grow."""
        self._grow()
        run = self.source.run
        trace = run.trace
        frames = {**trace.frames, **{name: copy.copy(frame) for name, frame in self._growing.flying.items()}}
        return replace(
            run, trace=Trace(events=list(trace.events), frames=frames, steps=trace.steps, title=trace.title)
        )

    def _judge(self, snapshot: Run) -> dict[str, Any]:
        return {"place": 0, "steps": snapshot.trace.steps, **report_of(snapshot)}

    def report(self) -> dict[str, object]:
        """Return what all checks say of the run so far, with "place"; checked anew when events have come."""
        self._watched = True
        if self._reports.get(0, {}).get("steps") != self.source.run.trace.steps:
            self._reports[0] = self._judge(self.source.do(self._snapshot))
        self.verdict = self._reports[0]
        return self.verdict

    def known_report(self) -> dict[str, object]:
        """Return the report; of a long run that of the last checks, {} if there were none."""
        return self.report() if len(self.payload["events"]) <= CHECKED_AT_ONCE else self._reports.get(0, {})
