"""The admin client in a simulated cluster: every method, its answers, and the story of a hanging transaction."""

from __future__ import annotations

from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest

from kafkalab.client.admin.admin import hanging_among
from kafkalab.client.admin.descriptions import AbortTransactionSpec, HangingTransaction, TransactionDescription
from kafkalab.client.exceptions import (
    ClusterAuthorizationError,
    InvalidMetadataError,
    KafkaError,
    KafkaTimeoutError,
    ProducerFencedError,
    TopicAuthorizationError,
    TransactionalIdAuthorizationError,
    TransactionalIdNotFoundError,
    exception_for,
)
from kafkalab.faults.node import Crash, Restart
from kafkalab.protocol.acls import Deny
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.create_topics import NewTopic
from kafkalab.protocol.messages.describe_producers import ActiveProducer
from kafkalab.protocol.partitions import transaction_partition
from kafkalab.protocol.records import ControlType
from kafkalab.sim.app import App
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.scenario import Program, Scenario
from tests.conformance.scripted_port import error_of

DATA = Path(__file__).parents[3] / "data"
HANGING = ("hanging_transaction.klab", "hanging_transaction_tv2.klab")
SIXTEEN_MINUTES_MS = 16 * 60_000


def answer(step: Coroutine[Any, Any, Any]) -> Any:
    """Return what a coroutine returns that runs outside of any program: awaiting drives the cluster."""
    with pytest.raises(StopIteration) as end:
        step.send(None)
    return end.value.value


def start(*acls: Deny, **scenario: Any) -> Cluster:
    cluster = Cluster(Scenario(topics={"out": 2, "in": 1}, acls=acls, **scenario))
    return cluster


def failure(step: Coroutine[Any, Any, Any]) -> KafkaError:
    error = answer(error_of(step))
    assert isinstance(error, KafkaError)
    return error


@pytest.mark.parametrize("name", HANGING)
def test_a_hanging_transaction_is_found_and_aborted_and_the_last_stable_offset_moves(name: str) -> None:
    cluster = Cluster(Scenario.load(DATA / name))
    cluster.run()
    admin, log = cluster.client("admin").admin(), cluster.log_of("out-0")
    assert log.last_stable_offset == log.high_watermark - 1
    assert answer(admin.find_hanging_transactions()) == []  # it might still be a slow one
    cluster.run_for(SIXTEEN_MINUTES_MS)
    assert [t.transactional_id for t in answer(admin.list_transactions())] == ["payments-0"]
    (hanging,) = answer(admin.find_hanging_transactions(topic="out", partition=0))
    assert (hanging.partition, hanging.producer.current_txn_start_offset) == ("out-0", log.last_stable_offset)
    assert hanging.producer.producer_id == answer(admin.list_transactions())[0].producer_id
    answer(admin.abort_transaction(hanging.spec()))
    assert log.last_stable_offset == log.high_watermark == log.log_end_offset
    assert log.batches[-1].control is ControlType.ABORT
    assert answer(admin.find_hanging_transactions()) == []


async def left_open(app: App, count: int = 1) -> Any:
    """Open transactions in out-0 and out-1; the program ends without deciding them."""
    producer = app.producer(transactional_id="a", linger_ms=0, transaction_timeout_ms=900_000)
    await producer.init_transactions()
    producer.begin_transaction()
    for partition in (0, 1)[:count]:
        await (await producer.send("out", "x", partition=partition))
    return producer


def open_transactions(*acls: Deny, profile: str = "4.x/TV2", count: int = 1) -> Cluster:
    cluster = start(*acls, profile=profile)
    answer(left_open(cluster.client("app"), count))
    return cluster


def test_an_open_transaction_that_its_coordinator_knows_does_not_hang() -> None:
    cluster = open_transactions()
    cluster.run_for(100_000)
    admin = cluster.client("admin").admin()
    assert answer(admin.find_hanging_transactions(max_transaction_timeout_ms=1)) == []


