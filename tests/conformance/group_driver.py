"""Asks the group coordinator of a simulated cluster, request by request, as members m1, m2, ... would."""

from __future__ import annotations

from typing import Any

from kafkalab.broker.state import BrokerConfig
from kafkalab.client.promise import Promise
from kafkalab.faults.node import Crash
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.add_offsets_to_txn import AddOffsetsToTxn
from kafkalab.protocol.messages.describe_groups import DescribeGroups
from kafkalab.protocol.messages.end_txn import EndTxn
from kafkalab.protocol.messages.init_producer_id import InitProducerId
from kafkalab.protocol.messages.join_group import JoinGroup
from kafkalab.protocol.messages.offset_commit import OffsetCommit
from kafkalab.protocol.messages.offset_fetch import OffsetFetch
from kafkalab.protocol.messages.sync_group import SyncGroup
from kafkalab.protocol.messages.txn_offset_commit import TxnOffsetCommit
from kafkalab.protocol.partitions import offsets_partition, transaction_partition
from kafkalab.protocol.records import Record
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.scenario import Scenario

TOPICS = {"foo": 2, "bar": 2}
RANGE: dict[str, tuple[str, ...]] = {"range": ("foo",)}
G = "g"


def wait(promise: Promise[Any]) -> Any:
    """Return what the promise brings; the cluster runs until then."""

    async def awaiting() -> Any:
        return await promise

    try:
        awaiting().send(None)
    except StopIteration as end:
        return end.value
    raise AssertionError("a promise outside a program drives the cluster itself")


