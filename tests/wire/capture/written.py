"""Topics with transactions, one by one, as a client of few words writes them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kafkalab.limits import place_of
from kafkalab.protocol.messages.add_offsets_to_txn import AddOffsetsToTxn
from kafkalab.protocol.messages.add_partitions_to_txn import AddPartitionsToTxn
from kafkalab.protocol.messages.end_txn import EndTxn
from kafkalab.protocol.messages.find_coordinator import TRANSACTION, FindCoordinator
from kafkalab.protocol.messages.init_producer_id import InitProducerId, InitProducerIdResponse
from kafkalab.protocol.messages.metadata import Metadata
from kafkalab.protocol.messages.produce import Produce
from kafkalab.protocol.messages.txn_offset_commit import TxnOffsetCommit
from kafkalab.protocol.records import Batch, Record
from kafkalab.wire.blocking_client import BlockingClient
from kafkalab.wire.learned_names import LearnedNames


class Writer:
    """A transactional producer of version 1 before these brokers."""

    def __init__(self, servers: str, tid: str) -> None:
        self.askers = [BlockingClient(place_of(s), LearnedNames(), f"writer {tid}") for s in servers.split(",")]
        self.tid = tid
        node = ""
        while not node:
            node = self.askers[0].ask(FindCoordinator(key=tid, key_type=TRANSACTION), 2).node_id
        self.coordinator = self.askers[int(node[1:]) - 1]
        self.known: InitProducerIdResponse = self.coordinator.ask(InitProducerId(transactional_id=tid), 4)
        self.sequences: dict[str, int] = {}

    @property
    def identity(self) -> dict[str, Any]:
        return {"producer_id": self.known.producer_id, "producer_epoch": self.known.producer_epoch}

    def write(self, partition: str, *values: str, add: bool = True) -> None:
        """Write one batch; without `add` the coordinator does not know of the partition."""
        if add:
            body = AddPartitionsToTxn(transactional_id=self.tid, partitions=(partition,), **self.identity)
            while any(e.name != "NONE" for e in self.coordinator.ask(body, 3).errors.values()):
                pass
        sequence = self.sequences.get(partition, 0)
        self.sequences[partition] = sequence + len(values)
        records = tuple(Record("k", value, (("h", b"1"),)) for value in values)
        batch = Batch(
            records=records, base_offset=0, base_sequence=sequence, transactional=True, timestamp_ms=1_000,
            **self.identity,
        )  # fmt: skip
        produce = Produce(transactional_id=self.tid, acks=-1, timeout_ms=1_000, batches={partition: batch})
        answer = self.leader(partition).ask(produce, 11).partitions[partition]
        assert answer.error.name == "NONE", answer

    def commit_offsets(self, group: str, *offsets: dict[str, int]) -> None:
        """Commit a group's offsets in the transaction, by one TxnOffsetCommit for each of `offsets`."""
        ask = self.coordinator.ask
        joined = AddOffsetsToTxn(transactional_id=self.tid, group_id=group, **self.identity)
        while ask(joined, 2).error.name != "NONE":
            pass
        node = ""
        while not node:
            node = self.askers[0].ask(FindCoordinator(key=group), 2).node_id
        for some in offsets:
            body = TxnOffsetCommit(transactional_id=self.tid, group_id=group, offsets=some, **self.identity)
            while any(e.name != "NONE" for e in self.askers[int(node[1:]) - 1].ask(body, 3).errors.values()):
                pass

    def leader(self, partition: str) -> BlockingClient:
        """The connection to a partition's leader."""
        image = self.askers[0].ask(Metadata(topics=(partition.rpartition("-")[0],)), 7).metadata
        return self.askers[int(image.leader(partition)[1:]) - 1]

    def end(self, committed: bool) -> None:
        """Commit or abort."""
        body = EndTxn(transactional_id=self.tid, committed=committed, **self.identity)
        assert self.coordinator.ask(body, 3).error.name == "NONE"


@contextmanager
def writer(servers: str, tid: str) -> Iterator[Writer]:
    """Give a writer, whose connections are closed at the end."""
    one = Writer(servers, tid)
    try:
        yield one
    finally:
        for asker in one.askers:
            asker.close()
