"""The exhaustive experiment: one fault at one step of lab 03's run, and what must be true afterwards."""

from __future__ import annotations

from collections.abc import Iterator

from kafkalab import lab03
from kafkalab.faults.fault import Fault
from kafkalab.faults.frame import Drop, Duplicate
from kafkalab.faults.node import Crash
from kafkalab.programs.transfers import GROUP, TRANSACTIONAL_ID, committed_offsets, read_all
from kafkalab.protocol.errors import Error
from kafkalab.protocol.partitions import TRANSACTION_TOPIC, transaction_partition
from kafkalab.protocol.transaction_metadata import Txn
from kafkalab.sim.cluster import Cluster
from kafkalab.trace import Frame
from kafkalab.widgets.payload.payload import payload_of
from kafkalab.widgets.payload.text import stops

WHOLE = {"accounts-0": ["-10", "-25"], "accounts-1": ["+10", "+25"]}
NOTHING: dict[str, list[str]] = {"accounts-0": [], "accounts-1": []}
SHOWN = ("transaction", "verification")


def frames_of(cluster: Cluster, groups: tuple[str, ...]) -> list[Frame]:
    """The frames of these groups, in sending order."""
    return [f for f in cluster.trace.frames.values() if f.category in groups]


def coordinator_of(cluster: Cluster) -> str:
    """The node that coordinates the transaction when the run begins."""
    return cluster.controller.metadata.leader(transaction_partition(TRANSACTIONAL_ID))


def faults_of(cluster: Cluster, frame: Frame) -> Iterator[Fault]:
    """Lose the frame, double it, crash its receiver or the coordinator while it flies."""
    yield Drop(frame.id)
    yield Duplicate(frame.id)
    nodes = {frame.receiver, coordinator_of(cluster)} - {"controller"}
    for node in sorted(nodes):
        yield Crash(node, at_step=frame.sent_step)


def crashes_at_stops(cluster: Cluster) -> Iterator[Fault]:
    """Every node crashed at every step at which a reader of the picture can stop."""
    for step in stops(payload_of(cluster), SHOWN):
        for node in ("app", "b1", "b2", "b3"):
            yield Crash(node, at_step=step)


def experiment(profile: str, seed: int, groups: tuple[str, ...] = SHOWN) -> tuple[int, list[str]]:
    """Run each fault at each frame of these groups; return how many, and every promise that one of them broke.

    With the groups that are shown go the crashes at stops.
    """
    base = run(profile, seed)
    faults = [fault for frame in frames_of(base, groups) for fault in faults_of(base, frame)]
    if groups == SHOWN:
        faults += [f for f in crashes_at_stops(base) if f not in faults]
    broken = []
    for fault in faults:
        for promise in broken_promises(run(profile, seed, fault, keep=False)):
            broken.append(f"{profile} seed {seed} with {fault}: {promise}")
    return len(faults), broken


def run(profile: str, seed: int, *faults: Fault, keep: bool = True) -> Cluster:
    """Run lab 3 with these faults to its end; without `keep` its trace only counts steps."""
    cluster = Cluster(lab03(profile, seed).with_faults(*faults), keep=keep)
    cluster.run()
    assert not cluster.unused_faults, f"{cluster.unused_faults} changed nothing"
    return cluster


def broken_promises(cluster: Cluster) -> list[str]:
    """Return what does not hold after the run, read by real consumers in the same cluster; empty if all does."""
    wrong = []
    reading = cluster.spawn("reader", read_all, partitions=["accounts-0", "accounts-1"])
    asking = cluster.spawn("asker", committed_offsets, group=GROUP, partitions=["transfers-0"])
    ended = log_states(cluster)
    cluster.run()
    seen: dict[str, list[str]] = {p: [] for p in WHOLE}
    for partition, value in reading.result():
        seen[partition].append(value)
    offset = asking.result()["transfers-0"]
    if (seen, offset) not in ((WHOLE, 2), (NOTHING, -1)):
        wrong.append(f"not all or nothing: a reader sees {seen}, the group's offset is {offset}")
    for partition, values in seen.items():
        if len(set(values)) < len(values):
            wrong.append(f"{partition} shows a value twice: {values}")
    if ended and "Ongoing" in ended and not ended[-1].startswith("Complete"):
        wrong.append(f"the transaction log ends in {ended[-1]}")
    if ended and "Ongoing" not in ended and ended[-1] != "Empty":
        wrong.append(f"no transaction was begun, but the transaction log ends in {ended[-1]}")
    result = cluster.results.get("app")
    if result == "committed" and seen != WHOLE:
        wrong.append("the program was told that its transaction committed, but it did not")
    if result is not None and result != "committed" and getattr(result, "error", Error.NONE) is Error.NONE:
        wrong.append(f"the program ended with {result!r}, which says nothing")
    return wrong


def log_states(cluster: Cluster) -> list[str]:
    """The states of the transaction log, in order."""
    log = cluster.log_of(transaction_partition(TRANSACTIONAL_ID))
    assert log.partition.startswith(TRANSACTION_TOPIC)
    entries: list[Txn] = [r.value for b in log.batches for r in b.records]
    return [e.state.label for e in entries]
