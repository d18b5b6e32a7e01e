"""Faults of frames: which await one, what waits for the arrival of another frame, and which have struck."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol

from kafkalab.faults.fault import FrameFault, TimedFault
from kafkalab.faults.node import Crash, Restart
from kafkalab.faults.request import NO_RESPONSE
from kafkalab.faults.world import Flight, NetworkOfWorld
from kafkalab.sim.kernel.kernel import Kernel
from kafkalab.trace import Frame


class Carrier(NetworkOfWorld, Protocol):
    """The network, as this module sees it."""

    kernel: Kernel

    def arrive_now(self, frame: Frame) -> None: ...
    def respond(self, request: Frame, body: object, cause: int) -> None: ...


class FrameFaults:
    """`planned` has the faults by the names of their frames, `used` those that have changed something, in order.

    `pending` are those whose frame has been sent, and whose moment is still to come. `before` has by name the frames
    that shall arrive just before another one, `kept` by id what waits until they have been answered, `arrivals` and
    `answers` what happens when a request arrives, or is about to be answered. `stalls` has by request and window a
    function that returns for how long its thread stands still there. `plan` lets a timed fault strike.
    """

    def __init__(self, network: Carrier, faults: Iterable[FrameFault]) -> None:
        self.network = network
        self.planned: dict[str, list[FrameFault]] = {}
        for fault in faults:
            self.add(fault)
        self.used: list[FrameFault] = []
        self.pending: list[FrameFault] = []
        self.when_struck: Callable[[FrameFault], None] = lambda fault: None
        self.before: dict[str, list[tuple[Frame, FrameFault]]] = {}
        self.kept: dict[str, list[Frame]] = {}
        self.arrivals: dict[str, Callable[[], Any]] = {}
        self.answers: dict[str, Callable[[], Any]] = {}
        self.stalls: dict[tuple[str, str], Callable[[], int]] = {}
        self.plan: Callable[[TimedFault], None] = lambda fault: None
        self._unanswered: dict[str, tuple[Frame, str]] = {}  # by id, with the id of what it keeps

    def add(self, fault: FrameFault) -> None:
        """Let the fault strike when its frame is sent."""
        self.planned.setdefault(fault.frame, []).append(fault)

    @property
    def unused(self) -> list[FrameFault]:
        """The faults that have changed nothing yet."""
        waiting = [fault for planned in self.planned.values() for fault in planned] + self.pending
        return [fault for fault in dict.fromkeys(waiting) if fault not in self.used]

    # a frame is sent

    def meet(self, frame: Frame, planned: Iterable[FrameFault]) -> Flight:
        """Strike the frame with its faults, in their order, until it is lost or held; return its flight."""
        flight = Flight()
        for fault in planned:
            if flight.copies and fault.strikes(frame, self.network):
                self.strike(fault, frame, flight)
        return flight

    def strike(self, fault: FrameFault, frame: Frame, flight: Flight) -> None:
        """Strike a frame with a fault, which leaves an event."""
        if fault.waits:
            self.pending.append(fault)
        else:
            self.note_used(fault)
        fault.catch(frame, self.network)
        data = {"fault": repr(fault), **fault.event_data(frame)}
        self.network.kernel.record(frame.sender, "fault", type(fault).__name__, frame.sent_step, data, frame.id)
        fault.strike(frame, self.network, flight)

    def note_used(self, fault: FrameFault) -> None:
        """Note that the fault has changed something."""
        self.used.append(fault)
        self.when_struck(fault)

    # a frame arrives just before another one, which waits until the first has been answered

    def wait_before(self, frame: Frame, other: str, fault: FrameFault) -> None:
        """Hold the frame until another one is about to arrive, or never will."""
        self.network.links.hold(frame)
        self.before.setdefault(other, []).append((frame, fault))

    def keeps(self, frame: Frame) -> bool:
        """Let in what shall arrive before the frame; return whether the frame waits until that has been answered."""
        if frame.copy_of in self.kept:
            self.kept[frame.copy_of].append(frame)
            return True
        found = self.let_in(frame)
        for late in found:
            if late.kind == "request" and getattr(late.body, "acks", -1) != 0:
                self._unanswered[late.id] = (late, frame.id)
                self.kept[frame.id] = [frame]
        if found and frame.id not in self.kept:
            self.network.arrive_now(frame)
        return bool(found)

    def let_in(self, frame: Frame) -> list[Frame]:
        """Let the frames arrive now that shall arrive before this one; return them."""
        found = []
        for name in (frame.id, frame.name_at_client):
            for late, fault in self.before.pop(name, ()):
                if self.network.links.release(late.id):
                    found.append(late)
                    self.note_used(fault)
        return found

    def end(self, request: Frame) -> None:
        """Let in what the request keeps: it has been answered, or never will be."""
        _, other = self._unanswered.pop(request.copy_of or request.id, (None, ""))
        if other and not any(other == kept for _, kept in self._unanswered.values()):
            for frame in self.kept.pop(other):
                self.network.arrive_now(frame)

    def node_died(self, node: str) -> None:
        """Let in what requests keep that the node will not answer."""
        for late, _ in list(self._unanswered.values()):
            if late.receiver == node:
                self.end(late)

    # something happens to the receiver of a request

    def wait_for(self, request: Frame, handled: bool, action: Callable[[], Any]) -> None:
        """Call `action` when the request arrives or, if `handled`, when it has been handled and is to be answered.

        It returns what is answered instead: a response, NO_RESPONSE if the broker has crashed, None for no change.
        """
        (self.answers if handled else self.arrivals)[request.id] = action

    def intercept(self, request: Frame) -> bool:
        """Do what waits for the arrival of the request; return False if the receiver handles it as usual."""
        instead = self.arrivals.pop(request.copy_of or request.id, lambda: None)()
        if instead is not None and instead is not NO_RESPONSE:
            self.network.respond(request, instead, request.received_step)
        return instead is not None

    def replace(self, request: Frame, response: Any) -> Any:
        """Do what waits until the request has been handled; return the response that leaves, None for none."""
        instead = self.answers.pop(request.copy_of or request.id, lambda: None)()
        return response if instead is None else None if instead is NO_RESPONSE else instead

    def crash(self, node: str, down_ms: int) -> None:
        """End a broker's process now, in the midst of what it does; start it again after `down_ms` unless that is 0."""
        kernel = self.network.kernel
        kernel.interrupted = True
        self.plan(Crash(node, at_step=kernel.trace.steps - 1))
        if down_ms:
            self.plan(Restart(node, at_ms=kernel.now + down_ms))
