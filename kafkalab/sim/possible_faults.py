"""The faults that could happen next: each that can strike a cluster at its present step, and why the others cannot.

Nothing here changes the cluster. Pass `Cluster(scenario, watch=...)` a callback to take note of it during a run.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import combinations

from kafkalab.protocol.partitions import topic_of
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.faults import (
    Compact,
    Crash,
    Cut,
    Delay,
    DeleteSegment,
    Drop,
    Duplicate,
    ElectLeader,
    Fault,
    FrameFault,
    Heal,
    Hold,
    NodeFault,
    Pause,
    Release,
    Reorder,
    Restart,
    Resume,
    Roll,
    TimedFault,
    Upgrade,
    nodes_of,
)
from kafkalab.trace import Frame

Possible = dict[Fault, str]
"""By fault, without its moment: why it would change nothing, or "" if it would change something."""


def possible_faults(cluster: Cluster) -> Possible:
    """Return all that could strike nodes, connections, frames in flight, and partitions that hold records or are led.

    Jumps of the clock, always possible, are left out.
    """
    found = {**node_faults(cluster), **connection_faults(cluster), **feature_faults(cluster)}
    found.update(frame_faults(cluster, (f.id for f in cluster.trace.frames.values() if f.fate == "in flight")))
    written = {p for b in cluster.brokers.values() for p, log in b.state.logs.items() if log.log_end_offset}
    for partition in cluster.controller.metadata.partitions:
        if partition in written or topic_of(partition) in cluster.scenario.topics:
            found.update(leader_faults(cluster, partition))
            found.update(storage_faults(cluster, partition))
    return found


def node_faults(cluster: Cluster) -> Possible:
    """Crash, pause and resume every client and broker; restart every broker."""
    found: list[Fault] = []
    for node in cluster.nodes:
        if node != "controller":
            found += [Crash(node), Pause(node), Resume(node), *([Restart(node)] if cluster.is_server(node) else [])]
    return {fault: why_not(cluster, fault) for fault in found}


def feature_faults(cluster: Cluster) -> Possible:
    """Raise transaction.version to 2."""
    return {Upgrade(): why_not(cluster, Upgrade())}


def connection_faults(cluster: Cluster) -> Possible:
    """Cut and heal every pair of nodes of which at least one is a broker."""
    pairs = [(a, b) for a, b in combinations(cluster.nodes, 2) if a in cluster.brokers or b in cluster.brokers]
    return {fault: why_not(cluster, fault) for a, b in pairs for fault in (Cut(a, b), Heal(a, b))}


def frame_faults(cluster: Cluster, frames: Iterable[str]) -> Possible:
    """Drop, duplicate, delay, hold and release each of these frames, and reorder it after each that was sent later.

    A fault on a frame acts when the frame is sent: add it to the scenario, and run that again.
    """
    known = [frame for name in frames if not (frame := cluster.trace.frames[name]).copy_of]
    found: list[Fault] = []
    for frame in known:
        found += [kind(frame.id) for kind in (Drop, Duplicate, Delay, Hold, Release)]
        found += [Reorder(frame.id, other.id) for other in known if other.sent_step > frame.sent_step]
    return {fault: why_not(cluster, fault) for fault in found}


def leader_faults(cluster: Cluster, partition: str) -> Possible:
    """Elect each replica of the partition, cleanly or not."""
    replicas = cluster.controller.metadata.partitions[partition].replicas
    found = [ElectLeader(partition, replica, unclean) for replica in replicas for unclean in (False, True)]
    return {fault: why_not(cluster, fault) for fault in found}


def storage_faults(cluster: Cluster, partition: str) -> Possible:
    """Compact the partition, roll it, delete its oldest segment."""
    found = (Compact(partition), Roll(partition), DeleteSegment(partition))
    return {fault: why_not(cluster, fault) for fault in found}


def why_not(cluster: Cluster, fault: Fault) -> str:
    """Return why `fault` would change nothing if it struck now, as the rest of a sentence; "" if it would."""
    match fault:
        case Drop() | Duplicate() | Delay() | Hold() | Reorder():
            return _why_not_frame(cluster, fault)
        case Crash() | Restart() | Pause() | Resume():
            reason = _why_not_node(cluster, fault)
        case Cut() | Heal():
            reason = _why_not_connection(cluster, fault)
        case Release():
            reason = "" if cluster.network.links.find_kept(fault.frame) else f"{fault.frame} is not held at this step"
        case ElectLeader():
            reason = _why_not_elect(cluster, fault)
        case Upgrade():
            level = next(iter(cluster.brokers.values())).state.transaction_version
            reason = "" if level < fault.level else f"transaction.version is {level} already"
        case Compact() | Roll() | DeleteSegment():
            reason = _why_not_storage(cluster, fault)
        case _:
            return ""
    return reason or ("this happens right after this step already" if _is_planned(cluster, fault) else "")


def _is_planned(cluster: Cluster, fault: TimedFault) -> bool:
    """Return True if the scenario has the same fault for the present step; that of the set-up strikes at its end."""
    step = cluster.trace.steps - 1
    planned = [f for f in cluster.scenario.faults if isinstance(f, TimedFault) and f.at_step >= 0]
    now = [f for f in planned if max(f.at_step, cluster.start) == step]
    return bool(now) and replace(fault, at_step=-1, at_ms=-1) in [replace(f, at_step=-1) for f in now]


def _why_not_frame(cluster: Cluster, fault: FrameFault) -> str:
    frames, name = cluster.trace.frames, fault.frame
    frame = frames.get(name)
    if frame is None or frame.copy_of:
        return f"no frame {name!r} flies in this run"
    struck = [f for f in cluster.scenario.faults if isinstance(f, FrameFault) and f.frame == name]
    if frame.fate == "dropped":
        return f"{name} is dropped already"
    if any(isinstance(f, Hold) for f in struck):
        return f"{name} is held already"
    if any(isinstance(f, Reorder) for f in struck):
        return f"{name} is overtaken already"
    if frame.fate == "lost" and _never_left(cluster, frame):
        return f"{name} never leaves: {frame.sender} crashes in that moment"
    if isinstance(fault, Duplicate) and f"{name}~copy" in frames:
        return f"{name} arrives twice already"
    if isinstance(fault, Delay) and fault in struck:
        return f"{name} is {fault.delay_ms} ms late already"
    if isinstance(fault, Reorder):
        after = frames.get(fault.after)
        if after is None or after.copy_of:
            return f"reorder needs the frame after which {name} arrives"
        if after.sent_step <= frame.sent_step:
            return f"{fault.after} is not sent later than {name}, so it cannot overtake it"
    return ""


def _never_left(cluster: Cluster, frame: Frame) -> bool:
    """Return True if the frame's sender crashed right after the event of sending it, and took it along."""
    for event in cluster.trace.events[frame.sent_step + 1 :]:
        if event.at_ms > frame.sent_ms:
            return False
        if event.kind == "crash" and event.cause == frame.sent_step and event.node == frame.sender:
            return "sent" not in event.data
    return False


