"""What a test is given: faults by name, a clock that can be moved, and the truth about topics."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from typing import Any

import pytest

from kafkalab.checks.all import BY_NAME
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.describe_transactions import DescribeTransactions
from kafkalab.protocol.messages.fetch import READ_UNCOMMITTED, Fetch
from kafkalab.protocol.messages.offset_commit import OffsetCommit
from kafkalab.protocol.messages.txn_offset_commit import TxnOffsetCommit
from kafkalab.protocol.partitions import transaction_partition
from kafkalab.testing.kafka_lab import KafkaLab
from kafkalab.testing.record import TopicRecord
from kafkalab.testing.verdict import AnomalyError
from tests.live.conftest import Client

Connect = Callable[..., Client]


def commit_values(client: Client, *values: str, partition: str = "out-0") -> None:
    for value in values:
        assert client.send(value, partition) is Error.NONE
    assert client.end() is Error.NONE


def test_records_are_those_that_a_consumer_is_given(lab: KafkaLab, connect: Connect) -> None:
    client = connect()
    client.init()
    commit_values(client, "a")
    client.send("aborted")
    client.end(committed=False)
    client.send("open")
    assert [(r.topic, r.partition, r.offset, r.key, r.value) for r in lab.records("out")] == [("out", 0, 0, b"k", b"a")]
    assert lab.values("out", READ_UNCOMMITTED) == ["a", "aborted", "open"]
    with pytest.raises(ValueError, match=r"no topic 'outt'; there are .*; did you mean out?"):
        lab.records("outt")
    with pytest.raises(ValueError, match="isolation_level is read_committed or read_uncommitted, not 'committed'"):
        lab.records("out", "committed")


def test_a_dropped_answer_is_lost_once(lab: KafkaLab, connect: Connect) -> None:
    client = connect()
    client.init()
    client.send("a")
    lab.drop(lab.next("EndTxnResponse"))
    with pytest.raises(ConnectionError):
        client.end()
    client.disconnect()
    assert lab.values("out") == ["a"]
    assert lab.next("EndTxnResponse") == "EndTxnResponse#2"
    with pytest.raises(ValueError, match="no API 'EndTransaction'"):
        lab.next("EndTransaction")


def test_a_check_is_not_green_over_a_fault_that_never_struck(lab: KafkaLab, connect: Connect) -> None:
    client = connect()
    client.init()
    commit_values(client, "a")
    lab.check()
    lab.drop("EndTxnResponse#7")
    lab.late("EndTxn#2", before="EndTxn#9")
    never = r"unknown: the fault Drop\(frame='EndTxnResponse#7'\) never struck: EndTxnResponse#7 has not been sent"
    with pytest.raises(AnomalyError, match=never):
        lab.check()
    with pytest.raises(AnomalyError, match="unknown: the fault"):
        lab.check("duplicate")
    lab.allow_unused_faults = True
    lab.check()


def test_nodes_are_found_by_what_they_lead(lab: KafkaLab, connect: Connect) -> None:
    coordinator = lab.coordinator_of("pay")
    assert coordinator == lab.leader_of(transaction_partition("pay"))
    lab.crash(coordinator)
    lab.advance(9_000)  # broker.session.timeout.ms: others are elected
    assert lab.coordinator_of("pay") not in ("", coordinator)
    assert lab.leader_of("out-0") != coordinator
    lab.restart(coordinator)
    assert lab.coordinator_of(group="readers").startswith("b")
    for wrong in ({}, {"transactional_id": "a", "group": "b"}):
        with pytest.raises(TypeError, match="coordinator_of"):
            lab.coordinator_of(**wrong)
    with pytest.raises(ValueError, match="no partition 'out-1'; there are in-0, out-0; did you mean out-0"):
        lab.leader_of("out-1")


def test_the_clock_lets_transactions_time_out_and_ids_expire(lab: KafkaLab, connect: Connect) -> None:
    client = connect()
    client.init()
    client.send("a")
    lab.advance(120_000)
    assert lab.cluster.outcome().verdict == "aborted"
    assert client.end() is Error.INVALID_TXN_STATE
    lab.advance(604_800_000 + 3_600_000)  # transactional.id.expiration.ms, and the next look at it
    found = client.ask(client.coordinator, DescribeTransactions(transactional_ids=("pay",)), 0)
    assert [state.error for state in found.transactions] == [Error.TRANSACTIONAL_ID_NOT_FOUND]
    for wrong in (0, -1, 1.5, "1"):
        with pytest.raises(ValueError, match="milliseconds above 0"):
            lab.advance(wrong)  # type: ignore[arg-type]


def test_a_paused_broker_answers_when_it_is_resumed(lab: KafkaLab, connect: Connect) -> None:
    client = connect()
    lab.pause(lab.coordinator_of("pay"))
    asked = client.later(client.init)
    assert not asked.done()
    lab.resume(lab.coordinator_of("pay"))
    assert asked.result(30) is Error.NONE


def produce_inputs(lab: KafkaLab, client: Client, *values: str) -> None:
    """The inputs, in a transaction of their own."""
    client.init()
    commit_values(client, *values, partition="in-0")


def test_exactly_once_follows_from_a_declared_pipeline(lab: KafkaLab, connect: Connect) -> None:
    produce_inputs(lab, connect("feed", "feeder"), "1")
    client = connect()
    client.init()
    with pytest.raises(AnomalyError, match=r'exactly-once: cannot be judged, .* kafka_lab.pipeline\("orders"'):
        lab.check("exactly-once")
    lab.pipeline("in", "out")
    with pytest.raises(AnomalyError, match="the fate of no input is certain yet"):
        lab.check("exactly-once")
    commit_values(client, "paid")
    assert lab.check("exactly-once")["exactly-once"].examined == 1
    lab.check()
    commit_values(client, "paid again")
    with pytest.raises(AnomalyError, match="'1' at offset 0 of in-0 is duplicated") as caught:
        lab.check("exactly-once")
    assert caught.value.anomalies == ("exactly-once",)
    assert caught.value.findings[0].keys == ("in-0",)
    for text in ("keys in-0; steps", "appends producer", "hint: an input was processed in a second transaction"):
        assert text in str(caught.value)
    with pytest.raises(AnomalyError, match="is duplicated"):
        lab.check()


def test_an_aborted_attempt_is_no_second_effect(lab: KafkaLab, connect: Connect) -> None:
    produce_inputs(lab, connect("feed", "feeder"), "1")
    client = connect()
    client.init()
    client.send("paid")
    client.end(committed=False)
    commit_values(client, "paid")
    lab.pipeline("in", "out")
    lab.check("exactly-once")


def test_inputs_without_any_output_are_lost_when_their_offsets_are_committed(lab: KafkaLab, connect: Connect) -> None:
    produce_inputs(lab, connect("feed", "feeder"), "1")
    lab.pipeline("in", "out")
    asked = OffsetCommit(group_id="readers", offsets={"in-0": 1})
    assert connect("", "reader").ask(lab.coordinator_of(group="readers"), asked, 7).errors == {"in-0": Error.NONE}
    with pytest.raises(AnomalyError, match="'1' at offset 0 of in-0 is lost") as caught:
        lab.check("exactly-once")
    assert "hint: offsets were committed outside of a transaction" in str(caught.value)


def test_an_output_of_an_aborted_input_is_found(lab: KafkaLab, connect: Connect) -> None:
    feed, client = connect("feed", "feeder"), connect()
    feed.init()
    feed.send("1", "in-0")
    feed.end(committed=False)
    client.init()
    commit_values(client, "paid")
    lab.pipeline("in", "out")
    with pytest.raises(AnomalyError, match="was made of in-0@0, whose transaction aborted") as caught:
        lab.check()
    assert str(caught.value).endswith("set isolation.level=read_committed")


def test_a_pipeline_that_names_no_input_is_an_error(lab: KafkaLab, connect: Connect) -> None:
    produce_inputs(lab, connect("feed", "feeder"), "1", "2")
    client = connect()
    client.init()
    commit_values(client, "paid 1")
    lab.pipeline("in", "out", source_id=lambda r: r.value, target_id=lambda r: r.value)
    with pytest.raises(ValueError, match="out-0@0 has the identity b'paid 1', which no record of in has"):
        lab.check()
    lab._pipelines.clear()
    lab.pipeline("in", "out")
    with pytest.raises(ValueError, match="in-0@0 and in-0@1 have the same identity b'k'"):
        lab.check()
    lab._pipelines.clear()
    lab.pipeline("in", "out", source_id=lambda r: r.value, target_id=lambda r: (r.value or b"")[-1:])
    with pytest.raises(AnomalyError, match=r"'2' at offset 1 of in-0 is unknown: .* of the topic in:") as caught:
        lab.check("exactly-once")
    assert "hint: nothing says how far the application has read" in str(caught.value)
    lab.pipeline("in", "payments")
    with pytest.raises(ValueError, match="pipeline: no topic 'payments'"):
        lab.check()


def ends_with(record: TopicRecord) -> bytes:
    """The last character is the identity."""
    return (record.value or b"")[-1:]


@pytest.mark.parametrize(
    ("outputs", "declared", "said"),
    [
        (["a1", "a2"], {"effects": 1}, ""),
        (["a1"], {"effects": lambda record: int(record.value == b"1")}, ""),
        (["a1", "b1", "a2", "b2"], {"effects": 2}, ""),
        (["a1", "b1", "a2"], {"effects": 1}, "'1' at offset 0 of in-0 is duplicated: 2 effect"),
        (["a1", "b1", "a2"], {"effects": 2}, "'2' at offset 1 of in-0 is lost: 1 effect.*, 2 expected"),
        (["a1", "a2"], {"effects": 0}, "'1' at offset 0 of in-0 is duplicated: 1 effect.*, 0 expected"),
        (["sum 12"], {"target_id": lambda record: [b"1", b"2"]}, ""),
        (["sum 12", "a2"], {"target_id": lambda r: {b"1", b"2"} if b"sum" in r.value else b"2"}, "'2' .* duplicated"),
    ],
)
def test_a_pipeline_says_how_many_effects_an_input_should_have(
    lab: KafkaLab, connect: Connect, outputs: list[str], declared: dict[str, Any], said: str
) -> None:
    produce_inputs(lab, connect("feed", "feeder"), "1", "2")
    client = connect()
    client.init()
    commit_values(client, *outputs)
    lab.pipeline("in", "out", ends_with, **{"target_id": ends_with, **declared}, positions={"in-0": 2})
    if not said:
        assert lab.check("exactly-once")["exactly-once"].examined == 2
    else:
        with pytest.raises(AnomalyError, match=f"exactly-once: {said}"):
            lab.check("exactly-once")


@pytest.mark.parametrize(
    ("declared", "why"),
    [
        ({"effects": -1}, "effects of in-0@0 is -1, not a whole number from 0 on"),
        ({"effects": lambda record: None}, "effects of in-0@0 is None, not a whole number"),
        ({"positions": {"out-0": 1}}, "positions has 'out-0': 1, not offsets of partitions as in-0"),
        ({"positions": lambda: {"in-0": "1"}}, "positions has 'in-0': '1', not offsets"),
        ({"positions": "none"}, "positions are {\"in-0\": 3} or \"unknown\", not 'none'"),
    ],
)
def test_what_a_pipeline_cannot_expect_is_an_error(
    lab: KafkaLab, connect: Connect, declared: dict[str, Any], why: str
) -> None:
    produce_inputs(lab, connect("feed", "feeder"), "1")
    lab.pipeline("in", "out", **declared)
    with pytest.raises(ValueError, match=re.escape(why)):
        lab.check()


def test_two_pipelines_cannot_expect_different_effects_of_an_input(lab: KafkaLab, connect: Connect) -> None:
    produce_inputs(lab, connect("feed", "feeder"), "1")
    lab.pipeline("in", "out")
    lab.pipeline("in", "out", effects=2)
    with pytest.raises(ValueError, match="another pipeline expects 1 effects of in-0@0, this one 2"):
        lab.check()


def test_checks_are_named_as_the_labs(lab: KafkaLab, connect: Connect) -> None:
    with pytest.raises(AnomalyError, match="no client has sent or read anything"):
        lab.check()
    with pytest.raises(ValueError, match=r"no check 'exactly once'.*did you mean exactly-once"):
        lab.check("exactly once")
    client = connect()
    client.init()
    commit_values(client, "a", "a")
    assert [r.name for r in lab.check().results] == list(BY_NAME)  # sent twice: that is allowed
    with pytest.raises(AnomalyError, match="duplicate: 'a' lies at the offsets 0, 1 of out-0"):
        lab.check("duplicate")
    with pytest.raises(AnomalyError, match="offset/output split: cannot be judged"):
        lab.check("offset/output split")


def test_what_clients_fetch_is_read_without_aborted_records(lab: KafkaLab, connect: Connect) -> None:
    client, reader = connect(), connect("", "reader")
    client.init()
    client.send("aborted")
    client.end(committed=False)
    commit_values(client, "a")

    def fetch(level: str, position: int) -> Any:
        return reader.ask(lab.leader_of("out-0"), Fetch(isolation_level=level, positions={"out-0": position}), 12)

    fetch("read_committed", 0)
    fetch("read_committed", 4)
    fetch("read_uncommitted", 0)
    history = lab.history()
    mine = [(r.poll, r.offset, r.value) for r in history.reads if r.consumer == "reader"]
    assert mine == [(1, 2, "a"), (3, 0, "aborted"), (3, 2, "a")]
    moves = [(p.poll, p.start, p.end, p.moved) for p in history.polls if p.consumer == "reader"]
    assert moves == [(1, 0, 4, "assign"), (3, 0, 4, "seek")]
    assert [r.value for r in history.reads if r.consumer == "kafka_lab"] == ["a"]
    assert [(p.key, p.start, p.end) for p in history.polls if p.consumer == "kafka_lab"] == [("out-0", 0, 4)]
    lab.check("G1a")


def test_a_read_belongs_to_no_producer_if_one_commits_offsets_of_an_unknown_member(
    lab: KafkaLab, connect: Connect
) -> None:
    produce_inputs(lab, connect("feed", "feeder"), "1")
    client, reader = connect(), connect("", "reader")
    reader.ask(lab.leader_of("in-0"), Fetch(isolation_level="read_committed", positions={"in-0": 0}), 12)
    assert {read.process for read in lab.history().reads} == {"reader", "kafka_lab"}
    client.init()
    client.send("paid")
    asked = TxnOffsetCommit(
        transactional_id="pay", group_id="readers", producer_id=client.pid, producer_epoch=client.epoch,
        offsets={"in-0": 1},
    )  # fmt: skip
    assert client.ask(lab.coordinator_of(group="readers"), asked, 5).errors == {"in-0": Error.NONE}
    assert client.end() is Error.NONE
    assert {read.process for read in lab.history().reads} == {"reader, consumer", "kafka_lab"}
    lab.pipeline("in", "out")
    lab.check("exactly-once")
    lab.check()


@pytest.mark.parametrize("options", [{"brokers": 0}, {"brokers": "3"}, {"brokers": 10}, {"topics": {"a": 0}},
                                     {"cluster_level": 0}, {"cluster_level": "2"}, {"min_isr": 2}])  # fmt: skip
def test_what_no_cluster_has_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        KafkaLab(**options)
    with pytest.raises(TypeError, match="topics are a list of names"):
        KafkaLab(topics=3)
    assert not any(thread.name == "kafkalab live" for thread in threading.enumerate())


def test_no_verdict_is_given_of_what_is_recorded_in_part_only() -> None:
    with KafkaLab(topics={"out": 1}, most_events=1) as lab:
        client = Client(lab)
        client.init()
        commit_values(client, "a")
        assert lab.values("out") == ["a"]
        assert lab.next("EndTxn") == "EndTxn#2"
        with pytest.raises(RuntimeError, match=r"recording has stopped after .* events: a history needs all of them"):
            lab.check()
        client.close()
