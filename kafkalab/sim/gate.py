"""A gate between clients and brokers: frames wait there until they are let go, or a fault strikes them."""

from __future__ import annotations

from typing import Any

from kafkalab.faults.fault import FrameFault
from kafkalab.faults.frame import Hold, Reorder
from kafkalab.faults.world import Flight
from kafkalab.limits import quote
from kafkalab.protocol.messages.find_coordinator import TRANSACTION
from kafkalab.sim.kernel.kernel import Kernel
from kafkalab.sim.kernel.task import no_requests
from kafkalab.sim.network import Network
from kafkalab.trace import Frame

EVERY, SHOWN = "every frame", "every frame that a picture shows"


class Gate:
    """Decides which frames between a client and a broker wait; the network keeps them, with their names and causes.

    `names` are APIs ("EndTxn" also means its response), frames ("EndTxn#2"), nodes and transactional ids; `SHOWN`
    stands for all frames but those about metadata, `EVERY` for all. None: every frame passes.
    """

    def __init__(self, kernel: Kernel, network: Network) -> None:
        self.kernel, self.network = kernel, network
        self.names: tuple[str, ...] = ()
        self._pinned: dict[str, None] = {}
        network.gate = self.holds

    def holds(self, frame: Frame) -> bool:
        """Return whether a frame that is being sent has to wait."""
        names = self.names
        if not names or not (self._is_client(frame.sender) or self._is_client(frame.receiver)):
            return False
        if EVERY in names or (SHOWN in names and frame.category != "metadata"):
            return True
        api = frame.name.removesuffix("Response")
        return any(n in names for n in (frame.name, api, frame.id, frame.sender, frame.receiver)) or (
            self.transactional_id(frame) in names
        )

    def _is_client(self, node: str) -> bool:
        return self.kernel.nodes[node].receive is no_requests

    def transactional_id(self, frame: Frame) -> str:
        """Return the transactional id that a frame, or the request that it answers, is about; "" for none."""
        body: Any = self.network.find_request(frame) if frame.of else frame.body
        if getattr(body, "key_type", -1) == TRANSACTION:
            return str(body.key)
        return str(getattr(body, "transactional_id", None) or "")

    @property
    def held(self) -> list[str]:
        """The frames that wait, in the order in which they were sent."""
        return self.network.links.all_held

    @property
    def next(self) -> str:
        """The frame that has waited longest and is not kept by a `Hold`; "" for none."""
        return next((name for name in self.held if name not in self._pinned), "")

    def is_kept_by_hold(self, name: str) -> bool:
        """Return whether a `Hold` has struck the frame, which then waits for its `Release`."""
        return name in self._pinned

    def let_go(self, name: str) -> None:
        """Let the frame arrive now. ValueError if it does not wait."""
        frame = self._take(name)
        self._pinned.pop(frame.id, None)
        self.network.fly(frame)

    def strike(self, fault: FrameFault) -> None:
        """Drop, duplicate, delay or hold a frame that waits. ValueError for a frame that does not, and other faults."""
        if reason := self.why_not(fault):
            raise ValueError(reason)
        frame, flight = self._take(fault.frame), Flight()
        self._pinned.pop(frame.id, None)
        self.network.frame_faults.strike(fault, frame, flight)
        if flight.copies:
            self.network.fly(frame, flight.extra_ms, flight.copies)
        elif self.network.links.find_held(frame.id):
            self._pinned[frame.id] = None

    def why_not(self, fault: FrameFault) -> str:
        """Return why the fault does not strike a frame that waits; "" if it does."""
        if isinstance(fault, Reorder):
            return f"{quote(fault)} does not strike a frame that waits: Drop, Duplicate, Delay, Hold and Late do"
        held = self.network.links.find_held(fault.frame)
        if held and not fault.strikes(held, self.network):
            return f"{quote(fault)} does not strike it: {fault.awaited}"
        return f"{fault.frame} is held already" if isinstance(fault, Hold) and held and held.id in self._pinned else ""

    def _take(self, name: str) -> Frame:
        frame = self.network.links.take(name)
        if frame is None:
            raise ValueError(f"{quote(name)} does not wait at the gate; there {self._waiting()}")
        return frame

    def _waiting(self) -> str:
        return f"wait {', '.join(self.held)}" if self.held else "waits nothing"
