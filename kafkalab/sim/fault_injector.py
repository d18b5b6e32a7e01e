"""Strikes with timed faults at their step or time."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from kafkalab.broker.controller import Controller
from kafkalab.broker.direct_replication import DirectReplication
from kafkalab.faults.fault import TimedFault
from kafkalab.faults.world import World
from kafkalab.sim.in_flight_requests import REQUEST_TIMEOUT_MS
from kafkalab.sim.kernel.kernel import Kernel
from kafkalab.sim.network import Network

CALM_MS = REQUEST_TIMEOUT_MS + 5_000


class FaultInjector:
    """Strikes a world. `used` holds the faults that changed something; each of them has left an event."""

    def __init__(self, kernel: Kernel, network: Network, world: World) -> None:
        self.kernel, self.network, self.world = kernel, network, world
        self.used: list[TimedFault] = []
        self.direct: DirectReplication | None = None
        self.when_struck: Callable[[TimedFault], None] = lambda fault: None
        self._struck = 0

    def plan(self, fault: TimedFault) -> None:
        """Strike at the fault's step or time; a step that is over already (the set-up) means now."""
        kernel = self.kernel
        if fault.at_ms >= 0:
            kernel.schedule.at(fault.at_ms, Controller.name, -1, lambda: self._strike(fault, -1))
        elif fault.at_step < kernel.trace.steps:
            self._strike(fault, fault.at_step)
        else:
            kernel.interrupts.setdefault(fault.at_step, []).append(partial(self._strike, fault, fault.at_step))

    def _strike(self, fault: TimedFault, cause: int) -> None:
        if self.direct is not None:
            self._go_back_to_frames(self.direct)
        if fault.strike(self.world, cause):
            self.used.append(fault)
            self.when_struck(fault)

    def _go_back_to_frames(self, direct: DirectReplication) -> None:
        """Replicate by frames until every fetch that the fault can have lost has timed out and been sent again."""
        network = self.network
        direct.settle()
        direct.on = network.quiet = False
        self._struck += 1
        number = self._struck

        def calm() -> None:
            if number == self._struck:
                direct.on = network.quiet = network.is_whole

        self.kernel.schedule.at(self.kernel.now + CALM_MS, Controller.name, -1, calm, True)