def _why_not_node(cluster: Cluster, fault: NodeFault) -> str:
    node = cluster.nodes.get(fault.node)
    if node is None or fault.node == "controller":
        return f"{fault.node!r} is no client or broker of this run"
    name = fault.node
    if isinstance(fault, Restart):
        if fault.node not in cluster.brokers:
            return f"{name} is a client; only a broker can be restarted"
        return f"{name} is not down" if node.alive else ""
    if isinstance(fault, Resume):
        return "" if node.paused else f"{name} is not paused"
    if not node.alive:
        return f"{name} is down already" if isinstance(fault, Crash) else f"{name} is down"
    return f"{name} is paused already" if node.paused and isinstance(fault, Pause) else ""


def _why_not_connection(cluster: Cluster, fault: Cut | Heal) -> str:
    cut = [cluster.network.links.is_cut(a, b) for a in nodes_of(fault.a) for b in nodes_of(fault.b)]
    if isinstance(fault, Cut):
        return "no frame gets through there already" if all(cut) else ""
    return "" if any(cut) else "nothing is cut there"


def _why_not_elect(cluster: Cluster, fault: ElectLeader) -> str:
    controller, partition = cluster.controller, fault.partition
    info, name = controller.metadata.partitions.get(partition), fault.broker
    if info is None:
        return f"no partition {partition!r} in this run"
    if fault.broker not in info.replicas:
        return f"{name} is no replica of {partition}; there are {', '.join(info.replicas)}"
    if info.leader == fault.broker:
        return f"{name} leads {partition} already"
    if fault.broker not in controller.metadata.alive:
        return f"{name} is not alive for the controller"
    cleanly = controller.can_lead(partition, fault.broker)
    if fault.unclean:
        return f"{name} is in sync: elect it cleanly" if cleanly else ""
    return "" if cleanly else f"{name} is not in sync for {partition}: only an unclean election can"


def _why_not_storage(cluster: Cluster, fault: Compact | Roll | DeleteSegment) -> str:
    storage, partition = cluster.injector.storage, fault.partition
    if isinstance(fault, Compact):
        return "" if storage.can_compact(partition) else f"nothing in {partition} can be compacted at this step"
    if isinstance(fault, Roll):
        return "" if storage.can_roll(partition) else f"no active segment of {partition} has records at this step"
    can = storage.can_delete_segment(partition)
    return "" if can else f"no segment of {partition} is full and replicated at this step"
