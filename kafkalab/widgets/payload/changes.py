"""The changes of a picture: a batch with all its fields, in-sync sets, cuts, kept frames, what leaves a log."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kafkalab.faults.registry import TYPES
from kafkalab.log.group_offsets import OffsetCommit
from kafkalab.protocol.cluster_metadata import ClusterMetadata
from kafkalab.protocol.partitions import offsets_partition, transaction_partition
from kafkalab.protocol.records import Batch, CleanedBatch
from kafkalab.protocol.source_header import header_texts
from kafkalab.protocol.transaction_metadata import Txn
from kafkalab.run.run import Run
from kafkalab.trace import Event, Frame, plain
from kafkalab.widgets.payload.fields import format_contents, text_of

Op = list[Any]
UNLOGGED = ("last_producer_epoch",)
"""Fields of a transactional id that live in memory only."""


def batch_shown(partition: str, batch: Batch) -> dict[str, Any]:
    """A batch as plain data; each entry of an internal topic field by field, under "fields".

    "offs" is there only if compaction has removed records: the offset of each record that is left; "headers" only if a
    record has any: the headers of each, as "key=value".
    """
    internal = partition.startswith("__") and not batch.control
    shown = {
        "base": batch.base_offset,
        "last": batch.last_offset,
        "kind": batch.control.name if batch.control else "data",
        "pid": batch.producer_id,
        "epoch": batch.producer_epoch,
        "seq": batch.base_sequence,
        "txn": batch.in_transaction,
        "le": batch.leader_epoch,
        "ts": batch.timestamp_ms,
        "records": [[r.key or "", str(r.value) if isinstance(r.value, str) else ""] for r in batch.records],
        "decoded": format_contents(partition, batch) if internal else "",
    }
    if batch.control:
        shown["ce"] = batch.coordinator_epoch
    if isinstance(batch, CleanedBatch):
        shown["offs"] = list(batch.offsets)
    if any(r.headers for r in batch.records):
        shown["headers"] = [list(header_texts(r.headers)) for r in batch.records]
    if internal:
        shown["fields"] = [entry_fields(r.value) for r in batch.records]
    return shown


def entry_fields(entry: Any) -> list[list[str]]:
    """An entry of an internal topic, field by field; empty for a tombstone."""
    if entry is None or not hasattr(entry, "__dataclass_fields__"):
        return []
    hidden = UNLOGGED if isinstance(entry, Txn) else ()
    fields = [(name, getattr(entry, name)) for name in entry.__dataclass_fields__ if name not in hidden]
    return [[name, value if isinstance(value, str) else text_of(value)] for name, value in fields]


def homes_of(events: Iterable[Event]) -> dict[str, dict[str, str]]:
    """By transactional id and by group that these events name: the partition whose leader coordinates it."""
    ids: dict[str, str] = {}
    groups: dict[str, str] = {}
    for event in events:
        match event.kind, event.name:
            case "state", "transaction" | "producer":
                if tid := event.data["transactional_id"]:
                    ids[tid] = transaction_partition(tid)
            case "state", "group" | "member":
                groups[event.data["group"]] = offsets_partition(event.data["group"])
            case "append", _ if not event.data.control:
                values = (r.value for r in event.data.records)
                for group in [v.group for v in values if isinstance(v, OffsetCommit)]:
                    groups[group] = offsets_partition(group)
    return {"ids": ids, "groups": groups}


class InSync:
    """The replicas and in-sync sets of the partitions shown, as the controller's images say; only what is new."""

    def __init__(self, run: Run) -> None:
        final = run.cast.metadata
        self.images: dict[int, ClusterMetadata] = {final.version: final}
        self.final = final
        self.known: dict[str, list[str]] = {}
        self.learn(run.trace.frames.values())
        self.newest = min(self.images)
        self.let_in = self.newest
        """The version with which the controller last let a broker in."""

    def learn(self, frames: Iterable[Frame]) -> None:
        """Take the images that these frames carry."""
        for frame in frames:
            image = getattr(frame.body, "metadata", None)
            if isinstance(image, ClusterMetadata):
                self.images[image.version] = image

    def changes(self, version: int, partitions: list[str]) -> list[Op]:
        """["isr", partition, replicas, those in sync] for each that differs from what was said last."""
        ops: list[Op] = []
        before, now = (self.images.get(v, self.final) for v in (self.newest, version))
        self.newest = version
        if any(broker not in before.alive for broker in now.alive):
            self.let_in = version
        for partition in partitions:
            info = now.partitions.get(partition)
            if info is None:
                continue
            in_sync = list(info.isr if version in self.images else info.replicas)
            if self.known.get(partition) != in_sync:
                self.known[partition] = in_sync
                ops.append(["isr", partition, list(info.replicas), in_sync])
        return ops

    def taken_back(self, answer: Frame, asked: Frame, partitions: list[str]) -> list[Op]:
        """Return the same for what the controller takes from an answer to its image (`UpdateMetadataResponse.empty`).

        These are replicas of partitions without records; the controller counts them unless its image has changed.
        """
        image, ops = asked.body.metadata, []
        newest = self.images.get(self.newest, self.final)
        for partition in answer.body.empty:
            info = image.partitions[partition]
            if partition not in partitions or self.let_in > image.version or newest.partitions[partition] != info:
                continue
            in_sync = list(image.with_live_in_sync((partition,)).partitions[partition].isr)
            if self.known.get(partition) != in_sync:
                self.known[partition] = in_sync
                ops.append(["isr", partition, list(info.replicas), in_sync])
        return ops


def storage_changes(event: Event) -> list[Op]:
    """Return what a state event of a log's storage changes: where the log begins, what compaction left."""
    data, node = event.data, event.node
    if event.name == "log start":
        partition = data["partition"]
        return [
            ["start", node, partition, data["log_start_offset"]],
            ["hw", node, partition, data["high_watermark"]],
            ["lso", node, partition, data["last_stable_offset"]],
        ]
    if event.name == "compacted":
        return [["cleaned", node, data["partition"], data["left"], data["end"]]]
    return []


def fault_changes(event: Event) -> list[Op]:
    """Return what a fault changes: walls between nodes, frames kept on their way, nodes that are paused."""
    match event.name:
        case "Cut" | "Heal":
            return [["cut", a, b, event.name == "Cut"] for a, b in event.data["pairs"]]
        case name if getattr(TYPES.get(name), "keeps", False):
            return [["held", event.frame, True]]
        case "Release":
            return [["held", event.frame, False]]
        case "Pause" | "Resume":
            return [["node", event.node, "paused" if event.name == "Pause" else "up"]]
        case _:
            return []


def group_changes(event: Event) -> list[Op]:
    """["group", its name, state, generation, leader and members with their partitions]."""
    data = event.data
    known = {k: plain(data[k]) for k in ("state", "generation", "leader", "members")}
    return [["group", data["group"], {**known, "node": event.node}]]


def format_elected(partitions: list[str], before: Mapping[str, str], now: Mapping[str, str]) -> str:
    """Return which of the partitions have another leader now, by leader, each part with a semicolon; "" for none."""
    led: dict[str, list[str]] = {}
    for partition in partitions:
        leader = now.get(partition)
        if leader is not None and leader != before.get(partition, ""):
            led.setdefault(leader or "no broker", []).append(partition)
    return "".join(f"{leader} leads {', '.join(names)}; " for leader, names in led.items())