def test_transactions_are_listed_with_their_coordinator_and_described() -> None:
    cluster = open_transactions(count=2)
    admin = cluster.client("admin").admin()
    (listing,) = answer(admin.list_transactions())
    leader = cluster.controller.metadata.leader(transaction_partition("a"))
    assert (listing.transactional_id, listing.coordinator, listing.state) == ("a", leader, "Ongoing")
    found = answer(admin.describe_transactions(["a"]))["a"]
    assert (found.coordinator, found.state, found.partitions) == (leader, "Ongoing", ("out-0", "out-1"))
    assert (found.producer_id, found.producer_epoch) == (listing.producer_id, 0)
    assert found.transaction_start_time_ms is not None
    assert found.transaction_timeout_ms == 900_000
    assert answer(admin.list_transactions(states=["Empty"])) == []
    assert len(answer(admin.list_transactions(producer_ids=[listing.producer_id], duration_ms=0))) == 1
    assert len(answer(admin.list_transactions(transactional_id_pattern="[a-c]"))) == 1
    assert failure(admin.list_transactions(transactional_id_pattern="[")).error.name == "INVALID_REGULAR_EXPRESSION"
    assert isinstance(failure(admin.describe_transactions(["b"])), TransactionalIdNotFoundError)
    assert failure(admin.describe_transactions([""])).error.name == "INVALID_REQUEST"


def test_producers_are_described_by_the_leader_or_by_a_chosen_replica() -> None:
    cluster = open_transactions()
    cluster.run_for(100)
    admin = cluster.client("admin").admin()
    info = cluster.controller.metadata.partitions["out-0"]
    by_leader = answer(admin.describe_producers(["out-0"]))["out-0"]
    assert [p.current_txn_start_offset for p in by_leader] == [0]
    for replica in info.replicas:
        assert answer(admin.describe_producers(["out-0"], replica))["out-0"] == by_leader
    refused = start(Deny("admin", "READ", "Topic:out")).client("admin").admin()
    assert isinstance(failure(refused.describe_producers(["out-0"])), TopicAuthorizationError)
    assert isinstance(failure(admin.describe_producers(["nowhere-0"])), KafkaTimeoutError)


@pytest.mark.parametrize("profile", ["4.x/TV1", "4.x/TV2"])
def test_fencing_takes_the_id_away_and_aborts_what_was_open(profile: str) -> None:
    cluster = start(profile=profile)
    producer = answer(left_open(cluster.client("app")))
    fenced = answer(cluster.client("admin").admin().fence_producers(["a", "new"]))
    assert (fenced["a"].epoch, fenced["new"].epoch) == (2, 0)
    cluster.run()
    assert cluster.log_of("out-0").batches[-1].control is ControlType.ABORT
    told = failure(producer.commit_transaction())
    assert isinstance(told, ProducerFencedError)


def test_who_may_not_write_under_an_id_may_not_fence_it() -> None:
    admin = start(Deny("admin", "WRITE", "TransactionalId:a")).client("admin").admin()
    assert isinstance(failure(admin.fence_producers(["a"])), TransactionalIdAuthorizationError)
    assert answer(admin.fence_producers(["b"]))["b"].epoch == 0


@pytest.mark.parametrize(
    ("epoch", "coordinator_epoch", "error"),
    [(0, 0, None), (0, -1, None), (1, 0, None), (-1, 0, type(exception_for(Error.UNKNOWN_SERVER_ERROR)))],
)
def test_an_abort_by_hand_needs_an_epoch_that_is_not_older(epoch: int, coordinator_epoch: int, error: Any) -> None:
    cluster = open_transactions()
    admin = cluster.client("admin").admin()
    (state,) = answer(admin.describe_producers(["out-0"]))["out-0"]
    told = answer(
        error_of(admin.abort_transaction(AbortTransactionSpec("out-0", state.producer_id, epoch, coordinator_epoch)))
    )
    assert type(told) is (error or type(None))
    log = cluster.log_of("out-0")
    assert (log.last_stable_offset == log.high_watermark) == (error is None)


