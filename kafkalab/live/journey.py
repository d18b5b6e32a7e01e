"""A journey through a live cluster: its run grows, and what is pressed happens now, to frames that wait at the gate."""

from __future__ import annotations

from typing import Protocol

from kafkalab.faults.fault import Fault
from kafkalab.faults.link import LinkFault
from kafkalab.faults.registry import links_of, nodes_that_fail, possible_faults_on
from kafkalab.live.growing import GoesOn, GrowingJourney
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.gate import Gate
from kafkalab.widgets.model.enabled_actions import (
    DEFAULTS,
    FRAME_FAULTS,
    LIMITS,
    EnabledActions,
)
from kafkalab.widgets.model.jumps import WALKS
from kafkalab.widgets.model.presses import MOVES, RULE_PRESSES, TRAVELS, fault_of

PASSED = "{} does not wait at the gate: live.hold() lets frames wait"
NOTHING_WAITS = "no frame waits at the gate; live.hold() lets frames wait there"
CLIENT = "{} runs outside the cluster: end it where it runs"
BACK = (*TRAVELS, *RULE_PRESSES, "name")
"""The moves that would need another run."""


class Live(GoesOn, Protocol):
    """A cluster whose frames can wait, as a journey needs it: `LiveCluster` is one."""

    cluster: Cluster
    gate: Gate

    def step(self, timeout_s: float = 1.0) -> str:
        """Let the frame that has waited longest go; return its name, "" for none."""
        ...

    def let_go(self, frame: str) -> None:
        """Let this frame go; ValueError if it does not wait."""
        ...

    def strike(self, fault: Fault) -> None:
        """Strike now; ValueError, with the reason, if it would change nothing."""
        ...


class LiveJourney(GrowingJourney):
    """The run of a live cluster so far. At the end, right lets the frame go that has waited longest at the gate."""

    source: Live

    def _actions(self) -> EnabledActions:
        """Return what can be pressed at the end of the run, and why each other button would change nothing."""
        cluster, gate = self.source.cluster, self.source.gate
        frame_presses, with_another = ([k.press for k in FRAME_FAULTS if bool(k.other) is two] for two in (False, True))
        reasons = {
            **DEFAULTS, **dict.fromkeys(frame_presses, PASSED), **dict.fromkeys(with_another, self.why_fixed)
        }  # fmt: skip
        for frame in gate.held:
            reasons |= {f"{press} {frame}": "" for press in frame_presses}
            if gate.is_kept_by_hold(frame):
                reasons |= {f"release {frame}": "", f"hold {frame}": "{} is held already"}
        found = possible_faults_on(cluster, "cluster", [""]) | possible_faults_on(cluster, "link", links_of(cluster))
        for fault, reason in possible_faults_on(cluster, "node", nodes_that_fail(cluster)).items():
            found[fault] = reason if fault.target in cluster.brokers else CLIENT
        for target_kind in ("leader", "log"):
            found |= possible_faults_on(cluster, target_kind, self._growing.partitions)
        for fault, reason in found.items():
            sides = "|".join(sorted(fault.target.split("|")))
            reasons[fault.key.replace(fault.target, sides) if isinstance(fault, LinkFault) else fault.key] = reason
        noted = {key: [[0, reason]] for key, reason in reasons.items()}
        return {"start": 0, "fixed": "", "limits": LIMITS, "reasons": noted}

    # presses

    def press(self, action: str, target: str = "", **details: object) -> None:
        """Do what the button `action` does, now: see `Journey.press`.

        right at the end, and next, let frames go. ValueError, and nothing changes, for what a live cluster cannot do.
        """
        with self._lock:
            if action == "right" and self._is_at_the_end():
                self._act(self._let_next_go)
            elif action in (*MOVES, *WALKS, "hide", "show"):
                super().press(action, target, **details)
            elif action == "next":
                self._act(lambda: self.source.let_go(target))
            elif action in BACK:
                raise ValueError(self.why_fixed)
            else:
                fault = fault_of(self.payload, self.step, action, target, **details)[1]
                self._act(lambda: self.source.strike(fault))

    def _let_next_go(self) -> None:
        if not self.source.step(timeout_s=0):
            raise ValueError(NOTHING_WAITS)

    def possible(self, action: str, target: str = "", **details: object) -> str:
        """Return why this press would change nothing; "" if it would change something."""
        if action == "right" and self._is_at_the_end():
            return "" if self.source.gate.next else NOTHING_WAITS
        if action == "next":
            return "" if target in self.source.gate.held else PASSED.format(target)
        if action in BACK:
            return self.why_fixed
        return super().possible(action, target, **details)
