"""The log files of one broker: `TOPIC-N/BASE.log`, one segment for each partition, as Kafka's tools read them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from struct import Struct

from crc32c import crc32c

from kafkalab.limits import Limit
from kafkalab.log.partition_log import PartitionLog
from kafkalab.protocol import batch_bytes
from kafkalab.protocol.batch_bytes import CONTROL, CorruptBatchError
from kafkalab.protocol.partitions import OFFSETS_TOPIC, TRANSACTION_TOPIC, topic_of
from kafkalab.protocol.records import HEADER_BYTES, Batch, OtherRecords
from kafkalab.saved_data import file_bytes
from kafkalab.wire.batches import batch_bytes_of, read_batch
from kafkalab.wire.data.coordinator_records import (
    group_record,
    read_group_record,
    read_transaction_record,
    transaction_record,
)

OPEN_FILES = 256
SUFFIX = ".log"
LOG = Limit(10_000_000_000, "bytes of a partition's log")
_NAME = re.compile(r"[0-9]{20}")
_PLACE = Struct(">qi")  # base offset, length of what follows it
_BEFORE_LENGTH, _ATTRIBUTES_AT, _DELTA_AT = 12, 21, 23
_DELTA = Struct(">i")
_WRITES = {TRANSACTION_TOPIC: transaction_record, OFFSETS_TOPIC: group_record}
_READS = {TRANSACTION_TOPIC: read_transaction_record, OFFSETS_TOPIC: read_group_record}


def stored_bytes(partition: str, batch: Batch) -> bytes:
    """Return a batch of the partition as Kafka's log holds it; also one of an internal topic."""
    contents = _WRITES.get(topic_of(partition))
    if contents is None or batch.control is not None:
        return batch_bytes_of(batch)
    return batch_bytes.encode(batch, crc32c, contents)


def stored_batch(partition: str, data: bytes) -> Batch:
    """Return the batch that `stored_bytes` wrote; CorruptBatchError for other bytes.

    UnknownRecordError for a record of an internal topic that this kafkalab cannot read.
    """
    record_of = _READS.get(topic_of(partition), batch_bytes.text_record)
    if topic_of(partition) in _READS or data[_ATTRIBUTES_AT + 1] & CONTROL:
        return batch_bytes.decode(data, crc32c, record_of)
    batch = read_batch(data)
    if isinstance(batch, OtherRecords):
        raise CorruptBatchError("no batch")
    return batch


def whole_batches(data: bytes) -> Iterator[tuple[int, int, int]]:
    """Return where each batch of a file begins and ends, and its last offset, up to the first whose length is wrong."""
    place, least = 0, 0
    while len(data) - place >= HEADER_BYTES:
        base, length = _PLACE.unpack_from(data, place)
        end, delta = place + _BEFORE_LENGTH + length, _DELTA.unpack_from(data, place + _DELTA_AT)[0]
        if not place + HEADER_BYTES <= end <= len(data) or base < least or delta < 0:
            return
        yield place, end, base + delta
        place, least = end, base + delta + 1


class OpenFiles:
    """Files that are appended to. Beyond `most` the one that was unused for longest is closed."""

    def __init__(self, fsync: bool, most: int = OPEN_FILES) -> None:
        self.fsync, self.most = fsync, most
        self._open: dict[str, int] = {}

    def append(self, path: str, data: bytes) -> None:
        """Write all of `data` at the end of the file; with `fsync` it is on the disk then. OSError if it cannot be."""
        file = self._open.pop(path, None)
        if file is None:
            file = self._open_file(path)
        self._open[path] = file
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(file, rest) :]
        if self.fsync:
            os.fdatasync(file)

    def _open_file(self, path: str) -> int:
        while len(self._open) >= self.most:
            os.close(self._open.pop(next(iter(self._open))))
        is_new = not os.path.exists(path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        if is_new and self.fsync:
            folder = os.path.dirname(path)
            sync_folder(folder)
            sync_folder(os.path.dirname(folder))
        return file

    def close(self, path: str) -> None:
        """Close the file, if it is open."""
        if path in self._open:
            os.close(self._open.pop(path))

    def close_all(self) -> None:
        """Close every file."""
        for path in list(self._open):
            self.close(path)


def sync_folder(folder: str) -> None:
    """Bring the names in a folder to the disk."""
    file = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)


