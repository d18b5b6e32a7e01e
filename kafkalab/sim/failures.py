"""What happens to nodes: crash, restart, pause, resume; and when the controller notices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkalab.sim.faults import Crash, NodeFault, Pause, Restart
from kafkalab.sim.task import Node

if TYPE_CHECKING:
    from kafkalab.sim.cluster import Cluster

SESSION_TIMEOUT_MS = 9_000
"""broker.session.timeout.ms; heartbeats themselves are not modelled."""


class Failures:
    """Carries node faults out at their step or time. `used` holds those that changed something."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.at_steps: dict[int, list[NodeFault]] = {}
        self.used: list[NodeFault] = []

    def plan(self, fault: NodeFault) -> None:
        """Strike at the fault's step or time; a step that is over already (the set-up) means now."""
        schedule = self.cluster.schedule
        if fault.at_ms >= 0:
            schedule.at(fault.at_ms, "controller", -1, lambda: self._apply(fault, -1))
        elif fault.at_step < self.cluster.trace.steps:
            self._apply(fault, fault.at_step)
        else:
            self.at_steps.setdefault(fault.at_step, []).append(fault)

    def strike(self, step: int) -> None:
        """Event `step` has just been recorded: its faults take effect before anything else happens."""
        for fault in self.at_steps.pop(step):
            self._apply(fault, step)

    def exit(self, name: str, cause: int) -> None:
        """A program ended with an error and its process with it: its clients stop trying."""
        self.cluster.nodes[name].life += 1
        self.cluster.network.node_died(name, cause)

    def _apply(self, fault: NodeFault, cause: int) -> None:
        node = self.cluster.nodes[fault.node]
        if isinstance(fault, Crash):
            changed = node.alive and self._crash(node, cause)
        elif isinstance(fault, Restart):
            changed = not node.alive and self._restart(node, cause)
        elif isinstance(fault, Pause):
            changed = node.alive and not node.paused and self._pause(node, cause)
        else:
            changed = node.paused and self._resume(node, cause)
        if changed:
            self.used.append(fault)

    def _crash(self, node: Node, cause: int) -> bool:
        node.alive, node.paused = False, False
        node.life += 1
        node.inbox.clear()
        step = self.cluster.record(node.name, "crash", node.name, cause, {"node": node.name})
        self.cluster.network.node_died(node.name, step)
        if node.name in self.cluster.brokers:
            self.cluster.brokers[node.name].crash()
            self._watch_session(node, step)
        return True

    def _restart(self, node: Node, cause: int) -> bool:
        node.alive = True
        step = self.cluster.record(node.name, "recover", node.name, cause, {"node": node.name})
        self.cluster.brokers[node.name].restart(step)
        return True

    def _pause(self, node: Node, cause: int) -> bool:
        node.paused = True
        step = self.cluster.record(node.name, "fault", "Pause", cause, {"node": node.name})
        if node.name in self.cluster.brokers:
            self._watch_session(node, step)
        return True

    def _resume(self, node: Node, cause: int) -> bool:
        node.paused = False
        step = self.cluster.record(node.name, "fault", "Resume", cause, {"node": node.name})
        for action in node.inbox:
            self.cluster.schedule.at(self.cluster.now, node.name, node.life, action)
        node.inbox.clear()
        if node.name in self.cluster.brokers and node.name not in self.cluster.controller.metadata.alive:
            self.cluster.timer(node.name, 0, lambda: self.cluster.brokers[node.name].register(step))
        return True

    def _watch_session(self, node: Node, cause: int) -> None:
        """The controller takes a broker for dead when it has not heard of it for broker.session.timeout.ms."""
        life = node.life

        def over() -> None:
            if node.life == life and (not node.alive or node.paused):
                self.cluster.controller.lost(node.name, cause)

        self.cluster.schedule.at(self.cluster.now + SESSION_TIMEOUT_MS, "controller", -1, over)
