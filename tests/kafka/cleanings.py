"""Compare cleanings: a running Kafka and kafkalab compact the same random transactional logs, twice.

Kafka writes the logs and cuts them into segments; kafkalab takes over batches and segments as they are on the disk.
Then both clean, wait until the delete horizons have passed, get one record more, and clean again.
"""

from __future__ import annotations

import time
from pathlib import Path
from random import Random
from typing import Any

from kafkalab.log.cleaner import clean, cleanable_end, is_dirty
from kafkalab.log.partition_log import PartitionLog
from kafkalab.protocol.batch_bytes import record_fields
from kafkalab.protocol.profiles import SERVED, Rules
from kafkalab.protocol.records import HEADER_BYTES, Batch, CleanedBatch
from kafkalab.wire.data.log_files import SUFFIX, stored_batch, whole_batches
from tests.kafka.batches import CONTROL, MARKS, TRANSACTIONAL, batch_bytes, record_bytes
from tests.kafka.differences import differences
from tests.kafka.hunts import CLEANINGS, add_row, first_fresh_seed
from tests.kafka.real_cluster import RealCluster
from tests.kafka.record import cluster_of
from tests.kafka.running_kafka import now_ms
from tests.kafka.schema import Reader

RETENTION_MS, SEGMENT_MS = 1_500, 10_000
GAPS_MS = (0, 100, 4_000, 12_000)
"""Between the times of two batches; Kafka begins a segment where one is as long as a segment may be."""
CONFIG = {"segment.ms": SEGMENT_MS, "delete.retention.ms": RETENTION_MS, "min.cleanable.dirty.ratio": "0.0"}
CLEANER = "\nlog.cleaner.backoff.ms=100\n"
CHECKPOINT = "cleaner-offset-checkpoint"
PATIENCE_S, PAUSE_S = 60, 0.1
HAS_HORIZON = 0x40
KEYS = ("a", "b", "c", "d", None)


class Writer:
    """One random log of a running Kafka: the partition `topic`-0."""

    def __init__(self, cluster: RealCluster, topic: str, seed: int) -> None:
        self.cluster, self.topic, self.random = cluster, topic, Random(seed)
        self.at_ms = now_ms()
        self.producers: dict[str, list[int]] = {}
        """By transactional id: producer id, epoch, next sequence."""
        self.opened: set[str] = set()

    def write(self) -> None:
        """Write 10 to 40 batches and markers; some transactions stay open now and then."""
        for _ in range(self.random.randint(10, 40)):
            tid = f"{self.topic}.{self.random.choice('xy')}"
            act = self.random.random()
            if act < 0.2:
                self.data("")
            elif act < 0.65 or tid not in self.opened:
                self.data(tid)
            elif act < 0.95:
                self.end(tid)
            else:
                self.init(tid)
        for tid in sorted(self.opened):
            if self.random.random() < 0.85:
                self.end(tid)
        self.roll()

    def roll(self) -> None:
        """Write a record that begins a new segment, so that all before it can be cleaned."""
        self.at_ms += 2 * SEGMENT_MS
        self.data("", ["last"])

    def init(self, tid: str) -> None:
        """Take an id and an epoch, which aborts what is open."""
        given = {"TransactionalId": tid, "TransactionTimeoutMs": 600_000, "ProducerId": -1, "ProducerEpoch": -1}
        found = self._until_done("InitProducerId", 4, given)
        self.producers[tid] = [found["ProducerId"], found["ProducerEpoch"], 0]
        self.opened.discard(tid)
        self._settle(tid)

    def data(self, tid: str, keys: list[str | None] | None = None) -> None:
        """Write a batch of one to three records, some of them tombstones."""
        if tid and tid not in self.opened:
            self.begin(tid)
        keys = keys or [self.random.choice(KEYS) for _ in range(self.random.randint(1, 3))]
        if keys[-1] is None and self.random.random() < 0.9:  # a compacted topic refuses it; so it is written before
            keys[-1] = "a"
        values = [None if self.random.random() < 0.2 else f"{self.at_ms}.{n}".encode() for n in range(len(keys))]
        records = b"".join(
            record_bytes(value, n, None if key is None else key.encode())
            for n, (key, value) in enumerate(zip(keys, values, strict=True))
        )
        producer = self.producers.get(tid, [-1, -1, -1])
        self.at_ms += self.random.choice(GAPS_MS)
        who = (producer[0], producer[1], producer[2])
        data = batch_bytes(records, len(keys), self.at_ms, TRANSACTIONAL if tid else 0, -1, who)
        topic = {"Name": self.topic, "PartitionData": [{"Index": 0, "Records": data}]}
        asked = {"TransactionalId": tid or None, "Acks": -1, "TimeoutMs": 30_000, "TopicData": [topic]}
        (row,) = self.cluster.ask("Produce", 9, asked)["Responses"][0]["PartitionResponses"]
        assert row["ErrorCode"] == 0, row
        if tid:
            producer[2] += len(keys)

    def begin(self, tid: str) -> None:
        """Add the partition to a transaction."""
        if tid not in self.producers:
            self.init(tid)
        topics = [{"Name": self.topic, "Partitions": [0]}]
        given = {f"V3AndBelow{k}": v for k, v in {**self._identity(tid), "Topics": topics}.items()}
        done = self.cluster.ask("AddPartitionsToTxn", 3, given)
        assert done["ResultsByTopicV3AndBelow"][0]["ResultsByPartition"][0]["PartitionErrorCode"] == 0, done
        self.opened.add(tid)

    def end(self, tid: str) -> None:
        """Commit or abort, and wait for the marker."""
        self._until_done("EndTxn", 4, {**self._identity(tid), "Committed": self.random.random() < 0.5})
        self.opened.discard(tid)
        self._settle(tid)

    def _identity(self, tid: str) -> dict[str, Any]:
        producer_id, epoch, _ = self.producers[tid]
        return {"TransactionalId": tid, "ProducerId": producer_id, "ProducerEpoch": epoch}

    def _until_done(self, api: str, version: int, given: dict[str, Any]) -> dict[str, Any]:
        for _ in range(int(PATIENCE_S / PAUSE_S)):
            found = self.cluster.ask(api, version, given)
            if found["ErrorCode"] == 0:
                return found
            time.sleep(PAUSE_S)
        raise RuntimeError(f"{api}: {found}")

    def _settle(self, tid: str) -> None:
        for _ in range(int(PATIENCE_S / PAUSE_S)):
            (row,) = self.cluster.ask("DescribeTransactions", 0, {"TransactionalIds": [tid]})["TransactionStates"]
            if not row["TransactionState"].startswith("Prepare"):
                return
            time.sleep(PAUSE_S / 10)
        raise RuntimeError(f"{tid} stays prepared")


