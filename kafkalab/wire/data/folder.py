"""The folder of `kafkalab serve --data`: what brokers and controller know is written before anybody is told of it.

Every append is in its file before the next event, in the order in which they happen on all brokers. So a process that
is killed leaves a moment of the run behind: no answer is lost that went out, and no marker lies in a log whose decision
does not. With `fsync` the same holds for a machine that loses its power.
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from kafkalab.limits import quoted
from kafkalab.log.partition_log import PartitionLog
from kafkalab.protocol.cluster_metadata import ClusterMetadata, PartitionInfo
from kafkalab.protocol.records import Batch
from kafkalab.sim.cluster import Cluster
from kafkalab.wire.data.checkpoints import HIGH_WATERMARKS, LOG_STARTS, checkpoint_bytes, read_checkpoint
from kafkalab.wire.data.log_files import LogFiles, OpenFiles, replace_file, stored_batch, stored_bytes

log = logging.getLogger("kafkalab.wire")

FORMAT, VERSION = "kafkalab-data", 1
IMAGE, LOCK = "cluster.json", ".lock"
CHECKPOINT_MS = 5_000
ENCODED = 64


class DataFolder:
    """One folder, in use by one process. ValueError, in one line, for a folder that cannot be used.

    `cannot_write` is called when an append failed; by default the process ends at once, as a broker of Kafka's halts.
    """

    def __init__(
        self, folder: Path, fsync: bool = False, cannot_write: Callable[[], Any] = lambda: os._exit(1)
    ) -> None:
        self.folder, self.fsync, self.cannot_write = folder, fsync, cannot_write
        self._files = OpenFiles(fsync)
        self._logs: dict[str, LogFiles] = {}
        self._encoded: dict[int, tuple[Batch, bytes]] = {}
        self._marks: dict[str, bytes] = {}
        self._ids_written = -1
        folder.mkdir(parents=True, exist_ok=True)
        self._lock = (folder / LOCK).open("w")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._lock.close()
            raise ValueError(f"{quoted(str(folder))} is in use by another process") from None

    # reading back

    def prepare(self, cluster: Cluster) -> None:
        """Give the brokers and the controller what the folder holds, before they start; keep what they do from now on.

        ValueError if it is of another profile, or of another number of brokers or partitions than the scenario.
        """
        self._cluster = cluster
        self._logs = {name: LogFiles(self.folder / name, self._files) for name in cluster.broker_names}
        stored = self._read_image()
        if stored:
            self._restore(stored)
        self._watch()
        if stored:
            cluster.controller.recover(_image(stored), stored["next_producer_id"])
            for broker in cluster.brokers.values():
                broker.state.producer_ids = cluster.block_of_producer_ids()
        self._write_image()
        self._checkpoint()

    def _read_image(self) -> dict[str, Any]:
        path = self.folder / IMAGE
        if not path.exists():
            if any(p.name != LOCK and not p.name.endswith(".tmp") for p in self.folder.iterdir()):
                raise ValueError(f"{quoted(str(self.folder))} has other files: name a new or an empty folder")
            return {}
        try:
            stored: dict[str, Any] = json.loads(path.read_bytes())
            known = (stored["format"], stored["version"]) == (FORMAT, VERSION)
            _image(stored)
        except (ValueError, LookupError, TypeError, AttributeError):
            raise ValueError(f"{quoted(str(path))} is damaged") from None
        if not known:
            raise ValueError(f"{quoted(str(path))} is of another version of kafkalab")
        self._check(stored)
        return stored

    def _check(self, stored: dict[str, Any]) -> None:
        scenario, name = self._cluster.scenario, quoted(str(self.folder))
        if stored["profile"] != scenario.profile:
            raise ValueError(f"{name} is of profile {stored['profile']}, not {scenario.profile}")
        if stored["brokers"] != scenario.brokers:
            raise ValueError(f"{name} is of {stored['brokers']} brokers, not {scenario.brokers}")
        image = _image(stored)
        for topic, count in scenario.topics.items():
            held = len(image.partitions_of(topic))
            if held not in (0, count):
                raise ValueError(f"{name} has {held} partitions of {topic}, not {count}")

    def _restore(self, stored: dict[str, Any]) -> None:
        """Read the logs back, partition by partition: of a large folder one partition at a time is in memory."""
        held = {name: files.partitions() for name, files in self._logs.items()}
        marks: dict[str, list[dict[str, int]]] = {}
        for name in self._logs:
            self._cluster.brokers[name].state.metadata = ClusterMetadata()
            marks[name] = [read_checkpoint(self.folder / name / what) for what in (HIGH_WATERMARKS, LOG_STARTS)]
        for partition in sorted({p for names in held.values() for p in names}.intersection(stored["partitions"])):
            shared: dict[bytes, Batch] = {}
            for name in self._logs:
                if partition in held[name]:
                    high_watermark, start = (found.get(partition, 0) for found in marks[name])
                    self._restore_log(name, partition, high_watermark, start, shared)

    def _restore_log(
        self, name: str, partition: str, high_watermark: int, start: int, shared: dict[bytes, Batch]
    ) -> None:
        state = self._cluster.brokers[name].state
        found = state.log(partition)
        base, batches, torn = self._logs[name].read(partition)
        _fill(found, base, batches, shared)
        found.raise_log_start(min(start, found.log_end_offset))
        found.advance(high_watermark)
        state.logs[partition] = found.reloaded(time.time_ns() // 1_000_000)
        if torn:
            log.warning("%s %s: %d torn bytes behind offset %d are cut", name, partition, torn, found.log_end_offset)

    # writing

    def _watch(self) -> None:
        """Write what happens, before anything follows from it."""
        cluster = self._cluster
        record, respond = cluster.record, cluster.respond

        def recorded(node: str, kind: str, name: str, cause: int, data: Any, frame: str = "") -> int:
            try:
                if kind == "append":
                    self._append(node, name, data)
                elif kind == "truncate":
                    self._logs[node].truncate(name, data["offset"])
                elif kind == "state":
                    self._changed(node, name, data)
            except OSError:
                self._failed()
            return record(node, kind, name, cause, data, frame)

        def responded(request: Any, body: Any, cause: int) -> None:
            if cluster.controller.next_producer_id != self._ids_written:
                try:
                    self._write_image()
                except OSError:
                    self._failed()
            respond(request, body, cause)

        cluster.record, cluster.respond = recorded, responded

    def _failed(self) -> None:
        log.exception("%s cannot be written: no more is answered", self.folder)
        self.cannot_write()

    def _append(self, node: str, partition: str, batch: Batch) -> None:
        known = self._encoded.get(id(batch))
        if known is None:
            if len(self._encoded) >= ENCODED:
                del self._encoded[next(iter(self._encoded))]
            known = self._encoded[id(batch)] = (batch, stored_bytes(partition, batch))
        self._logs[node].append(partition, batch.base_offset, known[1])

    def _changed(self, node: str, name: str, data: Any) -> None:
        if name == "metadata":
            self._write_image()
        elif name in ("log start", "segments deleted"):
            logs = self._cluster.brokers[node].state.logs
            starts = {p: one.log_start_offset for p, one in logs.items() if one.log_start_offset}
            self._write_checkpoint(node, LOG_STARTS, starts)
            self._logs[node].drop_segments(logs[data["partition"]])

    def _write_image(self) -> None:
        scenario, controller = self._cluster.scenario, self._cluster.controller
        image = {
            "format": FORMAT,
            "version": VERSION,
            "profile": scenario.profile,
            "brokers": scenario.brokers,
            "next_producer_id": controller.next_producer_id,
            "metadata_version": controller.metadata.version,
            "partitions": {p: asdict(info) for p, info in controller.metadata.partitions.items()},
        }
        replace_file(self.folder / IMAGE, json.dumps(image).encode(), self.fsync)
        self._ids_written = controller.next_producer_id

    def _write_checkpoint(self, node: str, what: str, offsets: dict[str, int]) -> None:
        folder = self.folder / node
        folder.mkdir(exist_ok=True)
        replace_file(folder / what, checkpoint_bytes(offsets), self.fsync)

    def _checkpoint(self) -> None:
        """Write the high watermarks now and then, as `ReplicaManager` does; those since then follow from the logs."""
        self._write_marks()
        self._cluster.timer(self._cluster.controller.name, CHECKPOINT_MS, self._checkpoint, True)

    def _write_marks(self) -> None:
        for name in self._logs:
            logs = self._cluster.brokers[name].state.logs
            marks = {p: one.high_watermark for p, one in logs.items() if one.high_watermark}
            data = checkpoint_bytes(marks)
            if marks and data != self._marks.get(name):
                self._write_checkpoint(name, HIGH_WATERMARKS, marks)
                self._marks[name] = data

    def close(self) -> None:
        """Write the high watermarks and let others use the folder."""
        if self._logs:
            self._write_marks()
        self._files.close_all()
        self._lock.close()


def _image(stored: dict[str, Any]) -> ClusterMetadata:
    infos = {
        partition: PartitionInfo(
            leader=row["leader"],
            leader_epoch=row["leader_epoch"],
            replicas=tuple(row["replicas"]),
            isr=tuple(row["isr"]),
        )
        for partition, row in stored["partitions"].items()
    }
    return ClusterMetadata(stored["metadata_version"], (), infos)


def _fill(found: PartitionLog, base: int, batches: list[bytes], shared: dict[bytes, Batch]) -> None:
    """Append what a file holds; replicas share equal batches, as they do in a run."""
    if base:
        found.start_at(base)
    for data in batches:
        batch = shared.get(data)
        if batch is None:
            batch = shared[data] = stored_batch(found.partition, data)
        found.replicate(batch)
