"""What a client may not do, API by API, in Kafka's order; and that nothing is forbidden by default
(docs/protocol.md#coordinator-checks)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kafkalab.protocol.acls import Deny
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.add_offsets_to_txn import AddOffsetsToTxn
from kafkalab.protocol.messages.add_partitions_to_txn import AddPartitionsToTxn
from kafkalab.protocol.messages.end_txn import EndTxn
from kafkalab.protocol.messages.find_coordinator import GROUP, TRANSACTION, FindCoordinator
from kafkalab.protocol.messages.heartbeat import Heartbeat
from kafkalab.protocol.messages.init_producer_id import InitProducerId
from kafkalab.protocol.messages.join_group import JoinGroup
from kafkalab.protocol.messages.leave_group import LeaveGroup
from kafkalab.protocol.messages.produce import Produce
from kafkalab.protocol.messages.sync_group import SyncGroup
from kafkalab.protocol.messages.txn_offset_commit import TxnOffsetCommit
from kafkalab.protocol.messages.write_txn_markers import TxnMarkers, WriteTxnMarkers
from kafkalab.protocol.records import Batch, Record
from kafkalab.protocol.transaction_metadata import Txn, TxnState
from kafkalab.sim.scenario import Scenario
from tests.conformance.one_broker import ask, broker

NO_ID = Deny("app", "WRITE", "TransactionalId:t1")
NO_GROUP = Deny("app", "READ", "Group:g")
NO_TOPIC = Deny("app", "WRITE", "Topic:out")
NO_READ = Deny("app", "READ", "Topic:out")
NO_IDEMPOTENCE = Deny("app", "IDEMPOTENT_WRITE", "Cluster")
NO_TOPIC_AT_ALL = Deny("app", "WRITE", "Topic:*")
ID, TOPIC = Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, Error.TOPIC_AUTHORIZATION_FAILED
ONGOING = Txn(transactional_id="t1", producer_id=15, producer_epoch=0, state=TxnState.ONGOING, partitions=("out-0",))


def batch(transactional: bool, producer_id: int = 15) -> Batch:
    sequence = 0 if producer_id >= 0 else -1
    return Batch(
        records=(Record(None, "x"),),
        producer_id=producer_id,
        producer_epoch=0 if producer_id >= 0 else -1,
        base_sequence=sequence,
        transactional=transactional,
    )


def init(*acls: Deny, tid: str | None = "t1", profile: str = "4.x/TV2", **fields: Any) -> Error:
    error: Error = ask(broker(*acls, profile=profile), InitProducerId(transactional_id=tid, **fields)).error
    return error


def test_init_producer_id_needs_write_on_the_id_before_anything_else_is_looked_at() -> None:
    assert init(NO_ID) is ID
    assert init(NO_ID, producer_id=5) is ID
    assert init(NO_ID, transaction_timeout_ms=-1) is ID
    assert init(NO_ID, tid="t2") is Error.NONE
    assert init(NO_ID, tid="") is Error.INVALID_REQUEST
    assert init(NO_IDEMPOTENCE, NO_TOPIC_AT_ALL) is Error.NONE


def test_two_phase_commit_is_a_right_of_its_own() -> None:
    def ask_for_two_phases(*acls: Deny, enable_2pc: bool) -> Error:
        one = broker(*acls)
        one.state.config = replace(one.state.config, transaction_two_phase_commit_enable=True)
        error: Error = ask(one, InitProducerId(transactional_id="t1", enable_2pc=enable_2pc), version=6).error
        return error

    refused = Deny("app", "TWO_PHASE_COMMIT", "TransactionalId:t1")
    assert [ask_for_two_phases(refused, enable_2pc=two) for two in (False, True)] == [Error.NONE, ID]
    assert ask_for_two_phases(enable_2pc=True) is Error.NONE
    assert ask_for_two_phases(NO_ID, enable_2pc=True) is ID


@pytest.mark.parametrize(
    ("acls", "today", "once"),
    [
        ((), Error.NONE, Error.NONE),
        ((NO_IDEMPOTENCE,), Error.NONE, Error.CLUSTER_AUTHORIZATION_FAILED),
        ((NO_TOPIC_AT_ALL,), Error.NONE, Error.NONE),
        ((NO_IDEMPOTENCE, NO_TOPIC), Error.NONE, Error.CLUSTER_AUTHORIZATION_FAILED),
        ((NO_IDEMPOTENCE, NO_TOPIC_AT_ALL), *[Error.CLUSTER_AUTHORIZATION_FAILED] * 2),
        ((Deny("app", "ALL", "Cluster"), Deny("*", "ALL", "Topic:*")), *[Error.CLUSTER_AUTHORIZATION_FAILED] * 2),
        ((Deny("other", "ALL", "Cluster"), NO_TOPIC_AT_ALL), Error.NONE, Error.NONE),
    ],
)
def test_idempotence_needs_a_right_on_the_cluster_or_since_kip_679_on_some_topic(
    acls: tuple[Deny, ...], today: Error, once: Error
) -> None:
    assert init(*acls, tid=None) is today
    assert init(*acls, tid=None, profile="1.0") is once


def produce(*acls: Deny, tid: str | None, profile: str = "4.x/TV2", version: int = 11, **batches: Batch) -> Any:
    by_partition = {name.replace("_", "-"): b for name, b in batches.items()}
    request = Produce(transactional_id=tid, acks=-1, timeout_ms=1000, batches=by_partition)
    response = ask(broker(*acls, profile=profile), request, version)
    return {p: found.error for p, found in response.partitions.items()}


def test_transactional_records_need_write_on_the_id_for_the_whole_request() -> None:
    both: dict[str, Any] = {"out_0": batch(True), "other_0": batch(False, -1)}
    assert produce(NO_ID, tid="t1", **both) == {"out-0": ID, "other-0": ID}
    assert produce(tid=None, **both) == {"out-0": ID, "other-0": ID}
    assert produce(NO_ID, NO_TOPIC, tid="t1", **both) == {"out-0": ID, "other-0": ID}


def test_plain_records_with_an_id_are_legal_even_without_a_right_on_it() -> None:
    assert produce(NO_ID, tid="t1", out_0=batch(False, -1)) == {"out-0": Error.NONE}


def test_a_topic_that_may_not_be_written_to_is_refused_and_the_others_are_written() -> None:
    found = produce(NO_TOPIC, tid=None, out_0=batch(False), out_1=batch(False), other_0=batch(False))
    assert found == {"out-0": TOPIC, "out-1": TOPIC, "other-0": Error.NONE}
    assert produce(NO_TOPIC, tid=None, out_0=batch(False)) == {"out-0": TOPIC}


def test_produce_asked_for_idempotence_up_to_2_7() -> None:
    assert produce(NO_IDEMPOTENCE, tid=None, out_0=batch(False)) == {"out-0": Error.NONE}
    old: dict[str, Any] = {"profile": "1.0", "version": 5}
    refused = {"out-0": Error.CLUSTER_AUTHORIZATION_FAILED}
    assert produce(NO_IDEMPOTENCE, tid=None, out_0=batch(False), **old) == refused
    assert produce(NO_IDEMPOTENCE, tid=None, out_0=batch(False, -1), **old) == {"out-0": Error.NONE}
    assert produce(NO_IDEMPOTENCE, tid="t1", out_0=batch(True), **old) == {"out-0": Error.NONE}


def add(*acls: Deny, partitions: tuple[str, ...], version: int = 3, tid: str = "t1") -> Any:
    request = AddPartitionsToTxn(transactional_id=tid, producer_id=15, producer_epoch=0, partitions=partitions)
    return ask(broker(*acls, txns=(ONGOING,)), request, version).errors


def test_partitions_are_added_all_or_none() -> None:
    none = Error.OPERATION_NOT_ATTEMPTED
    assert add(partitions=("out-0",)) == {"out-0": Error.NONE}
    assert add(NO_TOPIC, partitions=("out-0", "other-0")) == {"out-0": TOPIC, "other-0": none}
    found = add(NO_TOPIC, partitions=("out-0", "other-0", "nowhere-0"))
    assert found == {"out-0": TOPIC, "other-0": none, "nowhere-0": Error.UNKNOWN_TOPIC_OR_PARTITION}
    assert add(Deny("app", "WRITE", "Topic:nowhere"), partitions=("nowhere-0",)) == {"nowhere-0": TOPIC}
    assert add(partitions=("__consumer_offsets-1", "out-0")) == {"__consumer_offsets-1": TOPIC, "out-0": none}
    assert add(NO_ID, NO_TOPIC, partitions=("out-0", "other-0")) == {"out-0": ID, "other-0": ID}
    assert add(NO_ID, partitions=("out-0",), tid="t2") == {"out-0": Error.INVALID_PRODUCER_ID_MAPPING}


def test_only_brokers_may_add_partitions_for_others() -> None:
    refused = Deny("app", "CLUSTER_ACTION", "Cluster")
    request = AddPartitionsToTxn(transactional_id="t1", producer_id=15, producer_epoch=0, partitions=("out-0",))
    response = ask(broker(refused, txns=(ONGOING,)), request, 5)
    assert (response.error, response.errors) == (Error.CLUSTER_AUTHORIZATION_FAILED, {})
    assert add(NO_ID, NO_TOPIC, partitions=("out-0",), version=5) == {"out-0": Error.NONE}


@pytest.mark.parametrize(
    ("acls", "error"),
    [
        ((), Error.NONE),
        ((NO_ID, NO_GROUP), ID),
        ((NO_GROUP,), Error.GROUP_AUTHORIZATION_FAILED),
        ((Deny("app", "READ", "Group:other"),), Error.NONE),
    ],
)
def test_offsets_join_a_transaction_with_rights_on_the_id_and_the_group(acls: tuple[Deny, ...], error: Error) -> None:
    request = AddOffsetsToTxn(transactional_id="t1", producer_id=15, producer_epoch=0, group_id="g")
    assert ask(broker(*acls, txns=(ONGOING,)), request).error is error


@pytest.mark.parametrize(
    ("acls", "errors"),
    [
        ((), (Error.NONE, Error.NONE)),
        ((NO_ID, NO_GROUP, NO_READ), (ID, ID)),
        ((NO_GROUP, NO_READ), (Error.GROUP_AUTHORIZATION_FAILED,) * 2),
        ((NO_READ,), (TOPIC, Error.NONE)),
        ((Deny("app", "READ", "Topic:*"),), (TOPIC, TOPIC)),
        ((NO_TOPIC,), (Error.NONE, Error.NONE)),
    ],
)
def test_transactional_offsets_need_rights_on_the_id_the_group_and_the_topics(
    acls: tuple[Deny, ...], errors: tuple[Error, Error]
) -> None:
    offsets = {"out-0": 5, "other-0": 6}
    one = broker(*acls, profile="1.0", txns=(ONGOING,))
    request = TxnOffsetCommit(transactional_id="t1", group_id="g", producer_id=15, producer_epoch=0, offsets=offsets)
    assert ask(one, request, 2).errors == dict(zip(offsets, errors, strict=True))


@pytest.mark.parametrize("version", [4, 5])
def test_ending_needs_write_on_the_id(version: int) -> None:
    request = EndTxn(transactional_id="t1", producer_id=99, producer_epoch=0, committed=True)
    assert ask(broker(NO_ID, txns=(ONGOING,)), request, version).error is ID
    assert ask(broker(txns=(ONGOING,)), request, version).error is Error.INVALID_PRODUCER_ID_MAPPING


@pytest.mark.parametrize(
    ("acls", "key_type", "key", "error"),
    [
        ((), TRANSACTION, "t1", Error.NONE),
        ((), GROUP, "g", Error.NONE),
        ((), TRANSACTION, "", Error.NONE),
        ((), 2, "g", Error.INVALID_REQUEST),
        ((), -1, "g", Error.INVALID_REQUEST),
        ((Deny("app", "DESCRIBE", "TransactionalId:t1"),), TRANSACTION, "t1", ID),
        ((Deny("app", "DESCRIBE", "TransactionalId:t1"),), GROUP, "g", Error.NONE),
        ((Deny("app", "DESCRIBE", "TransactionalId:t1"),), TRANSACTION, "t2", Error.NONE),
        ((Deny("app", "DESCRIBE", "Group:g"),), GROUP, "g", Error.GROUP_AUTHORIZATION_FAILED),
        ((NO_ID,), TRANSACTION, "t1", Error.NONE),
        ((NO_GROUP,), GROUP, "g", Error.NONE),
    ],
)
def test_a_coordinator_is_found_by_who_may_describe(
    acls: tuple[Deny, ...], key_type: int, key: str, error: Error
) -> None:
    response = ask(broker(*acls), FindCoordinator(key=key, key_type=key_type))
    assert (response.error, response.node_id) == (error, "b1" if error is Error.NONE else "")


def test_a_denied_seeker_creates_no_topic_and_another_one_does() -> None:
    one = broker(Deny("app", "DESCRIBE", "TransactionalId:t1"))
    one.state.metadata = type(one.state.metadata)(1, ("b1",), {})
    assert ask(one, FindCoordinator(key="t1", key_type=TRANSACTION)).error is ID
    assert ask(one, FindCoordinator(key="t2", key_type=TRANSACTION)).error is Error.COORDINATOR_NOT_AVAILABLE


def test_markers_need_alter_or_cluster_action_on_the_cluster() -> None:
    marked = TxnMarkers(
        producer_id=15,
        producer_epoch=0,
        coordinator_epoch=0,
        committed=False,
        partitions=("out-0", "nowhere-0"),
        transaction_version=0,
    )
    request = WriteTxnMarkers(markers=(marked,))
    refused = broker(Deny("app", "ALL", "Cluster"))
    assert set(ask(refused, request).errors.values()) == {Error.CLUSTER_AUTHORIZATION_FAILED}
    assert refused.state.log("out-0").log_end_offset == 0
    assert ask(refused, request, sender="b2").markers[15]["out-0"] is Error.NONE
    one = broker(Deny("app", "CLUSTER_ACTION", "Cluster"))
    assert ask(one, request).markers[15]["out-0"] is Error.NONE


@pytest.mark.parametrize(
    ("denial", "concerned"),
    [
        (Deny("app", "WRITE", "Topic:out"), True),
        (Deny("*", "WRITE", "Topic:out"), True),
        (Deny("app", "ALL", "Topic:out"), True),
        (Deny("app", "WRITE", "Topic:o*"), True),
        (Deny("app", "WRITE", "Topic:*"), True),
        (Deny("other", "WRITE", "Topic:out"), False),
        (Deny("app", "READ", "Topic:out"), False),
        (Deny("app", "DESCRIBE", "Topic:out"), False),
        (Deny("app", "WRITE", "Topic:outer"), False),
        (Deny("app", "WRITE", "Topic:ou"), False),
        (Deny("app", "WRITE", "Group:out"), False),
        (Deny("app", "WRITE", "Cluster"), False),
    ],
)
def test_a_denial_is_about_its_principal_operation_and_resource(denial: Deny, concerned: bool) -> None:
    assert broker(denial).state.denies("app", "WRITE", "Topic", "out") is concerned
    assert not broker(denial).state.denies("b2", "WRITE", "Topic", "out")
    assert not broker().state.denies("app", "WRITE", "Topic", "out")


@pytest.mark.parametrize(
    "arguments",
    [
        ("b1", "WRITE", "Topic:out"),
        ("controller", "WRITE", "Topic:out"),
        ("", "WRITE", "Topic:out"),
        ("app", "write", "Topic:out"),
        ("app", "WRITE", "topic:out"),
        ("app", "WRITE", "Topic:"),
        ("app", "WRITE", "Topic"),
        ("app", "WRITE", "Cluster:kafkalab"),
        ("app", "WRITE", None),
    ],
)
def test_a_denial_that_makes_no_sense_is_an_error(arguments: tuple[Any, Any, Any]) -> None:
    with pytest.raises(ValueError, match=r"^no |^only a client"):
        Deny(*arguments)


def test_a_scenario_keeps_its_denials() -> None:
    scenario = Scenario(topics={"out": 1}, acls=(NO_ID, NO_IDEMPOTENCE))
    assert Scenario.from_json(scenario.to_json()) == scenario
    assert eval(repr(NO_ID)) == NO_ID
    row = scenario.to_json()
    row["acls"][0]["operation"] = "FLY"
    with pytest.raises(ValueError, match="no operation 'FLY'"):
        Scenario.from_json(row)
    with pytest.raises(ValueError, match="damaged"):
        Scenario.from_json({**scenario.to_json(), "acls": [{"who": "app"}]})


@pytest.mark.parametrize(
    "request_",
    [
        JoinGroup(group_id="g", member_id="", protocols={}),
        SyncGroup(group_id="g", member_id="m", generation_id=1),
        Heartbeat(group_id="g", member_id="m", generation_id=1),
        LeaveGroup(group_id="g", members=()),
    ],
)
def test_a_member_needs_read_on_its_group(request_: Any) -> None:
    assert ask(broker(NO_GROUP), request_).error is Error.GROUP_AUTHORIZATION_FAILED