def set_policy(cluster: RealCluster, topics: list[str]) -> None:
    """Let the topics be compacted from now on."""
    config = {"Name": "cleanup.policy", "ConfigOperation": 0, "Value": "compact"}
    rows = [{"ResourceType": 2, "ResourceName": topic, "Configs": [config]} for topic in topics]
    done = cluster.ask("IncrementalAlterConfigs", 1, {"Resources": rows})
    assert all(row["ErrorCode"] == 0 for row in done["Responses"]), done


def on_disk(folder: Path) -> dict[int, list[bytes]]:
    """Return the batches of each of the partition's segments, by its first offset."""
    found = {}
    for file in sorted(folder.glob(f"*{SUFFIX}")):
        data = file.read_bytes()
        found[int(file.stem)] = [data[begin:end] for begin, end, _ in whole_batches(data)]
    return found


def cleaned_to(home: Path) -> dict[str, int]:
    """Return up to where Kafka has cleaned each topic."""
    path = home / "data1" / CHECKPOINT
    lines = path.read_text().splitlines()[2:] if path.exists() else []
    return {topic: int(offset) for topic, number, offset in map(str.split, lines) if number == "0"}


def take_over(log: PartitionLog, segments: dict[int, list[bytes]]) -> None:
    """Append to a log what it lacks of Kafka's."""
    for base, batches in segments.items():
        for batch in [stored_batch("t-0", data) for data in batches]:
            if batch.base_offset >= log.log_end_offset:
                if batch.base_offset == base:
                    log.roll(0)
                log.replicate(batch)
    log.advance(log.log_end_offset)


def kafkas_row(data: bytes) -> dict[str, Any]:
    """Return what is compared of a batch as Kafka has it on the disk."""
    reader = Reader(data)
    base = reader.number("int64")
    reader.take(13)  # length, leader epoch, magic, CRC
    attributes, delta = reader.number("int16"), reader.number("int32")
    reader.take(16)  # times
    producer = [reader.number(kind) for kind in ("int64", "int16", "int32")]
    contents = record_fields(data, HEADER_BYTES, reader.number("int32"))
    control = bool(attributes & CONTROL)
    return {
        "base_offset": base,
        "last_offset": base + delta,
        "records": [
            [base + offset, *([_mark(key)] if control else [_text(key), _text(value)])]
            for _, offset, key, value, _ in contents
        ],
        "producer": producer,
        "transactional": bool(attributes & TRANSACTIONAL),
        "control": control,
        "horizon": bool(attributes & HAS_HORIZON),
    }


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode()


