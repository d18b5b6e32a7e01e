"""The logs and sends of a few producers under one protocol version, with lost and repeated batches planted.

Nothing here needs Spark: a grader makes the rows, and only files of them get to the process of a student's notebook.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from random import Random
from tempfile import mkdtemp
from typing import NamedTuple

from kafkalab.grading.remote_query import inputs
from kafkalab.protocol.records import sequence_after

VERSIONS = (1, 2)
KEYS = ("out-0", "out-1", "out-2")
PRODUCERS, TRANSACTIONS = (101, 102, 103, 104), 80
WRAPPING, WRAPPING_BATCHES = 900, 16
"""A producer without transactions that the leaders first meet shortly before its sequences wrap."""
LAST_SEQUENCE = 2**31 - 1
LOST, REPEATED, ABORTED = 0.12, 0.06, 0.25


class Record(NamedTuple):
    """A row of a log: a record, or a marker, whose `control` is COMMIT or ABORT."""

    key: str
    offset: int
    producer_id: int
    producer_epoch: int
    sequence: int
    transactional: bool
    control: str
    value: str | None


class Send(NamedTuple):
    """A record that a producer sent, with whether a leader acknowledged it."""

    key: str
    producer_id: int
    producer_epoch: int
    sequence: int
    value: str
    acknowledged: bool


@dataclass(frozen=True, slots=True)
class Traffic:
    """The traffic of a night: the rows of all logs, in the order of offsets by key, and what producers sent."""

    log: tuple[Record, ...]
    sends: tuple[Send, ...]


@dataclass
class _Producer:
    number: int
    epoch: int = 0
    transactional: bool = True
    next: dict[str, int] = field(default_factory=dict)
    keys: list[str] = field(default_factory=list)
    """The keys of its open transaction."""
    batches: int = 0
    """The number that it still sends before its transaction ends."""
    newest: dict[str, list[Record]] = field(default_factory=dict)
    """By key, its last batch in this transaction."""
    known: set[str] = field(default_factory=set)
    """The keys in which it has written; the first batch is never lost, so that a leader knows the producer."""


@dataclass
class _Cluster:
    random: Random
    version: int
    log: dict[str, list[Record]] = field(default_factory=lambda: {key: [] for key in KEYS})
    sends: list[Send] = field(default_factory=list)

    def send(self, producer: _Producer, key: str, count: int, lost: bool) -> None:
        """Send a batch of `count` records to `key`; a lost one is in no log, even if it is acknowledged."""
        lost = lost and key in producer.known
        told = not lost or self.random.random() < 0.6
        batch = []
        for _ in range(count):
            sequence = producer.next.get(key, 0)
            producer.next[key] = sequence_after(sequence, 1)
            value = f"payment {len(self.sends)}"
            self.sends.append(Send(key, producer.number, producer.epoch, sequence, value, told))
            batch.append(Record(key, 0, producer.number, producer.epoch, sequence, producer.transactional, "", value))
        if not lost:
            self.append(batch)
            if self.random.random() < REPEATED:
                self.append(producer.newest.get(key, batch))
            producer.newest[key] = batch
            producer.known.add(key)

    def append(self, batch: Sequence[Record]) -> None:
        """Give the records of a batch the next offsets of their log."""
        log = self.log[batch[0].key]
        log += [record._replace(offset=len(log) + place) for place, record in enumerate(batch)]

    def end(self, producer: _Producer) -> None:
        """Write the markers. Under version 2 they carry the next epoch, in which sequences begin at 0 again."""
        control = "ABORT" if self.random.random() < ABORTED else "COMMIT"
        if self.version == 2:
            producer.epoch += 1
            producer.next.clear()
        for key in producer.keys:
            self.append([Record(key, 0, producer.number, producer.epoch, -1, True, control, None)])
        producer.keys, producer.newest = [], {}


@cache
def make_traffic(version: int, seed: int) -> Traffic:
    """Make the traffic of a few producers under this transaction version; the same for the same seed."""
    random = Random(f"traffic {version} {seed}")
    cluster = _Cluster(random, version)
    producers = [_Producer(number) for number in PRODUCERS]
    ended = 0
    while ended < TRANSACTIONS:
        producer = random.choice(producers)
        if not producer.keys:
            producer.keys, producer.batches = random.sample(KEYS, random.randint(1, 2)), random.randint(1, 5)
        elif producer.batches:
            producer.batches -= 1
            cluster.send(producer, random.choice(producer.keys), random.randint(1, 3), random.random() < LOST)
        else:
            cluster.end(producer)
            ended += 1
        if ended == TRANSACTIONS // 2 and all(s.producer_id != WRAPPING for s in cluster.sends):
            _wrap(cluster)
    return Traffic(tuple(r for key in KEYS for r in cluster.log[key]), tuple(cluster.sends))


def _wrap(cluster: _Cluster) -> None:
    """Let a producer write over the end of its sequences: in the last key of all the batch at the end is lost."""
    producer = _Producer(WRAPPING, transactional=False)
    for key in KEYS:
        producer.next[key] = LAST_SEQUENCE - WRAPPING_BATCHES - cluster.random.randint(0, 4)
        for _ in range(WRAPPING_BATCHES):
            over_the_end = producer.next[key] > LAST_SEQUENCE - 3
            cluster.send(producer, key, 3, over_the_end and key == KEYS[-1])


def folder_of(version: int, seed: int) -> str:
    """Write the tables as Parquet, once; return the name of their folder in `inputs()`."""
    return write_folder(inputs(), version, seed)


@cache
def write_folder(there: Path, version: int, seed: int) -> str:
    """Write the tables `log` and `sends` as Parquet; return the name of their new folder in `there`."""
    folder = Path(mkdtemp(prefix="traffic-", dir=there))
    folder.chmod(0o755)
    made = make_traffic(version, seed)
    write_table(folder / "log.parquet", made.log)
    write_table(folder / "sends.parquet", made.sends)
    return folder.name


INTEGERS = ("producer_epoch", "sequence")


def write_table(path: Path, rows: Sequence[Record | Send]) -> None:
    """Write the rows as one Parquet file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = {}
    for place, name in enumerate(rows[0]._fields):
        values = [row[place] for row in rows]
        columns[name] = pa.array(values, pa.int32() if name in INTEGERS else None)
    pq.write_table(pa.table(columns), path)