def test_an_abort_by_hand_under_an_older_coordinator_epoch_is_fenced() -> None:
    cluster = open_transactions()
    admin = cluster.client("admin").admin()
    (state,) = answer(admin.describe_producers(["out-0"]))["out-0"]
    answer(admin.abort_transaction(AbortTransactionSpec("out-0", state.producer_id, 0, 5)))
    told = failure(admin.abort_transaction(AbortTransactionSpec("out-0", state.producer_id, 0, 4)))
    assert told.error.name == "TRANSACTION_COORDINATOR_FENCED"


def test_an_abort_by_hand_needs_alter_or_cluster_action_on_the_cluster() -> None:
    spec = AbortTransactionSpec("out-0", 1, 0, 0)
    one = (Deny("admin", "ALTER", "Cluster"),)
    answer(start(*one).client("admin").admin().abort_transaction(spec))
    both = (*one, Deny("admin", "CLUSTER_ACTION", "Cluster"))
    told = failure(start(*both).client("admin").admin().abort_transaction(spec))
    assert isinstance(told, ClusterAuthorizationError)


def test_an_abort_by_hand_finds_the_new_leader() -> None:
    cluster = open_transactions()
    admin = cluster.client("admin").admin()
    (state,) = answer(admin.describe_producers(["out-0"]))["out-0"]
    leader = cluster.controller.metadata.leader("out-0")
    cluster.plan(Crash(leader, at_ms=cluster.now + 10))
    cluster.plan(Restart(leader, at_ms=cluster.now + 60_000))
    cluster.run_for(100)
    answer(admin.abort_transaction(AbortTransactionSpec("out-0", state.producer_id, 0, 0)))
    log = cluster.log_of("out-0")
    assert log.last_stable_offset == log.high_watermark == 2


def test_the_cluster_is_described() -> None:
    found = answer(start(Deny("admin", "ALL", "Cluster")).client("admin").admin().describe_cluster())
    assert (found.controller, found.nodes) == ("controller", ("b1", "b2", "b3"))


def test_topics_are_created_and_can_be_written_to() -> None:
    cluster = start()
    admin = cluster.client("admin").admin()
    new = NewTopic(name="new", num_partitions=2, replication_factor=2)
    answer(admin.create_topics([new], validate_only=True))
    assert not cluster.controller.metadata.has_topic("new")
    answer(admin.create_topics([new, NewTopic(name="small")]))
    image = cluster.controller.metadata
    assert (image.partitions_of("new"), image.partitions_of("small")) == (["new-0", "new-1"], ["small-0"])
    assert {len(image.partitions[p].replicas) for p in ("new-0", "new-1")} == {2}
    assert len(image.partitions["small-0"].replicas) == 3

    async def write(app: App) -> int:
        found = await (await app.producer().send("new", "x", partition=1))
        return int(found.offset)

    assert answer(write(cluster.client("app"))) == 0


@pytest.mark.parametrize(
    ("topic", "error"),
    [
        (NewTopic(name="out"), "TOPIC_ALREADY_EXISTS"),
        (NewTopic(name="__consumer_offsets"), "TOPIC_ALREADY_EXISTS"),
        (NewTopic(name=""), "INVALID_TOPIC_EXCEPTION"),
        (NewTopic(name="."), "INVALID_TOPIC_EXCEPTION"),
        (NewTopic(name=".."), "INVALID_TOPIC_EXCEPTION"),
        (NewTopic(name="a b"), "INVALID_TOPIC_EXCEPTION"),
        (NewTopic(name="a" * 250), "INVALID_TOPIC_EXCEPTION"),
        (NewTopic(name="a" * 249), ""),
        (NewTopic(name="new", num_partitions=0), "INVALID_PARTITIONS"),
        (NewTopic(name="new", num_partitions=-2), "INVALID_PARTITIONS"),
        (NewTopic(name="new", replication_factor=0), "INVALID_REPLICATION_FACTOR"),
        (NewTopic(name="new", replication_factor=-2), "INVALID_REPLICATION_FACTOR"),
        (NewTopic(name="new", num_partitions=0, replication_factor=0), "INVALID_REPLICATION_FACTOR"),
        (NewTopic(name="new", replication_factor=4), "INVALID_REPLICATION_FACTOR"),
        (NewTopic(name="new", replication_factor=3), ""),
        (NewTopic(name="__cluster_metadata"), "INVALID_REQUEST"),
    ],
)
def test_a_topic_that_cannot_be_is_refused(topic: NewTopic, error: str) -> None:
    told = answer(error_of(start().client("admin").admin().create_topics([topic])))
    assert (told.error.name if told else "") == error