def _mark(key: bytes | None) -> str:
    return MARKS[int.from_bytes((key or b"")[2:4], "big")]


def our_row(batch: Batch) -> dict[str, Any]:
    """Return what is compared of a batch of kafkalab's."""
    control = batch.control is not None
    return {
        "base_offset": batch.base_offset,
        "last_offset": batch.last_offset,
        "records": [
            [offset, *([record.key] if control else [record.key, record.value])]
            for offset, record in zip(batch.offsets, batch.records, strict=True)
        ],
        "producer": [batch.producer_id, batch.producer_epoch, batch.base_sequence],
        "transactional": batch.transactional,
        "control": control,
        "horizon": isinstance(batch, CleanedBatch) and batch.delete_horizon_ms >= 0,
    }


def compare_cleanings(recording: str, logs: int, seed: int | None, libs: Path, home: Path, port: int) -> int:
    """Compare the cleanings of so many logs, print each difference, and return how many there are.

    Without a seed the logs are the next after those of all comparisons by now.
    """
    seed = first_fresh_seed(CLEANINGS) if seed is None else seed
    batches, found = compare(recording, logs, seed, libs, home, port)
    told = f"{recording}: {logs} logs of {batches} batches, each cleaned twice; {len(found)} differences"
    print(told, *found, sep="\n")
    row = {"recording": recording, "seed": seed, "next": seed + logs, "logs": logs, "batches": batches}
    add_row(CLEANINGS, {**row, "different": len({line.partition(",")[0] for line in found})})
    return len(found)


def compare(recording: str, logs: int, seed: int, libs: Path, home: Path, port: int) -> tuple[int, list[str]]:
    """Return how many batches were cleaned, and each difference."""
    found: list[str] = []
    with cluster_of(recording, libs, home, port, None, CLEANER) as cluster:
        names = [f"c{seed + n}" for n in range(logs)]
        rows = [{"Name": name, "NumPartitions": 1, "ReplicationFactor": 1, "Configs": configs()} for name in names]
        done = cluster.ask("CreateTopics", 5, {"Topics": rows, "timeoutMs": 30_000})
        assert all(row["ErrorCode"] == 0 for row in done["Topics"]), done
        cluster.topic_ids(names)
        time.sleep(1)
        writers = [Writer(cluster, name, seed + n) for n, name in enumerate(names)]
        for writer in writers:
            writer.write()
        ours = {name: PartitionLog(f"{name}-0", Rules(SERVED[recording[:3], 2])) for name in names}
        for name in names:
            take_over(ours[name], on_disk(home / "data1" / f"{name}-0"))
        batches = sum(len(log.batches) for log in ours.values())
        set_policy(cluster, names)
        found += clean_both(home, ours, "first", now_ms())
        time.sleep(2 * RETENTION_MS / 1000)
        for writer in writers:
            writer.roll()
        for name in names:
            take_over(ours[name], on_disk(home / "data1" / f"{name}-0"))
        found += clean_both(home, ours, "second", now_ms())
    return batches, found


def configs() -> list[dict[str, str]]:
    """Return the configuration of a topic, which is not compacted at first."""
    return [{"Name": name, "Value": str(value)} for name, value in CONFIG.items()]


def clean_both(home: Path, ours: dict[str, PartitionLog], which: str, now: int) -> list[str]:
    """Clean our logs, wait until Kafka has cleaned its own, and return each difference."""
    found = []
    ends = {name: cleanable_end(log) for name, log in ours.items()}
    for log in ours.values():
        if is_dirty(log):
            clean(log, now, RETENTION_MS)
    for _ in range(int(PATIENCE_S / PAUSE_S)):
        done = cleaned_to(home)
        if all(done.get(name, 0) >= end for name, end in ends.items()):
            break
        time.sleep(PAUSE_S)
    for name, log in ours.items():
        end = cleaned_to(home).get(name, 0)
        if end != ends[name]:
            found.append(f"{name}, {which} cleaning: Kafka has cleaned up to {end}, kafkalab up to {ends[name]}")
            continue
        segments = on_disk(home / "data1" / f"{name}-0")
        batches = [kafkas_row(batch) for found_here in segments.values() for batch in found_here]
        real = {"segments": list(segments), "batches": batches}
        lab = {"segments": log.segments, "batches": [our_row(b) for b in log.batches]}
        found += [f"{name}, {which} cleaning{line}" for line in differences(real, lab)]
    return found
