"""A journey through a live cluster: its run grows, and what is pressed happens now, to frames that wait at the gate."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol, TypeVar

from kafkalab.live.thread import EventLoopThread
from kafkalab.sim import faults
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.gate import Gate
from kafkalab.sim.possible_faults import (
    connection_faults,
    feature_faults,
    leader_faults,
    node_faults,
    storage_faults,
)
from kafkalab.widgets.model.enabled_actions import (
    DEFAULTS,
    FRAME_ACTIONS,
    LIMITS,
    EnabledActions,
    key_of,
    label_of,
)
from kafkalab.widgets.model.findings import report_of
from kafkalab.widgets.model.futures import Run
from kafkalab.widgets.model.journey import CHECKED_AT_ONCE, SHOWN, Journey
from kafkalab.widgets.model.jumps import WALKS
from kafkalab.widgets.model.listening import Content
from kafkalab.widgets.model.presses import MOVES, RULE_PRESSES, TRAVELS, fault_of, moved
from kafkalab.widgets.payload.growing import GrowingPayload
from kafkalab.widgets.payload.packing import packed
from kafkalab.widgets.payload.text import ALWAYS, is_shown

NOT_UNDONE = 'what has happened in a live cluster stays; live.save("x.klab") keeps it to be rewound and forked'
PASSED = "{} does not wait at the gate: live.hold() lets frames wait"
NOTHING_WAITS = "no frame waits at the gate; live.hold() lets frames wait there"
CLIENT = "{} runs outside the cluster: end it where it runs"
BACK = (*TRAVELS, *RULE_PRESSES, "name")
"""What would need another run."""
RETRY_S = 0.02

Found = TypeVar("Found")


class Live(Protocol):
    """What a journey needs of a cluster that goes on: `LiveCluster` is one."""

    cluster: Cluster
    gate: Gate
    loop: EventLoopThread
    began_ms: int

    def do(self, action: Callable[[], Found]) -> Found:
        """Do it between two events of the cluster, and return the result."""
        ...

    def watch(self, action: Callable[[], None]) -> None:
        """Call `action` after changes, in the cluster's thread."""
        ...

    def step(self, timeout_s: float = 1.0) -> str:
        """Let the frame that has waited longest go; return its name, "" for none."""
        ...

    def let_go(self, frame: str) -> None:
        """Let this frame go; ValueError if it does not wait."""
        ...

    def strike(self, fault: faults.Fault) -> None:
        """Strike now; ValueError, with the reason, if it would change nothing."""
        ...