def test_names_that_differ_in_dots_only_collide_and_a_name_given_twice_is_no_request() -> None:
    admin = start().client("admin").admin()
    answer(admin.create_topics([NewTopic(name="a.b")]))
    assert failure(admin.create_topics([NewTopic(name="a_b")])).error.name == "INVALID_TOPIC_EXCEPTION"
    twice = failure(admin.create_topics([NewTopic(name="c"), NewTopic(name="c")]))
    assert twice.error.name == "INVALID_REQUEST"


def test_creating_needs_the_right_on_the_cluster_or_on_the_topic() -> None:
    topic_only = Deny("admin", "CREATE", "Topic:secret1")
    answer(start(topic_only).client("admin").admin().create_topics([NewTopic(name="secret1")]))
    cluster_only = Deny("admin", "CREATE", "Cluster")
    both = (cluster_only, Deny("admin", "CREATE", "Topic:secret*"))
    answer(start(cluster_only).client("admin").admin().create_topics([NewTopic(name="secret1")]))
    cluster = start(*both)
    told = failure(cluster.client("admin").admin().create_topics([NewTopic(name="secret1"), NewTopic(name="plain")]))
    assert isinstance(told, TopicAuthorizationError)
    assert told.topics == ("secret1",)
    assert cluster.controller.metadata.has_topic("plain")
    assert not cluster.controller.metadata.has_topic("secret1")


def test_a_search_in_a_topic_that_is_not_there_says_so() -> None:
    admin = start().client("admin").admin()
    assert isinstance(failure(admin.find_hanging_transactions(topic="nowhere")), InvalidMetadataError)
    assert isinstance(failure(admin.find_hanging_transactions(topic="out", partition=7)), InvalidMetadataError)


def test_a_program_can_be_an_administrator() -> None:
    async def ask(app: App) -> list[str]:
        await app.admin().create_topics([NewTopic(name="late")])
        return [t.transactional_id for t in await app.admin().list_transactions()]

    cluster = start(programs=(Program("ops", ask),))
    cluster.run()
    assert cluster.results["ops"] == []
    assert cluster.controller.metadata.has_topic("late")


OPEN = HangingTransaction("out-0", ActiveProducer(
    producer_id=7, producer_epoch=2, last_sequence=3, last_timestamp_ms=4, coordinator_epoch=-1,
    current_txn_start_offset=5,
), 9)  # fmt: skip


def describe(*partitions: str) -> TransactionDescription:
    return TransactionDescription("b1", "Ongoing", 7, 2, 60_000, 1, partitions)


@pytest.mark.parametrize(
    ("ids", "descriptions", "hangs"),
    [
        ({}, {}, True),
        ({8: "a"}, {"a": describe("out-0")}, True),
        ({7: "a"}, {"a": None}, True),
        ({7: "a"}, {"a": describe()}, True),
        ({7: "a"}, {"a": describe("out-1")}, True),
        ({7: "a"}, {"a": describe("out-0", "out-1")}, False),
    ],
)
def test_a_transaction_hangs_if_no_coordinator_has_its_partition_on_the_list(
    ids: dict[int, str], descriptions: dict[str, TransactionDescription | None], hangs: bool
) -> None:
    assert hanging_among([OPEN], ids, descriptions) == ([OPEN] if hangs else [])


def test_a_hanging_transaction_before_the_first_marker_is_aborted_under_coordinator_epoch_0() -> None:
    assert OPEN.spec() == AbortTransactionSpec("out-0", 7, 2, 0)
