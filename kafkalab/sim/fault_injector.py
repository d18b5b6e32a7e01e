"""Carries faults out at their step or time: of nodes, of the network, of the clock, of leaders; storage has its own."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial

from kafkalab.broker.broker import Broker
from kafkalab.broker.controller import Controller
from kafkalab.broker.direct_replication import DirectReplication
from kafkalab.sim.broker_sessions import BrokerSessions
from kafkalab.sim.faults import (
    AdvanceClock,
    Compact,
    Crash,
    Cut,
    DeleteSegment,
    ElectLeader,
    Heal,
    Pause,
    Release,
    Restart,
    Resume,
    Roll,
    TimedFault,
    Upgrade,
    nodes_of,
)
from kafkalab.sim.in_flight_requests import REQUEST_TIMEOUT_MS
from kafkalab.sim.kernel.kernel import Kernel
from kafkalab.sim.kernel.task import Node
from kafkalab.sim.network import Network
from kafkalab.sim.storage_faults import StorageFaults

CALM_MS = REQUEST_TIMEOUT_MS + 5_000


class FaultInjector:
    """Strikes with timed faults. `used` holds those that changed something; each of them has left an event."""

    def __init__(self, kernel: Kernel, network: Network, controller: Controller, brokers: dict[str, Broker]) -> None:
        self.kernel = kernel
        self.network = network
        self.controller = controller
        self.brokers = brokers
        self.sessions = BrokerSessions(kernel, network.links, controller, brokers)
        self.storage = StorageFaults(kernel, controller, brokers)
        self.used: list[TimedFault] = []
        self.direct: DirectReplication | None = None
        self._struck = 0

    def plan(self, fault: TimedFault) -> None:
        """Strike at the fault's step or time; a step that is over already (the set-up) means now."""
        if fault.at_ms >= 0:
            self.kernel.schedule.at(fault.at_ms, Controller.name, -1, lambda: self._apply(fault, -1))
        elif fault.at_step < self.kernel.trace.steps:
            self._apply(fault, fault.at_step)
        else:
            self.kernel.interrupts.setdefault(fault.at_step, []).append(partial(self._apply, fault, fault.at_step))

    def _apply(self, fault: TimedFault, cause: int) -> None:
        if self.direct is not None:
            self._go_back_to_frames(self.direct)
        if self._strike(fault, cause):
            self.used.append(fault)

    def _go_back_to_frames(self, direct: DirectReplication) -> None:
        """Replicate by frames until every fetch that the fault can have lost has timed out and been sent again."""
        direct.settle()
        direct.on = self.network.quiet = False
        self._struck += 1
        number = self._struck

        def calm() -> None:
            if number == self._struck:
                direct.on = self.network.quiet = self.network.is_whole

        self.kernel.schedule.at(self.kernel.now + CALM_MS, Controller.name, -1, calm, True)

    def _strike(self, fault: TimedFault, cause: int) -> bool:
        """Let the fault happen because of event `cause`; return whether anything is different now."""
        match fault:
            case Crash() | Restart() | Pause() | Resume():
                return self._strike_node(fault, cause)
            case Cut():
                return self._cut(fault, cause)
            case Heal():
                return self._heal(fault, cause)
            case AdvanceClock():
                self.kernel.schedule.advance(fault.ms)
                self._note(Controller.name, fault, cause, {"ms": fault.ms})
                return True
            case ElectLeader():
                return self._elect(fault, cause)
            case Compact() | DeleteSegment() | Roll():
                return self.storage.apply(fault, cause)
            case Release():
                return self._release(fault, cause)
            case Upgrade():
                return self._upgrade(fault, cause)

    def _note(self, node: str, fault: TimedFault, cause: int, data: dict[str, object], frame: str = "") -> int:
        return self.kernel.record(node, "fault", type(fault).__name__, cause, {"fault": repr(fault), **data}, frame)

    # nodes

    def _strike_node(self, fault: Crash | Restart | Pause | Resume, cause: int) -> bool:
        node = self.kernel.nodes[fault.node]
        if isinstance(fault, Crash):
            return node.alive and self._crash(node, cause, fault.sent)
        if isinstance(fault, Restart):
            return not node.alive and self._restart(node, cause)
        if isinstance(fault, Pause):
            return node.alive and not node.paused and self._pause(node, cause)
        return node.paused and self._resume(node, cause)

    def _crash(self, node: Node, cause: int, sent: bool) -> bool:
        node.alive, node.paused, node.last_frame_leaves = False, False, sent
        node.incarnation += 1
        node.inbox.clear()
        data = {"node": node.name, **({"sent": True} if sent else {})}
        step = self.kernel.record(node.name, "crash", node.name, cause, data)
        self.network.node_died(node.name, step)
        self._silence(node.name, self.kernel.now)
        if node.name in self.brokers:
            self.brokers[node.name].crash()
            self.sessions.watch(node.name, step)
        return True

    def _restart(self, node: Node, cause: int) -> bool:
        node.alive = True
        step = self.kernel.record(node.name, "recover", node.name, cause, {"node": node.name})
        self.sessions.on_restart(node.name)
        self.brokers[node.name].restart(step)
        return True

    def _pause(self, node: Node, cause: int) -> bool:
        node.paused = True
        self._silence(node.name, self.kernel.now)
        step = self.kernel.record(node.name, "fault", "Pause", cause, {"node": node.name})
        if node.name in self.brokers:
            self.sessions.watch(node.name, step)
        return True

    def _resume(self, node: Node, cause: int) -> bool:
        node.paused = False
        self._silence(node.name, -1)
        step = self.kernel.record(node.name, "fault", "Resume", cause, {"node": node.name})
        for action in node.inbox:
            self.kernel.schedule.at(self.kernel.now, node.name, node.incarnation, action)
        node.inbox.clear()
        if node.name in self.brokers:
            self.sessions.heard_again(node.name, step)
        return True

    def _silence(self, follower: str, since_ms: int, leaders: Iterable[str] = ()) -> None:
        """Tell these leaders (all if none is named) that the follower repeats no fetch from then on; -1: it does."""
        for leader in leaders or self.brokers:
            session = self.brokers[leader].state.sessions.get(follower)
            if session is not None:
                session.silent_since_ms = since_ms

    # the network

    def _cut(self, fault: Cut, cause: int) -> bool:
        new = [(a, b) for a in nodes_of(fault.a) for b in nodes_of(fault.b) if self.network.part(a, b)]
        if not new:
            return False
        for a, b in [pair for pair in new if pair[0] in self.brokers and pair[1] in self.brokers]:
            self._silence(b, self.kernel.now, (a,))
            self._silence(a, self.kernel.now, (b,))
        step = self._note(new[0][0], fault, cause, {"pairs": new})
        for name in self._brokers_parted_from_the_controller(new):
            self.sessions.watch(name, step)
        return True

    def _heal(self, fault: Heal, cause: int) -> bool:
        links = self.network.links
        healed = [(a, b) for a in nodes_of(fault.a) for b in nodes_of(fault.b) if links.heal(a, b)]
        if not healed:
            return False
        step = self._note(healed[0][0], fault, cause, {"pairs": healed})
        for name in self._brokers_parted_from_the_controller(healed):
            self.sessions.heard_again(name, step)
            self.controller.tell_if_alive(name, step)
        return True

    def _brokers_parted_from_the_controller(self, pairs: list[tuple[str, str]]) -> list[str]:
        return [n for pair in pairs if Controller.name in pair for n in pair if n in self.brokers]

    def _release(self, fault: Release, cause: int) -> bool:
        frame = self.network.links.find_kept(fault.frame)
        if frame is None:
            return False
        self.network.links.release(fault.frame)
        self._note(frame.sender, fault, cause, {}, fault.frame)
        return True

    # features

    def _upgrade(self, fault: Upgrade, cause: int) -> bool:
        """Raise the level at every broker: one that is down has read it when it is back."""
        states = [broker.state for broker in self.brokers.values()]
        if states[0].transaction_version >= fault.level:
            return False
        for state in states:
            state.config = replace(state.config, transaction_version=fault.level)
        self._note(Controller.name, fault, cause, {"level": fault.level})
        return True

    # leaders

    def _elect(self, fault: ElectLeader, cause: int) -> bool:
        if not self.controller.can_lead(fault.partition, fault.broker, fault.unclean):
            return False
        step = self._note(Controller.name, fault, cause, {"partition": fault.partition, "broker": fault.broker})
        self.controller.elect(fault.partition, fault.broker, step)
        return True
