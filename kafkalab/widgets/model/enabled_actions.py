"""The reasons why a button would change nothing, by step: noted during a run, looked up by Python and the browser."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Any

from kafkalab.faults.fault import Fault, FrameFault, TimedFault, names_of, why_no_fault
from kafkalab.faults.frame import Release
from kafkalab.faults.link import LinkFault
from kafkalab.faults.node import of_brokers_only
from kafkalab.faults.partition import ElectLeader
from kafkalab.faults.registry import FAULTS, faults_on, possible_faults_on
from kafkalab.protocol.cluster_metadata import ClusterMetadata
from kafkalab.protocol.partitions import topic_of
from kafkalab.run.run import Notes, Run, Simulator
from kafkalab.widgets.model.producer_memory import ProducerMemory

EnabledActions = dict[str, Any]
"""Plain data, a part of the payload.

"start": the last step of the set-up. "fixed": why nothing at all can be pressed, or "". "limits": by action, the least
and the largest number that it takes, and the reason why not another. "reasons": by button, such as "crash b1" or
"elect out-0 b2 unclean", [[step, reason], …]; the reason holds from that step on, "" if the button is enabled, None if
nothing is noted. {} in a reason stands for the button's target. `reason_at` says which entries are looked up.
"""

FAULT_KINDS = ("fault", "crash", "recover")
LINK_FAULTS = [kind for kind in faults_on("link") if issubclass(kind, LinkFault)]
FRAME_FAULTS = [kind for kind in faults_on("frame") if issubclass(kind, FrameFault)]
LONG_MS = 60_000
"""After this time a segment may have become old enough to be deleted, though no event says so."""
MOST_MS = 10**12
LIMITS = {
    kind.press: [1, MOST_MS, f"{kind.number[0]} is a number of milliseconds from 1 on, not {{}}"]
    for kind in FAULTS
    if kind.number
}
NOT_HELD, NO_FRAME = "{} is not held at this step", "choose a frame first"
NO_PAIR = 'needs two nodes such as "b1|b2", or one to part from all others'
DEFAULTS = {
    Release.press: NOT_HELD,
    **{f"{kind.press} ": NO_FRAME for kind in faults_on("frame")},
    **{kind.press: f"{kind.press} {NO_PAIR}" for kind in faults_on("link")},
}


class Watch:
    """A callback for `Cluster(scenario, watch=...)` that notes the reasons at each step at which they may change."""

    def __init__(self) -> None:
        self._reasons: dict[str, list[list[Any]]] = {}
        self._seen: tuple[int, list[str]] | None = None
        self._image: ClusterMetadata | None = None
        self._planned: dict[int, list[TimedFault]] = {}
        self._kept: list[str] = []
        self._struck = False
        self._noted_ms = 0
        self.memory = ProducerMemory()

    def __call__(self, cluster: Simulator) -> None:
        """Note what has changed with the last event."""
        step = cluster.trace.steps - 1
        if self._image is None:
            self._begin(cluster)
        planned = tuple(fault for at in (step - 1, step) for fault in self._planned.get(at, ()))
        if planned or step == cluster.start or cluster.trace.events[-1].name == "Upgrade":
            self._note_all(step, possible_faults_on(cluster, "cluster", [""]))
        self._note_nodes(cluster, step, planned)
        self._note_leaders(cluster, step, planned)
        self._note_storage(cluster, step, planned)
        if broker := cluster.brokers.get(cluster.trace.events[-1].node):
            self.memory.note(cluster.trace.events[-1], broker.state.logs)

    def _begin(self, cluster: Simulator) -> None:
        for fault in cluster.scenario.faults:
            if isinstance(fault, TimedFault) and fault.at_step >= 0:
                self._planned.setdefault(max(fault.at_step, cluster.start), []).append(fault)
        written = _list_written(cluster)
        partitions = list(cluster.controller.metadata.partitions)
        if empty := next((p for p in partitions if p not in written), ""):  # stands for all before their first record
            for fault, reason in possible_faults_on(cluster, "log", [empty]).items():
                self._note(0, fault.key.split(" ")[0], reason.replace(empty, "{}"))
        self._note_all(cluster.start, possible_faults_on(cluster, "log", written))

    def _note(self, step: int, key: str, reason: str | None) -> None:
        changes = self._reasons.setdefault(key, [])
        if not changes or changes[-1][1] != reason:
            changes.append([step, reason])

    def _note_all(self, step: int, found: dict[Fault, str]) -> None:
        for fault, reason in found.items():
            self._note(step, fault.key, reason)

    def _note_nodes(self, cluster: Simulator, step: int, planned: Sequence[TimedFault]) -> None:
        """Note who can crash, what can be cut or released: after a fault, and when a client or a held frame is new."""
        kept = cluster.network.links.all_held
        seen = len(cluster.nodes), kept
        if seen == self._seen and not (self._is_struck(cluster) or planned):
            return
        self._seen = seen
        for node in dict.fromkeys([*cluster.nodes, *cluster.scenario.nodes]):
            kinds = [k for k in faults_on("node") if node in cluster.nodes or of_brokers_only(k)]
            if node != "controller":
                self._note_all(step, {f: f.why_not(cluster) for f in (k.of_press(node, {}, ()) for k in kinds)})
        self._note_connections(cluster, step)
        for frame in dict.fromkeys([*self._kept, *kept]):
            self._note(step, f"release {frame}", Release(frame).why_not(cluster).replace(frame, "{}"))
        self._kept = kept

    def _is_struck(self, cluster: Simulator) -> bool:
        """Return True if the last event or the one before it is a fault's: what a fault does may follow its event."""
        return self._struck or cluster.trace.events[-1].kind in FAULT_KINDS

    def _note_connections(self, cluster: Simulator, step: int) -> None:
        """Every pair, every node against all others, and the sides of a fault that is planned for this step."""
        nodes = cluster.scenario.nodes
        for kind in LINK_FAULTS:
            for a, b in combinations(sorted(nodes), 2):
                reason = kind.between(a, b).why_not(cluster) or kind.between(b, a).why_not(cluster)
                self._note(step, f"{kind.press} {a}|{b}", reason)
            for a in nodes:
                self._note(step, f"{kind.press} {a}", kind.of_press(a, {}, nodes).why_not(cluster))
        for at in (step - 1, step):
            for fault in self._planned.get(at, ()):
                if isinstance(fault, LinkFault) and not (isinstance(fault.a, str) and isinstance(fault.b, str)):
                    self._note(step, fault.key, fault.why_not(cluster) if at == step else None)

    def _note_leaders(self, cluster: Simulator, step: int, planned: Sequence[TimedFault]) -> None:
        """Note the partitions whose replicas have changed. Of a topic's partitions with equal replicas one is asked."""
        image, old = cluster.controller.metadata, self._image
        elections = [f.partition for f in planned if isinstance(f, ElectLeader)]
        elected = [partition for partition in dict.fromkeys(elections) if partition in image.partitions]
        of_equals: dict[tuple[Any, ...], tuple[str, dict[str, str]]] = {}
        for partition, info in image.partitions.items() if image is not old else ():
            if old is None or image.alive != old.alive or old.partitions.get(partition) is not info:
                equal = (topic_of(partition), info.leader, info.replicas, info.isr, partition in elected)
                if equal not in of_equals:
                    found = possible_faults_on(cluster, "leader", [partition])
                    of_equals[equal] = partition, {fault.key: reason for fault, reason in found.items()}
                first, reasons = of_equals[equal]
                for key, reason in reasons.items():
                    if old is not None and partition not in old.partitions:
                        self._note(0, key.replace(first, partition), "{} does not exist yet")
                    self._note(step, key.replace(first, partition), reason.replace(first, partition))
        self._note_all(step, possible_faults_on(cluster, "leader", elected))
        self._image = image

    def _note_storage(self, cluster: Simulator, step: int, planned: Sequence[TimedFault]) -> None:
        """Note the partition that this event changed; all after a fault, an election or a long time."""
        event = cluster.trace.events[-1]
        concerned = [event.name] if event.kind in ("append", "truncate") else []
        if event.kind == "state" and "partition" in event.data:
            concerned.append(event.data["partition"])
        late = cluster.now - self._noted_ms > LONG_MS
        if self._is_struck(cluster) or event.name == "metadata" or late or planned:
            concerned += _list_written(cluster)
        self._struck, self._noted_ms = event.kind in FAULT_KINDS, cluster.now
        self._note_all(step, possible_faults_on(cluster, "log", dict.fromkeys(concerned)))

    def notes(self, cluster: Simulator) -> Notes:
        """Return what was noted, and the reasons of frames; the run has ended."""
        fixed = {key: [[0, reason]] for key, reason in {**DEFAULTS, **_frame_reasons(cluster)}.items()}
        return Notes(reasons={**self._reasons, **fixed}, memory=self.memory.changes)


