"""What happens to nodes: crash, restart, pause, resume; and when the controller notices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkalab.sim.faults import Crash, NodeFault, Pause, Restart, TimedFault
from kafkalab.sim.task import Node
from kafkalab.sim.world import CONTROLLER, World

if TYPE_CHECKING:
    from kafkalab.sim.cluster import Cluster

SESSION_TIMEOUT_MS = 9_000
"""broker.session.timeout.ms; heartbeats themselves are not modelled."""


class Failures:
    """Carries timed faults out at their step or time. `used` holds those that changed something."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.world = World(cluster)
        self.at_steps: dict[int, list[TimedFault]] = {}
        self.used: list[TimedFault] = []
        self.struck = False  # whether a fault has ever struck in the middle of what a node did
        self._silent: dict[str, int] = {}  # broker -> the event since which the controller does not hear of it

    def plan(self, fault: TimedFault) -> None:
        """Strike at the fault's step or time; a step that is over already (the set-up) means now."""
        schedule = self.cluster.schedule
        if fault.at_ms >= 0:
            schedule.at(fault.at_ms, CONTROLLER, -1, lambda: self._apply(fault, -1))
        elif fault.at_step < self.cluster.trace.steps:
            self._apply(fault, fault.at_step)
        else:
            self.at_steps.setdefault(fault.at_step, []).append(fault)

    def strike(self, step: int) -> None:
        """Event `step` has just been recorded: its faults take effect before anything else happens."""
        self.struck = True
        for fault in self.at_steps.pop(step):
            self._apply(fault, step)

    def exit(self, name: str, cause: int) -> None:
        """A program ended with an error and its process with it: its clients stop trying."""
        self.cluster.nodes[name].life += 1
        self.cluster.network.node_died(name, cause)

    def _apply(self, fault: TimedFault, cause: int) -> None:
        changed = self._strike_node(fault, cause) if isinstance(fault, NodeFault) else self.world.apply(fault, cause)
        if changed:
            self.used.append(fault)

    def _strike_node(self, fault: NodeFault, cause: int) -> bool:
        node = self.cluster.nodes[fault.node]
        if isinstance(fault, Crash):
            return node.alive and self._crash(node, cause)
        if isinstance(fault, Restart):
            return not node.alive and self._restart(node, cause)
        if isinstance(fault, Pause):
            return node.alive and not node.paused and self._pause(node, cause)
        return node.paused and self._resume(node, cause)

    def _crash(self, node: Node, cause: int) -> bool:
        node.alive, node.paused = False, False
        node.life += 1
        node.inbox.clear()
        step = self.cluster.record(node.name, "crash", node.name, cause, {"node": node.name})
        self.cluster.network.node_died(node.name, step)
        if node.name in self.cluster.brokers:
            self.cluster.brokers[node.name].crash()
            self.watch_session(node, step)
        return True

    def _restart(self, node: Node, cause: int) -> bool:
        node.alive = True
        step = self.cluster.record(node.name, "recover", node.name, cause, {"node": node.name})
        if not self._is_silent(node):
            self._silent.pop(node.name, None)
        self.cluster.brokers[node.name].restart(step)
        return True

    def _pause(self, node: Node, cause: int) -> bool:
        node.paused = True
        step = self.cluster.record(node.name, "fault", "Pause", cause, {"node": node.name})
        if node.name in self.cluster.brokers:
            self.watch_session(node, step)
        return True

    def _resume(self, node: Node, cause: int) -> bool:
        node.paused = False
        step = self.cluster.record(node.name, "fault", "Resume", cause, {"node": node.name})
        for action in node.inbox:
            self.cluster.schedule.at(self.cluster.now, node.name, node.life, action)
        node.inbox.clear()
        if node.name in self.cluster.brokers:
            self.heard_again(node, step)
        return True

    # the controller's view of brokers

    def _is_silent(self, node: Node) -> bool:
        return not node.alive or node.paused or self.cluster.network.obstacles.is_cut(node.name, CONTROLLER)

    def watch_session(self, node: Node, cause: int) -> None:
        """The controller takes a broker for dead when it has not heard of it for broker.session.timeout.ms."""
        since = self._silent.setdefault(node.name, cause)

        def over() -> None:
            if self._silent.get(node.name) == since:
                self.cluster.controller.lost(node.name, since)

        if since == cause:
            self.cluster.schedule.at(self.cluster.now + SESSION_TIMEOUT_MS, CONTROLLER, -1, over)

    def heard_again(self, node: Node, cause: int) -> None:
        """If its heartbeats get through now, the broker's session goes on; a fenced broker asks to be let in."""
        if self._is_silent(node):
            return
        self._silent.pop(node.name, None)
        if node.name not in self.cluster.controller.metadata.alive:
            self.cluster.timer(node.name, 0, lambda: self.cluster.brokers[node.name].register(cause))
