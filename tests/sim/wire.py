"""Nodes that only listen, on a real network: what arrives where, when, and how each request ends.

Requests are the broker's smallest ones; nothing here depends on what a broker does with them.
"""

from __future__ import annotations

from typing import Any

from kafkalab.faults.fault import Fault
from kafkalab.protocol.messages.heartbeat import Heartbeat, HeartbeatResponse
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.scenario import Scenario
from kafkalab.trace import Frame

NEVER: Any = "has not ended"


class Ended:
    """The end of a request: the response, or None for a broken connection, when, and the event that caused it."""

    def __init__(self, wire: Wire) -> None:
        self.wire = wire
        self.response: Any = NEVER
        self.at_ms = -1
        self.cause = -1
        self.times = 0

    def __call__(self, response: Any, cause: int) -> None:
        self.response, self.cause, self.at_ms = response, cause, self.wire.now
        self.times += 1


class Wire:
    """Clients a and c, and brokers b1 and b2 that answer nothing by themselves."""

    def __init__(self, *faults: Fault, seed: int = 1) -> None:
        self.cluster = Cluster(Scenario(brokers=2, seed=seed, faults=faults))
        self.arrived: dict[str, list[Frame]] = {}
        for name in ("a", "c"):
            self.cluster.client(name)
        for name in ("b1", "b2"):
            self.arrived[name] = []
            self.cluster.nodes[name].receive = self._listen

    def _listen(self, frame: Frame) -> None:
        if frame.name == "Heartbeat":  # what brokers ask each other is no part of this
            self.arrived[frame.receiver].append(frame)

    @property
    def now(self) -> int:
        return self.cluster.schedule.now

    def ask(
        self, sender: str, to: str, body: Any = None, background: bool = False, timeout_ms: int = 0, cause: int = 0
    ) -> Ended:
        """Send a request and see how it ends."""
        ended = Ended(self)
        body = body or Heartbeat(group_id="g", generation_id=1, member_id=f"m{self.cluster.network.frames_sent}")
        self.cluster.network.request(sender, to, body, ended, cause, background, None, timeout_ms)
        return ended

    def run_for(self, duration_ms: int) -> None:
        """Let the time pass, and all happen that is due by then."""
        self.cluster.run_for(duration_ms)

    def answer(self, broker: str, response: Any = None, number: int = -1, cause: int = 0) -> None:
        """The broker answers one of the requests that have arrived, the last one if not said."""
        self.cluster.network.respond(self.arrived[broker][number], response or HeartbeatResponse(), cause)