def actions_of(run: Run, partitions: Iterable[str]) -> EnabledActions:
    """Return what was noted of a run, of partitions only for these."""
    others = set(run.cast.metadata.partitions) - set(partitions)
    reasons = run.notes.reasons if run.notes else {}
    shown = {key: changes for key, changes in reasons.items() if f"{key} ".split(" ")[1] not in others}
    return {"start": run.start, "fixed": "", "limits": LIMITS, "reasons": shown}


def _list_written(cluster: Simulator) -> list[str]:
    """Return the partitions that have records on any broker, in an order that no hash seed changes."""
    logs = [item for broker in cluster.brokers.values() for item in broker.state.logs.items()]
    return list(dict.fromkeys(partition for partition, log in logs if log.log_end_offset))


def _frame_reasons(cluster: Simulator) -> dict[str, str]:
    """By button: why a fault on a frame would change nothing; only where there is a reason, at whatever step."""
    found: dict[str, str] = {}
    frames = cluster.trace.frames
    planned = [fault for fault in cluster.scenario.faults if isinstance(fault, FrameFault)]
    struck = {name for fault in planned for name in names_of(cluster.trace, fault.frame)}
    for frame in frames.values():
        if frame.copy_of or not (frame.id in struck or frame.fate in ("dropped", "lost")):
            continue
        general = why_no_fault(cluster, frame.id)
        for kind in FRAME_FAULTS:
            own = "" if general or kind.other or kind.number else kind.of_press(frame.id, {}, ()).why_not(cluster)
            if reason := general or own:
                found[f"{kind.press} {frame.id}"] = reason
    for fault in planned:
        if fault.detail and fault.frame in frames and (reason := fault.why_not(cluster)):
            found[fault.key] = reason
    return found


def find_reason(actions: EnabledActions, step: int, key: str) -> str | None:
    """Return the reason noted of a button at a step, "" if it is enabled; None if nothing is noted."""
    found = next((reason for since, reason in reversed(actions["reasons"].get(key, ())) if since <= step), None)
    return None if found is None else str(found)


def reason_at(actions: EnabledActions, step: int, action: str, target: str, detail: str = "") -> str:
    """Return the reason noted of a button at a step: of its detail, else its target, else its action; else ""."""
    for key in (f"{action} {target} {detail}", f"{action} {target}", action):
        if (found := find_reason(actions, step, key)) is not None:
            return found.replace("{}", target)
    return ""


def by_hand() -> EnabledActions:
    """Return the enabled actions of a run that no scenario describes: none."""
    reason = "this run was driven by hand, not by its scenario alone: it cannot be run again with a change"
    return {"start": 0, "fixed": reason, "limits": LIMITS, "reasons": {}}
