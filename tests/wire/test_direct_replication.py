"""Replication without frames gives the answers, logs and high watermarks of replication by frames."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from kafkalab.faults.fault import TimedFault
from kafkalab.faults.frame import Drop
from kafkalab.faults.link import Cut, Heal
from kafkalab.faults.node import Crash, Pause, Restart, Resume
from kafkalab.faults.storage import Roll
from kafkalab.protocol import batch_bytes
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.add_offsets_to_txn import AddOffsetsToTxn
from kafkalab.protocol.messages.add_partitions_to_txn import AddPartitionsToTxn
from kafkalab.protocol.messages.create_topics import CreateTopics, NewTopic
from kafkalab.protocol.messages.delete_records import DeleteRecords
from kafkalab.protocol.messages.describe_producers import DescribeProducers
from kafkalab.protocol.messages.end_txn import EndTxn
from kafkalab.protocol.messages.fetch import READ_COMMITTED, Fetch
from kafkalab.protocol.messages.init_producer_id import InitProducerId
from kafkalab.protocol.messages.offset_fetch import OffsetFetch
from kafkalab.protocol.messages.produce import Produce
from kafkalab.protocol.messages.txn_offset_commit import TxnOffsetCommit
from kafkalab.protocol.partitions import offsets_partition, transaction_partition
from kafkalab.protocol.records import Batch, Record
from kafkalab.sim.fault_injector import CALM_MS
from kafkalab.wire.batches import read_batch
from kafkalab.wire.live import RealTime, scenario_of

PARTITIONS = ("t-0", "t-1", "t-2", "late-0")
TIDS = ("pay", "bill", "ship")


class Session:
    """A cluster at a clock of its own, asked the same things by the same seed."""

    def __init__(self, seed: int, by_frames: bool, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now_ms, self.random = 1_700_000_000_000, Random(seed)
        monkeypatch.setattr(RealTime, "now_ms", property(lambda _: self.now_ms))
        self.real = RealTime(scenario_of(2, 3, {"t": 3}, {"replica_lag_time_max_ms": 2_000}))
        self.brokers = self.real.cluster.brokers
        if by_frames:
            self.real.network.quiet, self.real.cluster.injector.direct = False, None
            for broker in self.brokers.values():
                broker.replication.direct = None
        self.answers: list[Any] = []
        self.producers: dict[str, tuple[int, int, int]] = {}

    def ask(self, partition: str, body: Any, version: int) -> Any:
        """Ask the leader of a partition; None if it does not answer within 200 ms."""
        leader = self.real.cluster.controller.metadata.leader(partition) or "b1"
        found: list[Any] = []
        self.real.ask(self.real.client("c"), leader, body, version, found.append)
        self.wait(200 if not found else 1)
        self.answers.append((body, found[:1]))
        return found[0] if found else None

    def wait(self, duration_ms: int) -> None:
        """Let time pass."""
        self.now_ms += duration_ms
        self.real.catch_up()

    def strike(self, fault: TimedFault) -> None:
        """Strike now."""
        self.real.cluster.plan(fault)
        self.wait(1)

    def step(self) -> None:
        """Do any of the things that clients do."""
        random = self.random
        tid, partition = random.choice(TIDS), random.choice(PARTITIONS)
        match random.randrange(10):
            case 0:
                self.ask(partition, DeleteRecords(offsets={partition: random.randrange(5)}, timeout_ms=100), 2)
            case 1:
                self.ask(partition, Fetch(positions={partition: 0}, max_wait_ms=50, isolation_level=READ_COMMITTED), 12)
            case 2:
                self.ask(partition, DescribeProducers(partitions=(partition,)), 0)
            case 3:
                self.ask("t-0", CreateTopics(topics=(NewTopic(name="late", num_partitions=1),)), 5)
            case 4:
                self.produce(partition, None, (-1, -1, -1), random.choice((0, 1, -1)))
            case _:
                self.transaction(tid, partition)

    def produce(self, partition: str, tid: str | None, producer: tuple[int, int, int], acks: int = -1) -> Any:
        """Send one batch."""
        records = (Record("k", "v"),) * self.random.randrange(1, 4)
        batch = Batch(
            records=records, base_offset=0, timestamp_ms=self.now_ms, producer_id=producer[0],
            producer_epoch=producer[1], base_sequence=producer[2], transactional=tid is not None,
        )  # fmt: skip
        found = read_batch(batch_bytes.encode(batch))
        request = Produce(transactional_id=tid, acks=acks, timeout_ms=100, batches={partition: found})
        return len(records), self.ask(partition, request, 10)

    def transaction(self, tid: str, partition: str) -> None:
        """Begin, write, and perhaps commit offsets and end."""
        coordinator = transaction_partition(tid)
        if tid not in self.producers or self.random.random() < 0.1:
            made = self.ask(coordinator, InitProducerId(transactional_id=tid, transaction_timeout_ms=1_500), 4)
            if made is None or made.error is not Error.NONE:
                return
            self.producers[tid] = (made.producer_id, made.producer_epoch, 0)
        pid, epoch, sequence = self.producers[tid]
        ids: dict[str, Any] = {"transactional_id": tid, "producer_id": pid, "producer_epoch": epoch}
        self.ask(coordinator, AddPartitionsToTxn(partitions=(partition,), **ids), 3)
        count, answer = self.produce(partition, tid, (pid, epoch, sequence))
        if answer is None or answer.partitions[partition].error is not Error.NONE:
            self.producers.pop(tid)
            return
        self.producers[tid] = (pid, epoch, sequence + count)
        if self.random.random() < 0.3:
            group, owner = "g", offsets_partition("g")
            self.ask(coordinator, AddOffsetsToTxn(group_id=group, **ids), 3)
            offsets = {partition: self.random.randrange(9)}
            self.ask(owner, TxnOffsetCommit(group_id=group, offsets=offsets, **ids), 3)
            self.ask(owner, OffsetFetch(group_id=group, partitions=(partition,)), 7)
        if self.random.random() < 0.8:
            self.ask(coordinator, EndTxn(committed=self.random.random() < 0.7, **ids), 3)
        self.producers.pop(tid)  # sequences are of one partition

    def logs(self) -> dict[str, Any]:
        """Return what every replica has."""
        self.brokers["b1"].replication.settle()
        return {
            f"{name} {partition}": (
                list(log.batches), log._epochs, log.segments, log.log_end_offset, log.log_start_offset,
                list(log.transaction_index.entries), log.producers.entries, log.producers.ongoing,
                log.producers.map_end_offset,
            )
            for name, broker in self.brokers.items()
            for partition, log in sorted(broker.state.logs.items())
        }  # fmt: skip

    def marks(self) -> dict[str, int]:
        """The high watermark of each partition, as its leader has it."""
        leads = self.real.cluster.controller.metadata.leader
        return {p: self.brokers[leads(p)].state.log(p).high_watermark for p in PARTITIONS[:3] if leads(p)}


FAULTS: tuple[tuple[TimedFault, TimedFault], ...] = (
    (Crash("b1", at_step=0), Restart("b1", at_step=0)),
    (Crash("b2", at_step=0), Restart("b2", at_step=0)),
    (Pause("b3", at_step=0), Resume("b3", at_step=0)),
    (Cut(("b1",), ("b2",), at_step=0), Heal(("b1",), ("b2",), at_step=0)),
    (Roll("t-0", at_step=0), Roll("t-1", at_step=0)),
)


def session(seed: int, by_frames: bool, monkeypatch: pytest.MonkeyPatch) -> Session:
    """Return a session of clients in which faults strike and end."""
    made = Session(seed, by_frames, monkeypatch)
    for round_ in range(6):
        for _ in range(12):
            made.step()
        strike, end = FAULTS[(seed + round_) % len(FAULTS)]
        made.strike(strike)
        for _ in range(4):
            made.step()
        made.wait(made.random.choice((1, 3_000, 20_000)))
        made.strike(end)
        made.wait(made.random.choice((1, 3_000, CALM_MS)))
    made.wait(CALM_MS)
    for _ in range(20):
        made.step()
    made.wait(5_000)
    return made


@pytest.mark.parametrize("seed", range(4))
def test_answers_and_logs_are_those_of_replication_by_frames(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    frames, direct = (session(seed, by_frames, monkeypatch) for by_frames in (True, False))
    for expected, found in zip(frames.answers, direct.answers, strict=True):
        assert found == expected
    assert direct.marks() == frames.marks()
    assert direct.logs() == frames.logs()
    assert direct.real.network.frames_sent < frames.real.network.frames_sent


def test_a_fault_that_is_planned_later_meets_its_frame(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Session(1, False, monkeypatch)
    made.produce("t-0", None, (-1, -1, -1))
    sent = made.real.network.frames_sent
    made.produce("t-0", None, (-1, -1, -1))
    assert made.real.network.frames_sent == sent + 2  # Produce and its response
    made.real.network.faults["Produce#5"] = [Drop("Produce#5")]
    for _ in range(2):
        made.produce("t-0", None, (-1, -1, -1))
    assert made.real.network.frames_sent > sent + 6  # and from the second on, those of the followers
    assert made.produce("t-0", None, (-1, -1, -1))[1] is None
    logs = made.logs()
    assert all(logs[f"{name} t-0"] == logs["b1 t-0"] for name in made.brokers)
