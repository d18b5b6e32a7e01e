"""FindCoordinator: who is told, and when nobody can be (docs/protocol.md#partition-of-an-id)."""

from __future__ import annotations

import pytest

from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.create_topics import CreateTopics, NewTopic
from kafkalab.protocol.messages.find_coordinator import GROUP, TRANSACTION, FindCoordinator
from kafkalab.protocol.partitions import offsets_partition, transaction_partition
from tests.conformance.one_broker import OneBroker

OWNER = {GROUP: offsets_partition, TRANSACTION: transaction_partition}
TOPIC = {GROUP: "__consumer_offsets", TRANSACTION: "__transaction_state"}


def world(*, led_by: str = "b2") -> OneBroker:
    return OneBroker(leaders={f"{topic}-{i}": led_by for topic in TOPIC.values() for i in range(50)})


def find(here: OneBroker, key: str, key_type: int) -> tuple[Error, str, str]:
    response = here.ask(FindCoordinator(key=key, key_type=key_type)).response
    return response.error, response.node_id, response.partition


@pytest.mark.parametrize("key_type", [GROUP, TRANSACTION])
@pytest.mark.parametrize(
    ("key", "number"), [("my-txn", 45), ("my-group", 12), ("kafka-txn-0", 30), ("polygenelubricants", 0), ("", 0)]
)
def test_the_leader_of_the_partition_that_owns_the_key_is_named(key: str, number: int, key_type: int) -> None:
    assert find(world(), key, key_type) == (Error.NONE, "b2", f"{TOPIC[key_type]}-{number}")


@pytest.mark.parametrize("key_type", [GROUP, TRANSACTION])
def test_any_broker_is_asked_and_names_itself_too(key_type: int) -> None:
    assert find(world(led_by="b1"), "a", key_type)[:2] == (Error.NONE, "b1")


@pytest.mark.parametrize("key_type", [GROUP, TRANSACTION])
def test_without_the_topic_it_is_created_and_the_client_comes_back(key_type: int) -> None:
    here = world()
    here.image({}, gone=tuple(f"{TOPIC[key_type]}-{i}" for i in range(50)))
    assert find(here, "a", key_type) == (Error.COORDINATOR_NOT_AVAILABLE, "", "")
    (sent,) = here.take(CreateTopics)
    wanted = CreateTopics(topics=(NewTopic(name=TOPIC[key_type], num_partitions=50),))
    assert (sent.to, sent.body) == ("controller", wanted)


@pytest.mark.parametrize("key_type", [GROUP, TRANSACTION])
def test_without_a_live_leader_there_is_no_coordinator(key_type: int) -> None:
    leaderless = world()
    leaderless.image({OWNER[key_type]("a"): ""}, 1)
    assert find(leaderless, "a", key_type) == (Error.COORDINATOR_NOT_AVAILABLE, "", "")
    dead = world()
    dead.image({}, alive=("b1", "b3"))
    assert find(dead, "a", key_type) == (Error.COORDINATOR_NOT_AVAILABLE, "", "")
    assert dead.take(CreateTopics) == []


@pytest.mark.parametrize("key_type", [-1, 2, 3])
def test_other_kinds_of_key_have_no_coordinator_here(key_type: int) -> None:
    assert find(world(), "a", key_type) == (Error.INVALID_REQUEST, "", "")
