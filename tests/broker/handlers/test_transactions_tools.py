"""DescribeTransactions, ListTransactions and DescribeProducers: every answer (KIP-664, docs/protocol.md#tools)."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import pytest

from kafkalab.broker.state import MarkerProgress
from kafkalab.protocol.acls import Deny
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.describe_producers import ActiveProducer, DescribeProducers
from kafkalab.protocol.messages.describe_transactions import DescribeTransactions
from kafkalab.protocol.messages.list_transactions import ListTransactions
from kafkalab.protocol.partitions import transaction_partition
from kafkalab.protocol.records import Batch, ControlType, Record, marker
from kafkalab.protocol.transaction_metadata import Txn, TxnState
from tests.conformance.one_broker import OneBroker, ask, broker

T1 = Txn(
    transactional_id="t1",
    producer_id=15,
    producer_epoch=3,
    state=TxnState.ONGOING,
    timeout_ms=9_000,
    partitions=("other-0", "out-0", "out-1"),
    start_ms=100,
)
T2 = Txn(transactional_id="t2", producer_id=16, producer_epoch=0, state=TxnState.COMPLETE_COMMIT, start_ms=900)
T3 = Txn(transactional_id="t3", producer_id=17, producer_epoch=1)


def describe(one: OneBroker, tid: str) -> Any:
    (found,) = ask(one, DescribeTransactions(transactional_ids=(tid,))).transactions
    return found


def list_ids(one: OneBroker, now: int = 1000, **filters: Any) -> list[str]:
    one.run_for(now - one.now)
    response = ask(one, ListTransactions(**filters))
    assert response.error is Error.NONE
    return [t.transactional_id for t in response.transactions]


def test_a_description_is_what_the_coordinator_knows() -> None:
    found = describe(broker(txns=(T1,)), "t1")
    assert (found.error, found.state, found.producer_id, found.producer_epoch) == (Error.NONE, "Ongoing", 15, 3)
    assert (found.timeout_ms, found.start_ms, found.partitions) == (9_000, 100, T1.partitions)


def test_a_description_of_a_prepared_transaction_lists_the_partitions_that_lack_their_marker() -> None:
    prepared = replace(T1, state=TxnState.PREPARE_ABORT)
    one = broker(txns=(prepared,))
    progress = MarkerProgress(prepared, prepared, 4, ["out-1"])
    one.state.transactions[transaction_partition("t1")].markers["t1"] = progress
    assert describe(one, "t1").partitions == ("out-1",)


@pytest.mark.parametrize(
    ("tid", "error"),
    [
        ("", Error.INVALID_REQUEST),
        ("t2", Error.TRANSACTIONAL_ID_NOT_FOUND),
        ("t3", Error.TRANSACTIONAL_ID_NOT_FOUND),
        ("far", Error.NOT_COORDINATOR),
    ],
    ids=["empty", "unknown", "dead", "elsewhere"],
)
def test_an_id_that_cannot_be_described_has_its_error(tid: str, error: Error) -> None:
    dead = replace(T3, state=TxnState.DEAD)
    found = describe(broker(txns=(T1, dead)), tid)
    assert (found.error, found.transactional_id, found.state, found.partitions) == (error, tid, "", ())
    assert (found.producer_id, found.producer_epoch, found.timeout_ms, found.start_ms) == (0, 0, 0, 0)


def test_each_id_of_a_description_has_an_answer_of_its_own() -> None:
    response = ask(broker(txns=(T1, T3)), DescribeTransactions(transactional_ids=("t1", "far", "t3", "")))
    errors = [t.error for t in response.transactions]
    assert errors == [Error.NONE, Error.NOT_COORDINATOR, Error.NONE, Error.INVALID_REQUEST]
    assert response.error is Error.NOT_COORDINATOR


def test_a_loading_coordinator_describes_nothing() -> None:
    one = broker(txns=(T1,))
    one.state.transactions[transaction_partition("t1")].loading = True
    assert describe(one, "t1").error is Error.COORDINATOR_LOAD_IN_PROGRESS


def test_who_may_not_describe_an_id_is_told_so_and_topics_that_may_not_be_described_are_left_out() -> None:
    one = broker(Deny("app", "DESCRIBE", "TransactionalId:t1"), txns=(T1, T2))
    assert describe(one, "t1").error is Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    assert describe(one, "t2").error is Error.NONE
    one = broker(Deny("app", "DESCRIBE", "Topic:out"), txns=(T1,))
    assert describe(one, "t1").partitions == ("other-0",)


def test_TSM_16_one_loading_partition_is_an_error_for_the_whole_list() -> None:
    one = broker(txns=(T1, T2))
    one.state.transactions[transaction_partition("t2")].loading = True
    response = ask(one, ListTransactions(transactional_id_pattern="["))
    assert (response.error, response.transactions) == (Error.COORDINATOR_LOAD_IN_PROGRESS, ())


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({}, ["t1", "t2", "t3"]),
        ({"state_filters": ("Ongoing",)}, ["t1"]),
        ({"state_filters": ("Ongoing", "Empty")}, ["t1", "t3"]),
        ({"state_filters": ("PrepareCommit",)}, []),
        ({"producer_id_filters": (16, 17, 99)}, ["t2", "t3"]),
        ({"producer_id_filters": (99,)}, []),
        ({"state_filters": ("Ongoing",), "producer_id_filters": (16,)}, []),
        ({"duration_filter_ms": 0}, ["t1", "t2", "t3"]),
        ({"duration_filter_ms": 899}, ["t1", "t3"]),
        ({"duration_filter_ms": 900}, ["t3"]),
        ({"duration_filter_ms": -1}, ["t1", "t2", "t3"]),
        ({"transactional_id_pattern": ""}, ["t1", "t2", "t3"]),
        ({"transactional_id_pattern": "t"}, []),
        ({"transactional_id_pattern": "t[12]"}, ["t1", "t2"]),
        ({"transactional_id_pattern": ".*3"}, ["t3"]),
        ({"transactional_id_pattern": "t1|t2"}, ["t1", "t2"]),
        ({"transactional_id_pattern": "\\p{L}[[:digit:]]"}, ["t1", "t2", "t3"]),
    ],
)
def test_a_filter_lets_through_what_passes_all_of_them(filters: dict[str, Any], expected: list[str]) -> None:
    assert list_ids(broker(txns=(T3, T1, T2)), **filters) == expected


def test_a_dead_id_is_not_listed_even_if_its_state_is_asked_for() -> None:
    one = broker(txns=(T1, replace(T3, state=TxnState.DEAD)))
    assert list_ids(one) == ["t1"]
    assert list_ids(one, state_filters=("Dead",)) == []


def test_states_that_do_not_exist_are_echoed_and_match_nothing() -> None:
    request = ListTransactions(state_filters=("Ongoing", "ongoing", "Sleeping", "ongoing"))
    response = ask(broker(txns=(T1, T2)), request)
    assert response.unknown_state_filters == ("ongoing", "Sleeping")
    assert [t.transactional_id for t in response.transactions] == ["t1"]
    assert ask(broker(txns=(T1,)), ListTransactions(state_filters=("Sleeping",))).transactions == ()


def test_without_re2_a_pattern_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "re2", None)
    assert list_ids(broker(txns=(T1,))) == ["t1"]
    with pytest.raises(ModuleNotFoundError, match=r"needs google-re2: pip install 'kafkalab-course\[wire\]'"):
        list_ids(broker(txns=(T1,)), transactional_id_pattern="t1")


@pytest.mark.parametrize("pattern", ["[", "(", "*", "a{2,1}", "(?=t)t1", "(t)\\1", "t++", "(?<!x)t1", "t1\\Z"])
def test_an_expression_that_re2_refuses_is_an_error(pattern: str) -> None:
    response = ask(broker(txns=(T1,)), ListTransactions(transactional_id_pattern=pattern))
    assert (response.error, response.transactions) == (Error.INVALID_REGULAR_EXPRESSION, ())


def test_what_may_not_be_described_is_not_listed() -> None:
    one = broker(Deny("app", "DESCRIBE", "TransactionalId:t1"), txns=(T1, T2))
    assert list_ids(one) == ["t2"]


def data(sequence: int, producer_id: int = 15, epoch: int = 3, at_ms: int = 70, transactional: bool = True) -> Batch:
    return Batch(
        records=(Record(None, "a"), Record(None, "b")),
        timestamp_ms=at_ms,
        producer_id=producer_id,
        producer_epoch=epoch,
        base_sequence=sequence,
        transactional=transactional,
    )


def producers(one: OneBroker, partition: str) -> Any:
    return ask(one, DescribeProducers(partitions=(partition,))).partitions[partition]


def test_producers_are_described_with_their_open_transaction() -> None:
    one = broker()
    log = one.state.log("out-0")
    log.append(data(0, producer_id=7, transactional=False), 4)
    log.append(data(0), 4)
    open_one = producers(one, "out-0").active_producers[1]
    expected = ActiveProducer(
        producer_id=15,
        producer_epoch=3,
        last_sequence=1,
        last_timestamp_ms=70,
        coordinator_epoch=-1,
        current_txn_start_offset=2,
    )
    assert open_one == expected
    assert producers(one, "out-0").active_producers[0].current_txn_start_offset == -1
    log.append(marker(15, 4, ControlType.ABORT, 9, 88), 4)
    ended = replace(
        expected,
        producer_epoch=4,
        last_sequence=-1,
        last_timestamp_ms=88,
        coordinator_epoch=9,
        current_txn_start_offset=-1,
    )
    assert producers(one, "out-0").active_producers[1] == ended


@pytest.mark.parametrize(
    ("partition", "error"),
    [
        ("out-1", Error.NONE),
        ("followed-0", Error.NONE),
        ("far-0", Error.NOT_LEADER_OR_FOLLOWER),
        ("nowhere-0", Error.UNKNOWN_TOPIC_OR_PARTITION),
        ("out-7", Error.UNKNOWN_TOPIC_OR_PARTITION),
        ("other-0", Error.TOPIC_AUTHORIZATION_FAILED),
    ],
)
def test_a_replica_describes_the_producers_of_what_it_holds(partition: str, error: Error) -> None:
    one = broker(Deny("app", "READ", "Topic:other"))
    assert producers(one, partition).error is error
