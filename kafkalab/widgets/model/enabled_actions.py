"""What can be pressed at each step of a run: a cluster that notes it while it runs, as short lists of changes."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from kafkalab.protocol.cluster_metadata import ClusterMetadata
from kafkalab.protocol.rules import CLEAN_ELECTION
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.faults import Fault, FrameFault, TimedFault
from kafkalab.sim.kernel.kernel import QUIET
from kafkalab.sim.scenario import Scenario

Ground = dict[str, Any]
"""Plain data, a part of the payload. A list of changes is [[step, value], …]; the value holds from that step on."""

FAULT_KINDS = ("fault", "crash", "recover")
STORAGE = (("compact", "can_compact"), ("roll", "can_roll"), ("delete_segment", "can_delete_segment"))


class NotingCluster(Cluster):
    """A cluster that notes at every event what a fault right after it would find. `ground()` is what it noted."""

    def __init__(self, scenario: Scenario) -> None:
        self._changes: dict[str, list[list[Any]]] = {name: [] for name in ("down", "paused", "cut", "kept", "alive")}
        self._leads: dict[str, list[list[Any]]] = {}
        self._storage: dict[str, list[list[Any]]] = {}
        self._image: ClusterMetadata | None = None
        self._struck = False
        self._noted_ms = 0
        self.changed_ms = 0
        """When something last happened that is more than a frame or a timer."""
        super().__init__(scenario, watch=lambda cluster: self._note(*cluster.trace.events[-1]))

    def _note(self, step: int, _: int, node: str, kind: str, name: str, cause: int, frame: str, data: Any) -> None:
        if kind not in QUIET:
            self.changed_ms = self.now
        links = self.network.links
        self._now("down", step, [n for n, node in self.nodes.items() if not node.alive])
        self._now("paused", step, [n for n, node in self.nodes.items() if node.paused])
        self._now("cut", step, [f"{a}|{b}" for a, b in links.cuts if a < b])
        self._now("kept", step, links.all_kept)
        if self.controller.metadata is not self._image:
            self._image = self.controller.metadata
            self._now("alive", step, list(self._image.alive))
            for partition, info in self._image.partitions.items():
                _changed(self._leads.setdefault(partition, []), step, [info.leader, list(info.isr)])
        self._note_storage(step, kind, name, data)

    def _now(self, name: str, step: int, value: list[str]) -> None:
        _changed(self._changes[name], step, value)

    def _note_storage(self, step: int, kind: str, name: str, data: Any) -> None:
        """Of the partition that this event changed; of all after a fault, an election or a long time."""
        concerned = {name} if kind in ("append", "truncate") else set()
        if kind == "state" and "partition" in data:
            concerned.add(data["partition"])
        if kind in FAULT_KINDS or self.now - self._noted_ms > 60_000 or name == "metadata" or self._struck:
            concerned |= {p for b in self.brokers.values() for p, log in b.state.logs.items() if log.log_end_offset}
        self._struck, self._noted_ms = kind in FAULT_KINDS, self.now
        storage = self.injector.storage
        for partition in concerned:
            possible = [action for action, can in STORAGE if getattr(storage, can)(partition)]
            _changed(self._storage.setdefault(partition, []), step, possible)

    def ground(self, partitions: list[str]) -> Ground:
        """What was noted, for these partitions; the run has ended."""
        metadata, scenario = self.controller.metadata, self.scenario
        struck: dict[str, list[str]] = {}
        for fault in scenario.faults:
            if isinstance(fault, FrameFault):
                struck.setdefault(fault.frame, []).append(key_of(fault))
        planned = [f for f in scenario.faults if isinstance(f, TimedFault) and f.at_step >= 0]
        ids = [p for p in partitions if p in metadata.partitions]
        return {
            "start": self.start,
            "fixed": "",
            **self._changes,
            "leads": {p: self._leads[p] for p in ids},
            "replicas": {p: list(metadata.partitions[p].replicas) for p in ids},
            "storage": {p: self._storage.get(p, []) for p in ids},
            "struck": struck,
            "planned": [f"{max(f.at_step, self.start)} {key_of(f)}" for f in planned],
            "stillborn": self._stillborn(),
            "any_leader": not self.rules.on(CLEAN_ELECTION),
        }

    def _stillborn(self) -> list[str]:
        """The frames whose sender died in the moment of sending: no fault reaches them."""
        crashed = {(e.cause, e.node) for e in self.trace.events if e.kind == "crash"}
        return [f.id for f in self.trace.frames.values() if (f.sent_step, f.sender) in crashed and f.fate == "lost"]


def _changed(changes: list[list[Any]], step: int, value: Any) -> None:
    if not changes or changes[-1][1] != value:
        changes.append([step, value])


def key_of(fault: Fault) -> str:
    """The fault without its moment, in words: "Crash b1", "Cut b1 b2,b3", "Delay EndTxn#1 1000"."""
    given = [getattr(fault, f.name) for f in fields(fault) if f.name not in ("at_step", "at_ms")]
    return " ".join([type(fault).__name__, *(",".join(v) if isinstance(v, tuple) else str(v) for v in given)])


def at_step(changes: list[list[Any]], step: int, otherwise: Any = ()) -> Any:
    """The value that holds at a step."""
    return next((value for since, value in reversed(changes) if since <= step), otherwise)


def by_hand() -> Ground:
    """The ground of a run that no scenario describes: nothing can be pressed."""
    return {"fixed": "this run was driven by hand, not by its scenario alone: it cannot be run again with a change"}