def replace_file(path: Path, data: bytes, fsync: bool) -> None:
    """Put `data` in the file's place: whoever reads it finds the old contents or the new ones, whole."""
    beside = path.with_name(path.name + ".tmp")
    with beside.open("wb") as file:
        file.write(data)
        file.flush()
        if fsync:
            os.fsync(file.fileno())
    os.replace(beside, path)
    if fsync:
        sync_folder(str(path.parent))


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredLog:
    """A partition's file: its sound batches, and the bytes after them. Older files are left of a swap."""

    path: Path
    base: int
    batches: list[bytes]
    torn_bytes: int = 0
    older: tuple[Path, ...] = ()

    @property
    def end(self) -> int:
        """The offset after the last sound batch."""
        return last_offset(self.batches[-1]) + 1 if self.batches else self.base


def last_offset(batch: bytes) -> int:
    """Return the last offset of a batch's bytes."""
    base: int = _PLACE.unpack_from(batch)[0]
    delta: int = _DELTA.unpack_from(batch, _DELTA_AT)[0]
    return base + delta


class LogFiles:
    """The logs of one broker below `folder`."""

    def __init__(self, folder: Path, files: OpenFiles) -> None:
        self.folder, self.files = folder, files
        self._paths: dict[str, str] = {}

    def partitions(self) -> list[str]:
        """Return the partitions that have a file, by name."""
        return sorted({path.parent.name for path in self.folder.glob(f"*-*/*{SUFFIX}")})

    def read(self, partition: str) -> StoredLog:
        """Return what the partition's file holds; nothing is changed. ValueError for a file that is no log."""
        *older, path = sorted((self.folder / partition).glob(f"*{SUFFIX}"))
        for one in (*older, path):
            if not _NAME.fullmatch(one.stem):
                raise ValueError(f"{one} is no log of a partition: move it away")
        data, found, sound = file_bytes(path, LOG), [], 0
        for begin, end, _ in whole_batches(data):
            one_batch = data[begin:end]
            if int.from_bytes(one_batch[17:21], "big") != crc32c(one_batch[_ATTRIBUTES_AT:]):
                break
            found.append(one_batch)
            sound = end
        torn = len(data) - sound
        return StoredLog(path=path, base=int(path.stem), batches=found, torn_bytes=torn, older=tuple(older))

    def repair(self, partition: str, stored: StoredLog) -> None:
        """Cut the torn bytes after the sound batches, and remove what a swap left over."""
        for old in stored.older:
            old.unlink()
        self._paths[partition] = str(stored.path)
        if stored.torn_bytes:
            os.truncate(stored.path, sum(map(len, stored.batches)))

    def replace(self, partition: str, stored: StoredLog) -> None:
        """Write the batches as the partition's only file."""
        stored.path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(stored.path, b"".join(stored.batches), self.files.fsync)
        for old in set(stored.path.parent.glob(f"*{SUFFIX}")) - {stored.path}:
            old.unlink()
        self._paths[partition] = str(stored.path)

    def path_of(self, partition: str, base: int) -> Path:
        """Return where a file with this base offset is."""
        return self.folder / partition / f"{base:020d}{SUFFIX}"

    def append(self, partition: str, base_offset: int, data: bytes) -> None:
        """Append a batch; the first one's base offset names the file."""
        path = self._paths.get(partition)
        if path is None:
            path = self._paths[partition] = str(self.path_of(partition, base_offset))
        self.files.append(path, data)

    def truncate(self, partition: str, offset: int) -> None:
        """Drop the batches that reach to `offset` or beyond."""
        path = self._paths.get(partition)
        if path is None:
            return
        ends = [end for _, end, last in whole_batches(Path(path).read_bytes()) if last < offset]
        if ends:
            os.truncate(path, ends[-1])
            return
        self.files.close(path)
        os.unlink(path)
        del self._paths[partition]

    def drop_segments(self, log: PartitionLog) -> None:
        """Write the file anew, without what was deleted from the front of the log."""
        path = self._paths.get(log.partition)
        if path is None or int(Path(path).stem) >= log.segments[0]:
            return
        self.files.close(path)
        new = Path(path).with_name(f"{log.segments[0]:020d}{SUFFIX}")
        replace_file(new, b"".join(stored_bytes(log.partition, b) for b in log.batches), self.files.fsync)
        self._paths[log.partition] = str(new)
        os.unlink(path)
