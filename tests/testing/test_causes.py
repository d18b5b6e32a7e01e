"""The report of a failed test names the frame that decided, and the cause, where the trace proves it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from kafkalab.checks.check import ALLOWED, FORBIDDEN
from kafkalab.checks.view import view_of
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.add_offsets_to_txn import AddOffsetsToTxn
from kafkalab.protocol.messages.add_partitions_to_txn import AddPartitionsToTxn
from kafkalab.protocol.messages.api_versions import ApiVersions
from kafkalab.protocol.messages.end_txn import EndTxn
from kafkalab.protocol.messages.init_producer_id import InitProducerId
from kafkalab.protocol.messages.join_group import JoinGroup
from kafkalab.protocol.messages.produce import Produce
from kafkalab.protocol.messages.txn_offset_commit import TxnOffsetCommit
from kafkalab.protocol.records import Batch, Record
from kafkalab.testing.causes import find_causes
from kafkalab.testing.kafka_lab import KafkaLab
from kafkalab.testing.verdict import AnomalyError
from tests.live.conftest import Client

GROUP = "g"


class Old(Client):
    """A client of transaction version 1: it adds what it writes to, and keeps its epoch."""

    @property
    def own(self) -> dict[str, object]:
        return {"transactional_id": self.tid, "producer_id": self.pid, "producer_epoch": self.epoch}

    def begin(self) -> None:
        added = AddPartitionsToTxn(**self.own, partitions=("out-0",))  # type: ignore[arg-type]
        assert self.ask(self.coordinator, added, 3).errors == {"out-0": Error.NONE}
        offsets = AddOffsetsToTxn(**self.own, group_id=GROUP)  # type: ignore[arg-type]
        assert self.ask(self.coordinator, offsets, 3).error is Error.NONE

    def offsets(self, offset: int, **member: object) -> Error:
        asked = TxnOffsetCommit(**self.own, group_id=GROUP, offsets={"in-0": offset}, **member)  # type: ignore[arg-type]
        found: Error = self.ask(self.live.coordinator_of(group=GROUP), asked, 3).errors["in-0"]  # type: ignore[attr-defined]
        return found

    def end(self, committed: bool = True) -> Error:
        found: Error = self.ask(self.coordinator, EndTxn(**self.own, committed=committed), 3).error  # type: ignore[arg-type]
        return found


Connect = Callable[..., Old]


@pytest.fixture
def lab() -> Iterator[KafkaLab]:
    with KafkaLab(topics={"in": 1, "out": 1}) as made:
        yield made


@pytest.fixture
def connect(lab: KafkaLab) -> Iterator[Callable[..., Old]]:
    made: list[Old] = []

    def connect(tid: str = "pay", name: str = "app") -> Old:
        made.append(Old(lab, tid, name))
        return made[-1]

    yield connect
    lab.free_run()
    for client in made:
        client.close()


def orders(lab: KafkaLab, feed: Old, *values: str) -> None:
    assert feed.init() is Error.NONE
    for value in values:
        assert Client.send(feed, value, "in-0") is Error.NONE
    assert Client.end(feed) is Error.NONE


def last(record: object) -> str:
    return record.value.decode()[-1]  # type: ignore[attr-defined, no-any-return]


def test_a_late_commit_of_offsets_that_joined_the_next_transaction_is_named(lab: KafkaLab, connect: Connect) -> None:
    orders(lab, connect("feed", "feeder"), "1", "2")
    app, given_up = connect(), connect()
    app.init()
    given_up.pid, given_up.epoch = app.pid, app.epoch
    lab.hold("TxnOffsetCommit#1")
    app.begin()
    app.send("paid 1")
    late = given_up.later(lambda: given_up.offsets(1))
    lab.wait_for("TxnOffsetCommit#1")
    assert app.end() is Error.NONE
    app.begin()
    app.send("paid 2")
    assert app.offsets(2) is Error.NONE
    lab.let_go("TxnOffsetCommit#1")
    assert late.result(30) is Error.NONE
    assert app.end() is Error.NONE
    lab.pipeline("in", "out", last, last)
    with pytest.raises(AnomalyError, match="torn transaction") as caught:
        lab.check()
    said = str(caught.value)
    assert "hint: TxnOffsetCommit#1 was sent before EndTxn#2 and arrived after it, in the next transaction" in said
    app.begin()
    app.send("paid 2")
    assert app.offsets(2) is Error.NONE
    assert app.end() is Error.NONE
    with pytest.raises(AnomalyError, match="'2' at offset 1 of in-0 is duplicated") as caught:
        lab.check("exactly-once")
    said = str(caught.value)
    assert "    decided by TxnOffsetCommit#1\n" in said
    assert "receives TxnOffsetCommit#1" in said
    assert "hint: TxnOffsetCommit#1 was sent before" in said


def test_the_commit_that_decided_is_named_where_nothing_is_late(lab: KafkaLab, connect: Connect) -> None:
    orders(lab, connect("feed", "feeder"), "1")
    app = connect()
    app.init()
    for _ in range(2):
        app.begin()
        app.send("paid 1")
        assert app.offsets(1) is Error.NONE
        assert app.end() is Error.NONE
    lab.pipeline("in", "out", last, last)
    with pytest.raises(AnomalyError, match="is duplicated") as caught:
        lab.check("exactly-once")
    said = str(caught.value)
    assert "    decided by EndTxn#3\n" in said
    assert "The trace does not prove why." in said


def test_two_outputs_in_one_transaction_are_named(lab: KafkaLab, connect: Connect) -> None:
    orders(lab, connect("feed", "feeder"), "1")
    app = connect()
    app.init()
    app.begin()
    app.send("paid 1")
    app.send("paid 1")
    assert app.offsets(1) is Error.NONE
    assert app.end() is Error.NONE
    lab.pipeline("in", "out", last, last)
    with pytest.raises(AnomalyError, match="hint: one transaction holds several outputs of the input"):
        lab.check("exactly-once")


@pytest.mark.parametrize("named", [True, False])
def test_offsets_without_a_member_of_a_group_that_has_some_are_named(
    lab: KafkaLab, connect: Connect, named: bool
) -> None:
    orders(lab, connect("feed", "feeder"), "1")
    app = connect()
    coordinator = lab.coordinator_of(group=GROUP)
    join = JoinGroup(group_id=GROUP, session_timeout_ms=10_000, rebalance_timeout_ms=10_000, protocol_type="consumer",
                     protocols={"range": ("in",)})  # fmt: skip
    given = app.ask(coordinator, join, 3)
    app.init()
    app.begin()
    app.send("paid 1")
    member = {"member_id": given.member_id, "generation_id": given.generation_id} if named else {}
    assert app.offsets(1, **member) is Error.NONE
    assert app.end() is Error.NONE
    found = find_causes(view_of(lab.history()), lab.trace)
    assert [cause.frame.id for cause in found] == ([] if named else ["TxnOffsetCommit#1"])
    assert all("named neither a member nor a generation" in cause.text for cause in found)


@pytest.mark.parametrize("late", [True, False])
def test_a_late_producer_that_fenced_its_successor_is_named(lab: KafkaLab, connect: Connect, late: bool) -> None:
    first, second = connect(), connect()
    if late:
        lab.hold("InitProducerId#1")
    asked = first.later(lambda: first.ask(first.coordinator, InitProducerId(transactional_id="pay"), 4))
    if late:
        lab.wait_for("InitProducerId#1")
    else:
        asked.result(30)
    second.init()
    if late:
        lab.let_go("InitProducerId#1")
    assert asked.result(30).error is Error.NONE
    found = find_causes(view_of(lab.history()), lab.trace)
    assert [cause.frame.id for cause in found] == (["InitProducerId#1"] if late else [])
    assert all("arrived after InitProducerId#2 of its successor" in cause.text for cause in found)


@pytest.mark.parametrize(
    ("answered", "later_ms", "epoch", "policy"),
    [(False, 0, 1, FORBIDDEN), (True, 0, 1, ALLOWED), (False, 5, 1, ALLOWED)],
)
def test_a_library_that_sends_a_batch_again_under_a_newer_epoch_broke_idempotence(
    lab: KafkaLab, connect: Connect, answered: bool, later_ms: int, epoch: int, policy: str
) -> None:
    app = connect("", "app")
    leader = lab.leader_of("out-0")
    app.ask(leader, ApiVersions(client_software_name="librdkafka"), 3)

    def produce(epoch: int, at_ms: int) -> Error:
        batch = Batch(records=(Record("k", "x"),), producer_id=7, producer_epoch=epoch, base_sequence=0,
                      timestamp_ms=at_ms)  # fmt: skip
        found = app.ask(leader, Produce(transactional_id=None, acks=-1, timeout_ms=9000, batches={"out-0": batch}), 12)
        error: Error = found.partitions["out-0"].error
        return error

    if not answered:
        lab.drop("ProduceResponse#1")
        with pytest.raises(ConnectionError):
            produce(0, 1_000)
        app.disconnect()
    else:
        assert produce(0, 1_000) is Error.NONE
    assert produce(epoch, 1_000 + later_ms) is Error.NONE
    with pytest.raises(AnomalyError, match="duplicate") as caught:
        lab.check("duplicate")
    assert [finding.policy for finding in caught.value.findings] == [policy]
    said = "hint: librdkafka sent an unanswered batch again in Produce#2, under epoch 1 instead of 0"
    assert (said in str(caught.value)) is (policy == FORBIDDEN)
