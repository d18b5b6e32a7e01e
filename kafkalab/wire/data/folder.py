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
from functools import partial
from pathlib import Path
from typing import Any

from kafkalab.limits import quote, truncate
from kafkalab.log.partition_log import PartitionLog
from kafkalab.protocol.batch_bytes import CorruptBatchError
from kafkalab.protocol.cluster_metadata import ClusterMetadata, PartitionInfo
from kafkalab.protocol.profiles import PROFILES
from kafkalab.protocol.records import Batch
from kafkalab.saved_data import json_file
from kafkalab.sim.cluster import Cluster
from kafkalab.wire.data.checkpoints import HIGH_WATERMARKS, LOG_STARTS, checkpoint_bytes, read_checkpoint
from kafkalab.wire.data.coordinator_records import UnknownRecordError, learn_topics
from kafkalab.wire.data.image import FORMAT, IMAGE, IMAGE_FILE, LOCK, VERSION, check_image, refuse_foreign
from kafkalab.wire.data.log_files import (
    LogFiles,
    OpenFiles,
    StoredLog,
    last_offset,
    replace_file,
    stored_batch,
    stored_bytes,
)

log = logging.getLogger("kafkalab.wire")

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
        self._marks: dict[str, dict[str, int]] = {}
        self._repairs: list[Callable[[], None]] = []
        self._ids_written = -1
        refuse_foreign(folder)
        folder.mkdir(parents=True, exist_ok=True)
        self._is_new_lock = not (folder / LOCK).exists()
        self._lock = os.fdopen(os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644), "r+")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._lock.close()
            raise ValueError(f"{quote(str(folder))} is in use by another process") from None

    def refuse(self) -> None:
        """Leave the folder as it was found, without a lock that was not there."""
        if self._is_new_lock:
            (self.folder / LOCK).unlink(missing_ok=True)
        self._files.close_all()
        self._lock.close()

    # reading back

    def prepare(self, cluster: Cluster) -> None:
        """Give the brokers and the controller what the folder holds, before they start; keep what they do from now on.

        ValueError if it is of another profile, or of another number of brokers or partitions than the scenario, if a
        file is damaged, or if a log lacks records that were committed and no replica holds. Then nothing is changed.
        """
        self._cluster = cluster
        self._logs = {name: LogFiles(self.folder / name, self._files) for name in cluster.broker_names}
        try:
            stored = self._read_image()
            if stored:
                self._restore(stored)
        except BaseException:
            self._logs = {}
            self.refuse()
            raise
        for repair in self._repairs:
            repair()
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
            return {}
        stored: dict[str, Any] = json_file(path, IMAGE_FILE)
        check_image(stored, quote(str(path)))
        self._check(stored)
        return stored

    def _check(self, stored: dict[str, Any]) -> None:
        scenario, name = self._cluster.scenario, quote(str(self.folder))
        if stored["profile"] != scenario.profile:
            kept, given = PROFILES[stored["profile"]], PROFILES[scenario.profile]
            said = "of Kafka {0.kafka}" if kept.kafka != given.kafka else "of level {0.client_protocol}"
            raise ValueError(f"{name} is of a cluster {said.format(kept)}, not {said.format(given)}")
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
        starts: dict[str, dict[str, int]] = {}
        for name in self._logs:
            self._cluster.brokers[name].state.metadata = ClusterMetadata()
            self._marks[name] = read_checkpoint(self.folder / name / HIGH_WATERMARKS)
            starts[name] = read_checkpoint(self.folder / name / LOG_STARTS)
        learn_topics(stored["partitions"])
        known = {p for names in (*held.values(), *self._marks.values()) for p in names}
        for partition in sorted(known.intersection(stored["partitions"])):
            logs = {name: files.read(partition) for name, files in self._logs.items() if partition in held[name]}
            shared: dict[bytes, Batch] = {}
            for name, files in self._logs.items():
                mark, start = self._marks[name].get(partition, 0), starts[name].get(partition, 0)
                empty = StoredLog(path=files.path_of(partition, start), base=start, batches=[])
                one = logs.get(name, empty)
                if one.end < mark and start < mark:
                    one = self._recover(name, partition, one, mark, logs)
                elif name in logs:
                    self._repairs.append(partial(files.repair, partition, one))
                if name in logs or one.batches:
                    self._restore_log(name, partition, one, mark, start, shared)

    def _recover(
        self, name: str, partition: str, short: StoredLog, mark: int, logs: dict[str, StoredLog]
    ) -> StoredLog:
        """Return the log with the committed records that it lacks, from a replica that has them.

        ValueError if none has. All below a high watermark is the same in each replica.
        """
        for other, log_ in logs.items():
            batches = [data for data in log_.batches if last_offset(data) < mark]
            has_all = bool(batches) and last_offset(batches[-1]) == mark - 1
            same = [data for data in short.batches if last_offset(data) >= log_.base] == [
                data for data in batches if log_.base <= last_offset(data) < short.end
            ]
            if other != name and has_all and same:
                whole = StoredLog(path=self._logs[name].path_of(partition, log_.base), base=log_.base, batches=batches)
                self._repairs.append(partial(self._logs[name].replace, partition, whole))
                log.warning(
                    "%s %s: the log ended at offset %d, below its high watermark %d; the rest comes from %s",
                    name, partition, short.end, mark, other,
                )  # fmt: skip
                return whole
        raise ValueError(
            f"{short.path} ends at offset {short.end}, but {mark} offsets were committed, and no replica has the rest: "
            f"put the file back, or remove {self.folder / name / HIGH_WATERMARKS} to go on without these records"
        )

    def _restore_log(
        self, name: str, partition: str, stored: StoredLog, high_watermark: int, start: int, shared: dict[bytes, Batch]
    ) -> None:
        state = self._cluster.brokers[name].state
        found = state.log(partition)
        try:
            _fill(found, stored.base, stored.batches, shared)
        except (CorruptBatchError, UnknownRecordError) as error:
            raise ValueError(f"{stored.path} has a batch that cannot be read ({truncate(error)})") from None
        found.raise_log_start(min(start, found.log_end_offset))
        found.advance(high_watermark)
        state.logs[partition] = found.reload(time.time_ns() // 1_000_000)
        if torn := stored.torn_bytes:
            log.warning("%s %s: %d torn bytes behind offset %d are cut", name, partition, torn, found.log_end_offset)

    # writing

    def _watch(self) -> None:
        """Write what happens, before anything follows from it."""
        cluster = self._cluster
        record, respond = cluster.record, cluster.respond

        def write_and_record(node: str, kind: str, name: str, cause: int, data: Any, frame: str = "") -> int:
            try:
                if kind == "append":
                    self._append(node, name, data)
                elif kind == "truncate":
                    self._lower_mark(node, name, data["offset"])
                    self._logs[node].truncate(name, data["offset"])
                elif kind == "state":
                    self._write_change(node, name, data)
            except OSError as error:
                self._fail(error)
            return record(node, kind, name, cause, data, frame)

        def write_and_respond(request: Any, body: Any, cause: int) -> None:
            if cluster.controller.next_producer_id != self._ids_written:
                try:
                    self._write_image()
                except OSError as error:
                    self._fail(error)
            respond(request, body, cause)

        cluster.record, cluster.respond = write_and_record, write_and_respond

    def _fail(self, error: OSError) -> None:
        """Say why nothing can be written, and end: what was answered is on the disk."""
        why = (error.strerror or str(error)).lower()
        log.error("%s cannot be written (%s), so no more is answered; nothing is lost: make room, and start it again",
                  self.folder, why)  # fmt: skip
        self.cannot_write()

    def _append(self, node: str, partition: str, batch: Batch) -> None:
        known = self._encoded.get(id(batch))
        if known is None:
            if len(self._encoded) >= ENCODED:
                del self._encoded[next(iter(self._encoded))]
            known = self._encoded[id(batch)] = (batch, stored_bytes(partition, batch))
        self._logs[node].append(partition, batch.base_offset, known[1])

    def _write_change(self, node: str, name: str, data: Any) -> None:
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
        try:
            self._write_marks()
        except OSError as error:
            self._fail(error)
        self._cluster.timer(self._cluster.controller.name, CHECKPOINT_MS, self._checkpoint, True)

    def _write_marks(self) -> None:
        for name in self._logs:
            logs = self._cluster.brokers[name].state.logs
            marks = {p: one.high_watermark for p, one in logs.items() if one.high_watermark}
            if marks and marks != self._marks.get(name):
                self._write_checkpoint(name, HIGH_WATERMARKS, marks)
                self._marks[name] = marks

    def _lower_mark(self, node: str, partition: str, offset: int) -> None:
        """Write a high watermark that a truncation goes below, before the log is shorter than it."""
        if self._marks.get(node, {}).get(partition, 0) > offset:
            self._marks[node] = {**self._marks[node], partition: offset}
            self._write_checkpoint(node, HIGH_WATERMARKS, self._marks[node])

    def close(self) -> None:
        """Write the high watermarks and let others use the folder."""
        if self._logs:
            self._write_marks()
        self._files.close_all()
        self._lock.close()


def _image(stored: dict[str, Any]) -> ClusterMetadata:
    infos = {
        partition: PartitionInfo(
            leader=row["leader"], leader_epoch=row["leader_epoch"],
            replicas=tuple(row["replicas"]), isr=tuple(row["isr"]),
        )  # fmt: skip
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
