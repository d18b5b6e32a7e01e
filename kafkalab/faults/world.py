"""The run as a fault sees and changes it. `Cluster` of the simulator is a `World`; nothing here imports it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from kafkalab.broker.broker import Broker
from kafkalab.broker.controller import Controller
from kafkalab.faults.links import Links
from kafkalab.protocol.cluster_metadata import ClusterMetadata
from kafkalab.trace import Frame, Trace


@dataclass(slots=True)
class Flight:
    """A frame on its way: the milliseconds that it takes longer, and how often it arrives: 0 if it is lost or kept."""

    extra_ms: int = 0
    copies: int = 1


class NodeOfWorld(Protocol):
    """A process: see `Node` in kafkalab/sim/kernel/task.py."""

    name: str
    alive: bool
    paused: bool
    incarnation: int
    last_frame_leaves: bool
    inbox: list[Callable[[], None]]


class FrameFaultsOfWorld(Protocol):
    """The faults of frames, and what they wait for: see kafkalab/sim/frame_faults.py."""

    @property
    def stalls(self) -> dict[tuple[str, str], Callable[[], int]]: ...

    def wait_before(self, frame: Frame, other: str, fault: Any) -> None: ...
    def wait_for(self, request: Frame, handled: bool, action: Callable[[], Any]) -> None: ...
    def note_used(self, fault: Any) -> None: ...
    def crash(self, node: str, down_ms: int) -> None: ...


class NetworkOfWorld(Protocol):
    """The network: see kafkalab/sim/network.py."""

    @property
    def links(self) -> Links: ...
    @property
    def frame_faults(self) -> FrameFaultsOfWorld: ...
    def lose(self, frame: Frame) -> None: ...
    def was_sent(self, frame_id: str) -> bool: ...
    def part(self, a: str, b: str) -> bool: ...
    def node_died(self, node: str, cause: int) -> None: ...


class ScheduleOfWorld(Protocol):
    """Virtual time: see kafkalab/sim/kernel/schedule.py."""

    def at(
        self, at_ms: int, node: str, incarnation: int, action: Callable[[], None], background: bool = False
    ) -> None: ...
    def advance(self, ms: int) -> None: ...


class SessionsOfWorld(Protocol):
    """The controller's view of brokers: see kafkalab/sim/broker_sessions.py."""

    def watch(self, name: str, cause: int) -> None: ...
    def on_restart(self, name: str) -> None: ...
    def heard_again(self, name: str, cause: int) -> None: ...


class World(Protocol):
    """A run as faults see it.

    `faults` and `topics` are the scenario's, `start` is the last step of the set-up.
    """

    start: int

    @property
    def now(self) -> int: ...
    @property
    def trace(self) -> Trace: ...
    @property
    def faults(self) -> Sequence[object]: ...
    @property
    def topics(self) -> Mapping[str, int]: ...
    @property
    def nodes(self) -> Mapping[str, NodeOfWorld]: ...
    @property
    def brokers(self) -> Mapping[str, Broker]: ...
    @property
    def controller(self) -> Controller: ...
    @property
    def network(self) -> NetworkOfWorld: ...
    @property
    def schedule(self) -> ScheduleOfWorld: ...
    @property
    def sessions(self) -> SessionsOfWorld: ...
    def record(self, node: str, kind: str, name: str, cause: int, data: Any, frame: str = "") -> int: ...


class Scene(Protocol):
    """The run in which a search tries a fault: see `Cast` in kafkalab/run/run.py."""

    @property
    def brokers(self) -> tuple[str, ...]: ...
    @property
    def topics(self) -> Mapping[str, int]: ...
    @property
    def metadata(self) -> ClusterMetadata: ...
    @property
    def first_level(self) -> int: ...


class Targets(Protocol):
    """The targets of faults that are drawn at random: see kafkalab/explore/sampling.py."""

    @property
    def clients(self) -> tuple[str, ...]: ...
    @property
    def brokers(self) -> tuple[str, ...]: ...
    @property
    def partitions(self) -> tuple[str, ...]: ...