class Groups:
    """One cluster. Requests go to whoever leads the group's, or the transactional id's, partition."""

    def __init__(self, *rules_off: str, profile: str = "4.x/TV2", brokers: int = 3, **config: Any) -> None:
        scenario = Scenario(topics=TOPICS, rules_off=rules_off, profile=profile, brokers=brokers)
        self.cluster = Cluster(scenario, config=BrokerConfig(**config))
        self.producers: dict[str, tuple[int, int]] = {}

    def leader(self, partition: str) -> str:
        return self.cluster.controller.metadata.leader(partition)

    def ask(self, body: Any, version: int | None = None, client: str = "m1", to: str = "") -> Promise[Any]:
        """Send the request; the promise of its response."""
        to = to or self.leader(offsets_partition(body.group_id))
        return self.cluster.client(client).ask(to, body, version)

    def get(self, body: Any, version: int | None = None, client: str = "m1", to: str = "") -> Any:
        """Send the request and wait for its response."""
        return wait(self.ask(body, version, client, to))

    def sleep(self, duration_ms: int) -> None:
        self.cluster.run_for(duration_ms)

    # groups

    def join(self, client: str = "m1", member_id: str = "", version: int = 9, **fields: Any) -> Promise[Any]:
        """JoinGroup, with the id that the coordinator gives out if it wants one."""
        body = {"group_id": G, "protocols": RANGE, "member_id": member_id, **fields}
        if member_id == "" and version >= 4 and fields.get("group_instance_id") is None:
            body["member_id"] = self.get(JoinGroup(**body), version, client).member_id
        return self.ask(JoinGroup(**body), version, client)

    def sync(self, joined: Any, client: str = "m1", **fields: Any) -> Promise[Any]:
        body = {"group_id": G, "generation_id": joined.generation_id, "member_id": joined.member_id, **fields}
        return self.ask(SyncGroup(**body), None, client)

    def stable(self, *clients: str, **fields: Any) -> list[Any]:
        """A stable group of these members: their JoinGroup responses. Each has the partition foo-<its number>."""
        promises = [self.join(client, **fields) for client in clients or ("m1",)]
        joined = [wait(p) for p in promises]
        assignments = {j.member_id: (f"foo-{i}",) for i, j in enumerate(joined)}
        order = sorted(joined, key=lambda j: j.leader != j.member_id)
        syncs = [self.sync(j, assignments=assignments if j.leader == j.member_id else {}) for j in order]
        assert [wait(s).error for s in syncs] == [Error.NONE] * len(joined)
        return joined

    # offsets

    def commit(self, version: int | None = None, **fields: Any) -> dict[str, Error]:
        errors: dict[str, Error] = self.get(OffsetCommit(group_id=G, **fields), version).errors
        return errors

    def error(self, version: int | None = None, **fields: Any) -> Error:
        """The error of a plain commit of foo-0."""
        return self.commit(version, offsets={"foo-0": 5}, **fields)["foo-0"]

    def fetch(self, *partitions: str, stable: bool = False, version: int | None = None) -> dict[str, Any]:
        """Offsets, and the error's name where there is one."""
        body = OffsetFetch(group_id=G, partitions=partitions, require_stable=stable)
        response = self.get(body, version)
        assert response.error is Error.NONE
        return {
            p: o if response.errors[p] is Error.NONE else response.errors[p].name for p, o in response.offsets.items()
        }

    # transactions

    def coordinator(self, tid: str) -> str:
        return self.leader(transaction_partition(tid))

    def begin(self, tid: str) -> tuple[int, int]:
        """A producer id and epoch of its own."""
        response = self.get(
            InitProducerId(transactional_id=tid, transaction_timeout_ms=60_000), to=self.coordinator(tid)
        )
        self.producers[tid] = response.producer_id, response.producer_epoch
        return self.producers[tid]

    def offer(self, tid: str, offsets: dict[str, int], version: int = 5, group: str = G, **fields: Any) -> Promise[Any]:
        """TxnOffsetCommit, the group's partition being added to the transaction first where the version needs it."""
        producer_id, epoch = self.producers.get(tid) or self.begin(tid)
        who: dict[str, Any] = {"transactional_id": tid, "producer_id": producer_id, "producer_epoch": epoch}
        if version < 5 and group:
            added = self.get(AddOffsetsToTxn(**who, group_id=group), to=self.coordinator(tid))
            assert added.error in (Error.NONE, Error.CONCURRENT_TRANSACTIONS)
        to = self.leader(offsets_partition(group))
        return self.ask(TxnOffsetCommit(**who, group_id=group, offsets=offsets, **fields), version, "app", to)

    def txn_commit(self, tid: str, offsets: dict[str, int], version: int = 5, **fields: Any) -> dict[str, Error]:
        errors: dict[str, Error] = wait(self.offer(tid, offsets, version, **fields)).errors
        return errors

    def txn_error(self, version: int = 5, tid: str = "t", **fields: Any) -> Error:
        """The error of a transactional commit of foo-0."""
        return self.txn_commit(tid, {"foo-0": 7}, version, **fields)["foo-0"]

    def end(self, tid: str, committed: bool) -> Error:
        """EndTxn, and long enough for its markers to arrive; the producer goes on with the epoch that it is given."""
        producer_id, epoch = self.producers[tid]
        body = EndTxn(transactional_id=tid, producer_id=producer_id, producer_epoch=epoch, committed=committed)
        response = self.get(body, to=self.coordinator(tid))
        if response.producer_id >= 0:
            self.producers[tid] = response.producer_id, response.producer_epoch
        self.sleep(200)
        error: Error = response.error
        return error

    # the log, and what administrators see

    def describe(self) -> Any:
        """The group as DescribeGroups 5 shows it."""
        to = self.leader(offsets_partition(G))
        return self.get(DescribeGroups(groups=(G,)), 5, to=to).groups[G]

    def state(self) -> str:
        state: str = self.describe().state
        return state

    def records(self) -> list[Record]:
        """The records of the group's partition, without markers."""
        log = self.cluster.log_of(offsets_partition(G))
        return [r for b in log.batches if b.control is None for r in b.records]

    def crash_follower(self) -> str:
        """One follower of the group's partition dies, and is out of the in-sync set; its name."""
        info = self.cluster.controller.metadata.partitions[offsets_partition(G)]
        name = next(r for r in info.replicas if r != info.leader)
        self.cluster.plan(Crash(name, at_ms=self.cluster.now))
        self.sleep(12_000)
        assert name not in self.cluster.controller.metadata.partitions[offsets_partition(G)].isr
        return name

    def crash_coordinator(self) -> None:
        """The group's coordinator dies, and another one has loaded the group."""
        name = self.leader(offsets_partition(G))
        self.cluster.plan(Crash(name, at_ms=self.cluster.now))
        self.sleep(12_000)
        assert self.leader(offsets_partition(G)) not in ("", name)
