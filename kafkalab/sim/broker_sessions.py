"""The controller's view of brokers: which sessions have expired, and which broker is heard of again."""

from __future__ import annotations

from kafkalab.broker.broker import Broker
from kafkalab.broker.controller import Controller
from kafkalab.faults.links import Links
from kafkalab.sim.kernel.kernel import Kernel

SESSION_TIMEOUT_MS = 9_000
"""broker.session.timeout.ms; heartbeats themselves are not modelled."""


class BrokerSessions:
    """A broker is silent while it is down, paused, or behind a network partition from the controller."""

    def __init__(self, kernel: Kernel, links: Links, controller: Controller, brokers: dict[str, Broker]) -> None:
        self.kernel = kernel
        self.links = links
        self.controller = controller
        self.brokers = brokers
        self._silent: dict[str, int] = {}  # broker -> the event since which the controller does not hear of it

    def is_silent(self, name: str) -> bool:
        """Return whether no heartbeat of the broker reaches the controller now."""
        node = self.kernel.nodes[name]
        return not node.alive or node.paused or self.links.is_cut(name, Controller.name)

    def watch(self, name: str, cause: int) -> None:
        """Fence the broker when its session expires, if it is still silent since event `cause` then."""
        since = self._silent.setdefault(name, cause)

        def over() -> None:
            if self._silent.get(name) == since:
                self.controller.fence_broker(name, since)

        if since == cause:
            self.kernel.schedule.at(self.kernel.now + SESSION_TIMEOUT_MS, Controller.name, -1, over)

    def on_restart(self, name: str) -> None:
        """Forget the previous session of a broker that starts again, if the controller can hear of it.

        Its new process has no session before it is let in.
        """
        self.controller.awaited[name] = True
        if not self.is_silent(name):
            self._silent.pop(name, None)

    def heard_again(self, name: str, cause: int) -> None:
        """Continue the broker's session if its heartbeats get through now.

        A broker that is fenced, or has started again and was not let in yet, asks to be let in.
        """
        if self.is_silent(name):
            return
        self._silent.pop(name, None)
        if name not in self.controller.metadata.alive or name in self.controller.awaited:
            self.kernel.timer(name, 0, lambda: self.brokers[name].register(cause))