class LiveJourney(Journey):
    """The run of a live cluster so far. The cursor stays at its end, unless it has been moved away from there.

    At the end, right lets the frame go that has waited longest at the gate.
    """

    def __init__(self, live: Live, groups: Iterable[str] = SHOWN) -> None:
        """Show what has happened, and grow with it; ValueError for an unknown group."""
        self.live = live
        self._growing: GrowingPayload = live.do(lambda: GrowingPayload(live.cluster, live.began_ms, NOT_UNDONE))
        self._begin(Run(cluster=live.cluster), {**self._growing.whole, "actions": live.do(self._actions)}, groups)
        self.step = self._newest()
        self.hear({"step": self._move, "press": self._press, "check": self._check, "more": self._send_since})
        live.watch(self._changed)

    def _should_send_property(self, key: str, value: Any) -> bool:
        """The payload is sent in parts, and as a whole only to a browser that asks for the state."""
        return key != "payload" and bool(super()._should_send_property(key, value))

    # growing

    def _changed(self) -> None:
        """In the cluster's thread: grow, unless a press is under way, which does so itself."""
        if not self._lock.acquire(blocking=False):
            self.live.loop.later(RETRY_S, self._changed)
            return
        try:
            self._grow()
        finally:
            self._lock.release()

    def _grow(self, follow: bool = False) -> None:
        """Take what is new, in the cluster's thread; the cursor follows if it is at the end, or with `follow`."""
        follow = follow or self.step >= self._newest()
        part = self._growing.more()
        actions = self._actions()
        if not part["events"] and not part["frames"] and actions == self.payload["actions"]:
            return
        self.payload = {**self._growing.whole, "actions": actions}
        if follow:
            with self._lock_property(step=(step := self._newest())):  # the browser is told with the part
                self.step = step
        text = packed({**part, "actions": actions})
        self.send({"kind": "more", "from": part["from"], "text": text, "step": self.step})

    def _newest(self) -> int:
        """The last event that a picture shows: a stop, or the arrival of a frame."""
        shown, hidden = self.groups, self.hidden
        drawn = (e for e in reversed(self.payload["events"]) if e["stop"] or e["kind"] == "receive")
        told = (e for e in drawn if e["category"] in shown or e["kind"] in ALWAYS)
        return next((int(e["step"]) for e in told if not hidden or is_shown(self.payload, e, hidden)), 0)

    def _send_since(self, content: Content) -> None:
        """Send a browser what it lacks: all from event `have` on."""
        have = content.get("have")

        def send() -> None:
            self._grow()
            if isinstance(have, int) and 0 <= have <= len(self.payload["events"]):
                text = packed({**self._growing.since(have), "actions": self.payload["actions"]})
                self.send({"kind": "more", "from": have, "text": text, "step": self.step})

        with self._lock:
            self.live.do(send)

    def _actions(self) -> EnabledActions:
        """What can be pressed at the end of the run, and why each other button would change nothing."""
        cluster, gate = self.live.cluster, self.live.gate
        reasons = {**DEFAULTS, **dict.fromkeys((*FRAME_ACTIONS, "duplicate"), PASSED), "reorder": NOT_UNDONE}
        for frame in gate.held:
            reasons |= {f"{action} {frame}": "" for action in ("drop", "delay", "duplicate", "hold")}
            if gate.is_kept_by_hold(frame):
                reasons |= {f"release {frame}": "", f"hold {frame}": "{} is held already"}
        found = {**feature_faults(cluster), **connection_faults(cluster)}
        for fault, reason in node_faults(cluster, lambda node: label_of(cluster, node)).items():
            found[fault] = reason if getattr(fault, "node", "") in cluster.brokers else CLIENT
        for partition in self._growing.partitions:
            found |= leader_faults(cluster, partition, lambda node: label_of(cluster, node))
            found |= storage_faults(cluster, partition)
        for fault, reason in found.items():
            key = key_of(fault)
            if isinstance(fault, faults.Cut | faults.Heal):
                action, _, pair = key.partition(" ")
                key = f"{action} {'|'.join(sorted(pair.split('|')))}"
            reasons[key] = reason
        noted = {key: [[0, reason]] for key, reason in reasons.items()}
        return {"start": 0, "fixed": "", "limits": LIMITS, "reasons": noted}

    # presses

    def press(self, action: str, target: str = "", **details: Any) -> None:
        """Do what the button `action` does, now: see `Journey.press`.

        right at the end, and next, let frames go. ValueError, and nothing changes, for what a live cluster cannot do.
        """
        with self._lock:
            if action == "right" and moved(self.stops(), self.step, action) == self.step:
                self._act(self._let_next_go)
            elif action in (*MOVES, *WALKS, "hide", "show"):
                super().press(action, target, **details)
            elif action == "next":
                self._act(lambda: self.live.let_go(target))
            elif action in BACK:
                raise ValueError(NOT_UNDONE)
            else:
                fault = fault_of(self.payload, self.step, action, target, **details)[1]
                self._act(lambda: self.live.strike(fault))

    def _let_next_go(self) -> None:
        if not self.live.step(timeout_s=0):
            raise ValueError(NOTHING_WAITS)

    def _act(self, action: Callable[[], None]) -> None:
        def act() -> None:
            action()
            self._grow(follow=True)

        self.live.do(act)

    def possible(self, action: str, target: str = "", **details: Any) -> str:
        """Return why this press would change nothing; "" if it would change something."""
        if action == "right" and moved(self.stops(), self.step, action) == self.step:
            return "" if self.live.gate.next else NOTHING_WAITS
        if action == "next":
            return "" if target in self.live.gate.held else PASSED.format(target)
        if action in BACK:
            return NOT_UNDONE
        return super().possible(action, target, **details)

    # the checks

    def _check(self, content: Content) -> None:
        """Send what the checks say of the run so far, unless that would hold the cluster up for long."""
        if len(self.payload["events"]) <= CHECKED_AT_ONCE:
            super()._check(content)

    def report(self) -> dict[str, Any]:
        """What all checks say of the run so far, with "place"; checked anew when events have come."""
        steps = len(self.payload["events"])
        if self._reports.get(0, {}).get("steps") != steps:
            found = self.live.do(lambda: report_of(self.live.cluster))
            self._reports[0] = {"place": 0, "steps": steps, **found}
        self.verdict = self._reports[0]
        return self.verdict
