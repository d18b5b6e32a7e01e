"""The controller: placement, fencing, elections, AlterPartition, registration, images (`ReplicationControlManager`)."""

from __future__ import annotations

import pytest

from kafkalab.broker.controller import Controller
from kafkalab.protocol.cluster_metadata import ClusterMetadata, PartitionInfo
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.allocate_producer_ids import AllocateProducerIds, AllocateProducerIdsResponse
from kafkalab.protocol.messages.alter_partition import AlterPartition, AlterPartitionResponse
from kafkalab.protocol.messages.broker_registration import BrokerRegistration, BrokerRegistrationResponse
from kafkalab.protocol.messages.create_topics import CreateTopics, NewTopic
from kafkalab.protocol.messages.update_metadata import UpdateMetadata, UpdateMetadataResponse
from kafkalab.protocol.partitions import TRANSACTION_TOPIC
from kafkalab.protocol.rules import CLEAN_ELECTION
from tests.broker.replica_world import BROKERS, ReplicaWorld, Sent, info

TXN = f"{TRANSACTION_TOPIC}-0"


def cluster(off: tuple[str, ...] = (), **partitions: PartitionInfo) -> tuple[ReplicaWorld, Controller]:
    """A controller of three live brokers, which are names, and its partitions."""
    w = ReplicaWorld(real=(), off=off, controller=True)
    assert w.controller is not None
    placed = {name.replace("_", "-"): value for name, value in partitions.items()}
    w.controller.metadata = w.controller.metadata.with_partitions(placed, BROKERS)
    return w, w.controller


def ask(w: ReplicaWorld, sender: str, body: object) -> object:
    sent = Sent(sender, "controller", body, lambda response, cause: None, False, 0)
    w.deliver(sent)
    assert sent.response_cause == 5
    return sent.response


def list_told(w: ReplicaWorld) -> list[tuple[str, int]]:
    """Return which brokers are being told, and of which version."""
    return [(s.to, s.body.metadata.version) for s in w.waiting(UpdateMetadata)]


# placement


def test_partitions_begin_at_a_broker_that_the_name_chooses_and_go_round() -> None:
    _, c = cluster()
    start = ord("t") % 3
    found = c.place("t", 4)
    assert list(found) == ["t-0", "t-1", "t-2", "t-3"]
    assert [i.leader for i in found.values()] == [BROKERS[(start + n) % 3] for n in (0, 1, 2, 0)]
    first = found["t-0"]
    assert first.replicas == first.isr == tuple(BROKERS[(start + n) % 3] for n in range(3))
    assert first.leader_epoch == 0
    assert c.place("t", 1, 2)["t-0"].replicas == first.replicas[:2]
    assert c.place("ab", 1)["ab-0"].leader == BROKERS[(ord("a") + ord("b")) % 3]


def test_only_live_brokers_are_in_sync_and_lead() -> None:
    _w, c = cluster()
    dead = BROKERS[ord("t") % 3]
    c.fence_broker(dead, 1)
    found = c.place("t", 1)["t-0"]
    assert found.replicas[0] == dead
    assert dead not in found.isr
    assert found.leader == found.isr[0]
    for name in BROKERS:
        c.fence_broker(name, 1)
    assert c.place("t", 1)["t-0"].leader == ""


@pytest.mark.parametrize(("brokers", "copies"), [(("b1",), 1), (("b1", "b2"), 2), (("b1", "b2", "b3", "b4"), 3)])
def test_three_replicas_or_as_many_as_there_are_brokers(brokers: tuple[str, ...], copies: int) -> None:
    w = ReplicaWorld(real=(), controller=True, brokers=brokers)
    assert w.controller is not None
    assert len(w.controller.place("t", 1)["t-0"].replicas) == copies
    assert (w.controller.metadata.version, w.controller.metadata.alive) == (0, brokers)
    assert w.controller.name == "controller"


def test_a_controller_without_rules_elects_cleanly() -> None:
    w = ReplicaWorld(real=())
    c = Controller(BROKERS, w)
    c.metadata = c.metadata.with_partitions({"t-0": info("b1", 0, ("b1",))}, BROKERS)
    assert not c.can_lead("t-0", "b2")


# a broker is lost


def test_a_lost_broker_is_fenced_and_the_next_in_sync_replica_leads() -> None:
    w, c = cluster(t_0=info("b1", 3), u_0=info("b2", 1), v_0=info("b2", 1, ("b2", "b3")), w_0=info("b1", 2, ("b1",)))
    c.fence_broker("b1", 8)
    found = c.metadata.partitions
    assert found["t-0"] == info("b2", 4, ("b2", "b3"))
    assert found["u-0"] == info("b2", 1, ("b2", "b3")), "a follower's loss is no election"
    assert found["v-0"] == info("b2", 1, ("b2", "b3"))
    assert found["w-0"] == info("", 3, ("b1",)), "the last one in sync stays in the set, and nobody leads"
    assert (c.metadata.alive, c.metadata.version) == (("b2", "b3"), 2)
    assert list_told(w) == [("b2", 2), ("b3", 2)]
    (note,) = w.find_notes("metadata")
    assert (note.node, note.cause) == ("controller", 8)
    assert note.data == {
        "version": 2,
        "alive": ("b2", "b3"),
        "leaders": {"t-0": "b2", "u-0": "b2", "w-0": ""},
        "leader_epochs": {"t-0": 4, "u-0": 1, "w-0": 3},
    }
    assert {s.cause for s in w.waiting(UpdateMetadata)} == {0}, "the note's step"
    assert all((s.sender, s.background) == ("controller", False) for s in w.waiting(UpdateMetadata))


def test_a_broker_is_lost_once() -> None:
    _w, c = cluster(t_0=info("b1"))
    c.fence_broker("b1", 8)
    c.fence_broker("b1", 8)
    assert c.metadata.version == 2


def test_an_in_sync_replica_that_is_not_alive_is_not_elected() -> None:
    _, c = cluster(t_0=info("b1", 0, ("b1", "b2")), u_0=info("b1"))
    c.metadata = c.metadata.with_partitions({}, ("b1", "b3"))
    c.fence_broker("b1", 8)
    assert c.metadata.partitions["t-0"] == info("", 1, ("b2",))
    assert c.metadata.partitions["u-0"] == info("b3", 1, ("b2", "b3"))


@pytest.mark.parametrize(
    ("off", "partition", "leader", "isr"),
    [
        ((), "t-0", "", ("b1",)),
        ((CLEAN_ELECTION.name,), "t-0", "b2", ("b2",)),
        ((CLEAN_ELECTION.name,), TXN, "", ("b1",)),
    ],
)
def test_an_unclean_election_is_allowed_by_the_setting_and_never_for_transactions(
    off: tuple[str, ...], partition: str, leader: str, isr: tuple[str, ...]
) -> None:
    _, c = cluster(off)
    c.metadata = c.metadata.with_partitions({partition: info("b1", 4, ("b1",))}, BROKERS)
    assert c.can_lead(partition, "b2") == bool(leader)
    c.fence_broker("b1", 8)
    assert c.metadata.partitions[partition] == info(leader, 5, isr)


def test_a_clean_election_comes_before_an_unclean_one() -> None:
    _, c = cluster((CLEAN_ELECTION.name,), t_0=info("b1", 0, ("b1", "b3")))
    c.fence_broker("b1", 8)
    assert c.metadata.partitions["t-0"] == info("b3", 1, ("b3",))


def test_with_no_live_replica_nobody_leads_whatever_the_setting() -> None:
    _, c = cluster((CLEAN_ELECTION.name,), t_0=info("b1", 0, ("b1",), ("b1", "b2")))
    c.metadata = c.metadata.with_partitions({}, ("b1", "b3"))
    c.fence_broker("b1", 8)
    assert c.metadata.partitions["t-0"] == info("", 1, ("b1",), ("b1", "b2"))


# elections by hand


@pytest.mark.parametrize(
    ("partition", "broker", "unclean", "may"),
    [
        ("t-0", "b2", False, True),
        ("t-0", "b1", False, False),
        ("t-0", "b1", True, False),
        ("t-0", "b3", False, False),
        ("t-0", "b3", True, True),
        ("t-0", "b4", True, False),
        ("u-0", "b3", True, False),
        ("gone-0", "b2", True, False),
    ],
)
def test_who_can_be_elected(partition: str, broker: str, unclean: bool, may: bool) -> None:
    _, c = cluster(t_0=info("b1", 0, ("b1", "b2")), u_0=info("b1", replicas=("b1", "b2")))
    assert c.can_lead(partition, broker, unclean) is may


def test_a_fenced_broker_cannot_be_elected() -> None:
    _, c = cluster(t_0=info("b1"))
    c.metadata = c.metadata.with_partitions({}, ("b1", "b3"))
    assert not c.can_lead("t-0", "b2", unclean=True)
    assert c.can_lead("t-0", "b3")
    assert not c.can_lead("t-0", "b1")


def test_elections_are_clean_unless_said_otherwise() -> None:
    _, c = cluster(t_0=info("b1", 0, ("b1", "b2")))
    assert not c.can_lead("t-0", "b3")


def test_an_elected_replica_leads_under_the_next_epoch() -> None:
    w, c = cluster(t_0=info("b1", 2, ("b1", "b2")))
    c.elect("t-0", "b2", 9)
    assert c.metadata.partitions["t-0"] == info("b2", 3, ("b1", "b2"))
    c.elect("t-0", "b3", 9)
    assert c.metadata.partitions["t-0"] == info("b3", 4, ("b3",)), "it was not in sync: it alone is now"
    assert list_told(w)[:3] == [("b1", 2), ("b2", 2), ("b3", 2)]
    assert c.metadata.alive == BROKERS
    assert [n.cause for n in w.find_notes("metadata")] == [9, 9]


# AlterPartition


@pytest.mark.parametrize(
    ("sender", "partition", "epoch", "error"),
    [
        ("b1", "t-0", 2, Error.NONE),
        ("b2", "t-0", 2, Error.FENCED_LEADER_EPOCH),
        ("b1", "t-0", 1, Error.FENCED_LEADER_EPOCH),
        ("b1", "t-0", 3, Error.FENCED_LEADER_EPOCH),
        ("b1", "gone-0", 2, Error.UNKNOWN_TOPIC_OR_PARTITION),
    ],
)
def test_only_the_leader_of_this_epoch_changes_the_in_sync_set(
    sender: str, partition: str, epoch: int, error: Error
) -> None:
    w, c = cluster(t_0=info("b1", 2))
    change = AlterPartition(partition=partition, leader_epoch=epoch, isr=("b1", "b3"))
    assert ask(w, sender, change) == AlterPartitionResponse(error=error)
    changed = error is Error.NONE
    assert c.metadata.partitions["t-0"] == info("b1", 2, ("b1", "b3") if changed else BROKERS)
    assert c.metadata.version == (2 if changed else 1)
    assert len(list_told(w)) == (3 if changed else 0)
    assert [n.cause for n in w.find_notes("metadata")] == ([5] if changed else [])


def test_a_fenced_broker_does_not_come_back_into_the_in_sync_set() -> None:
    w, c = cluster(t_0=info("b1", 2, ("b1",)))
    c.fence_broker("b3", 1)
    ask(w, "b1", AlterPartition(partition="t-0", leader_epoch=2, isr=BROKERS))
    assert c.metadata.partitions["t-0"].isr == ("b1", "b2")


def test_a_change_that_changes_nothing_makes_no_new_image() -> None:
    w, c = cluster(t_0=info("b1", 2))
    assert ask(w, "b1", AlterPartition(partition="t-0", leader_epoch=2, isr=BROKERS)) == AlterPartitionResponse()
    assert (c.metadata.version, list_told(w)) == (1, [])


# registration


def test_a_broker_that_comes_back_is_fenced_first_and_then_alive() -> None:
    w, c = cluster(t_0=info("b1", 2))
    c.awaited["b1"] = True
    assert ask(w, "b1", BrokerRegistration(broker="b1")) == BrokerRegistrationResponse()
    assert c.metadata.partitions["t-0"] == info("b2", 3, ("b2", "b3")), "its old session is over"
    assert (c.metadata.alive, c.metadata.version) == (BROKERS, 3)
    assert list_told(w) == [("b2", 2), ("b3", 2), ("b1", 3), ("b2", 3), ("b3", 3)]
    assert [n.cause for n in w.find_notes("metadata")] == [5, 5]


def test_a_broker_that_asks_again_because_the_answer_was_lost_changes_nothing() -> None:
    w, c = cluster(t_0=info("b1", 2))
    c.awaited["b1"] = True
    ask(w, "b1", BrokerRegistration(broker="b1"))
    before, c.metadata = c.metadata, c.metadata.with_partitions({"t-0": info("b1", 4)}, BROKERS)
    assert ask(w, "b1", BrokerRegistration(broker="b1")) == BrokerRegistrationResponse()
    assert (c.metadata.partitions["t-0"], c.metadata.version) == (info("b1", 4), before.version + 1)


def test_a_broker_that_has_started_again_is_told_nothing_before_it_asks_to_be_let_in() -> None:
    w, c = cluster(t_0=info("b1", 2))
    c.elect("t-0", "b2", 5)
    w.answer(w.take(UpdateMetadata, to="b1"), None)
    c.awaited["b1"] = True
    w.run_for(1_000)
    c.tell_if_alive("b1", 5)
    assert [to for to, _ in list_told(w)] == ["b2", "b3"]
    ask(w, "b1", BrokerRegistration(broker="b1"))
    assert list_told(w)[-3:] == [("b1", 4), ("b2", 4), ("b3", 4)]


def test_the_last_in_sync_replica_leads_again_when_it_is_back() -> None:
    w, c = cluster(t_0=info("", 3, ("b1",)), u_0=info("", 3, ("b2",)), v_0=info("b2", 1))
    c.metadata = c.metadata.with_partitions({}, ("b3",))
    ask(w, "b1", BrokerRegistration(broker="b1"))
    assert c.metadata.partitions["t-0"] == info("b1", 4, ("b1",))
    assert c.metadata.partitions["u-0"] == info("", 3, ("b2",))
    assert c.metadata.partitions["v-0"] == info("b2", 1)
    assert c.metadata.alive == ("b1", "b3")


@pytest.mark.parametrize(
    ("partition", "replicas", "leader"), [("t-0", BROKERS, "b1"), ("t-0", ("b2", "b3"), ""), (TXN, BROKERS, "")]
)
def test_where_unclean_elections_are_allowed_any_replica_that_comes_back_leads(
    partition: str, replicas: tuple[str, ...], leader: str
) -> None:
    w, c = cluster((CLEAN_ELECTION.name,))
    c.metadata = c.metadata.with_partitions({partition: info("", 3, ("b2",), replicas)}, ("b3",))
    ask(w, "b1", BrokerRegistration(broker="b1"))
    after = c.metadata.partitions[partition]
    assert after == (info("b1", 4, ("b1",), replicas) if leader else info("", 3, ("b2",), replicas))


# producer ids and topics


def test_blocks_of_producer_ids_follow_each_other() -> None:
    w, _c = cluster()
    blocks = [ask(w, "b1", AllocateProducerIds()) for _ in range(2)]
    assert blocks == [
        AllocateProducerIdsResponse(producer_id_start=0, producer_id_len=1000),
        AllocateProducerIdsResponse(producer_id_start=1000, producer_id_len=1000),
    ]


def test_topics_are_made_once_and_with_what_was_asked_for() -> None:
    w, c = cluster()
    one, two = NewTopic(name="a"), NewTopic(name="b", num_partitions=2, replication_factor=2)
    bad = NewTopic(name="c", replication_factor=9)
    response = ask(w, "b1", CreateTopics(topics=(one, two, bad, one)))
    assert response.errors["b"] is Error.NONE  # type: ignore[attr-defined]
    assert response.errors["c"] is Error.INVALID_REPLICATION_FACTOR  # type: ignore[attr-defined]
    assert list(c.metadata.partitions) == ["a-0", "b-0", "b-1"]
    assert len(c.metadata.partitions["b-0"].replicas) == 2
    assert c.metadata.version == 2
    assert c.metadata.alive == BROKERS
    again = ask(w, "b1", CreateTopics(topics=(one,)))
    assert again.errors == {"a": Error.TOPIC_ALREADY_EXISTS}  # type: ignore[attr-defined]
    assert c.metadata.version == 2
    assert [n.cause for n in w.find_notes("metadata")] == [5]


def test_a_topic_that_is_only_validated_is_not_made() -> None:
    w, c = cluster()
    response = ask(w, "b1", CreateTopics(topics=(NewTopic(name="a"),), validate_only=True))
    assert response.errors == {"a": Error.NONE}  # type: ignore[attr-defined]
    assert c.metadata.partitions == {}


@pytest.mark.parametrize("factor", [-1, 1, 3])
def test_without_a_live_broker_no_topic_is_made(factor: int) -> None:
    w, c = cluster()
    for name in BROKERS:
        c.fence_broker(name, 1)
    response = ask(w, "b1", CreateTopics(topics=(NewTopic(name="a", replication_factor=factor),)))
    assert response.errors["a"] is Error.INVALID_REPLICATION_FACTOR  # type: ignore[attr-defined]
    assert c.metadata.partitions == {}


def test_what_is_not_for_the_controller_is_refused() -> None:
    w, _ = cluster()
    with pytest.raises(AssertionError, match="UpdateMetadata is not for the controller"):
        ask(w, "b1", UpdateMetadata(metadata=w.image))


# images


def test_an_image_without_an_answer_is_sent_again_after_100_ms() -> None:
    w, c = cluster(t_0=info("b1"))
    c.elect("t-0", "b2", 9)
    first, second, _ = w.waiting(UpdateMetadata)
    w.answer(first, None)
    w.answer(second, UpdateMetadataResponse())
    assert w.timers == [("controller", 100, False)]
    w.run_for(100)
    sent = w.waiting(UpdateMetadata)[-1]
    assert (sent.to, sent.body.metadata, sent.cause) == ("b1", c.metadata, 6)
    assert len(w.waiting(UpdateMetadata)) == 2


def test_an_older_image_or_one_for_a_fenced_broker_is_not_sent_again() -> None:
    w, c = cluster(t_0=info("b1"))
    c.elect("t-0", "b2", 9)
    old = w.waiting(UpdateMetadata)
    c.fence_broker("b3", 9)
    w.answer(old[0], None)
    assert w.timers == []
    c.tell_if_alive("b3", 4)
    assert w.waiting(UpdateMetadata, to="b3") == [old[2]]
    c.tell_if_alive("b1", 4)
    sent = w.waiting(UpdateMetadata, to="b1")[-1]
    assert (sent.body.metadata, sent.cause) == (c.metadata, 4)


# replicas of partitions without records


def test_live_replicas_of_a_leaders_empty_partitions_are_in_sync_in_the_same_image() -> None:
    alone = ("b1",)
    w, c = cluster(t_0=info("b1", 3, alone), u_0=info("b2", 1, ("b2",)), v_0=info("b1", 1, alone))
    version = c.metadata.version
    c.tell_if_alive("b1", 4)
    w.answer(w.take(UpdateMetadata), UpdateMetadataResponse(empty=("t-0", "u-0")))
    found = c.metadata.partitions
    assert (found["t-0"], found["u-0"], found["v-0"]) == (info("b1", 3), info("b2", 1, ("b2",)), info("b1", 1, alone))
    assert (c.metadata.version, list_told(w)) == (version, [])


def test_a_partition_that_has_changed_since_the_image_stays_as_it_is() -> None:
    w, c = cluster(t_0=info("b1", 3, ("b1",)))
    c.tell_if_alive("b1", 4)
    c.metadata = c.metadata.with_partitions({"t-0": info("b1", 3, ("b1", "b2"))}, BROKERS)
    w.answer(w.take(UpdateMetadata), UpdateMetadataResponse(empty=("t-0",)))
    assert c.metadata.partitions["t-0"] == info("b1", 3, ("b1", "b2"))


def test_only_an_answer_to_an_image_with_the_broker_that_is_back_takes_it_into_the_in_sync_set() -> None:
    w, c = cluster(t_0=info("b1", 3, ("b1", "b2")))
    c.metadata = c.metadata.with_partitions({}, ("b1", "b2"))
    c.tell_if_alive("b1", 4)
    before = w.take(UpdateMetadata)
    ask(w, "b3", BrokerRegistration(broker="b3"))
    w.answer(before, UpdateMetadataResponse(empty=("t-0",)))
    assert c.metadata.partitions["t-0"] == info("b1", 3, ("b1", "b2"))
    w.answer(w.take(UpdateMetadata, to="b1"), UpdateMetadataResponse(empty=("t-0",)))
    assert c.metadata.partitions["t-0"] == info("b1", 3)


# a whole cluster comes back


@pytest.mark.parametrize(("kept", "version"), [(8, 9), (0, 3)])
def test_after_a_whole_cluster_was_down_the_first_in_sync_replica_leads_under_the_next_epoch(
    kept: int, version: int
) -> None:
    w, c = cluster(t_0=info("b1", 0), new_0=info("b3", 0))
    c.fence_broker("b2", 1)
    for sent in w.waiting(UpdateMetadata):
        w.answer(sent, UpdateMetadataResponse())
    image = ClusterMetadata(kept, ("b3",), {"t-0": info("b3", 6, ("b2", "b3")), "u-0": info("", 2, ("b3",))})
    c.recover(image, 5_000)
    assert (c.metadata.version, c.metadata.alive, c.producer_ids()) == (version, BROKERS, 5_000)
    assert c.metadata.partitions == {
        "t-0": info("b2", 7, ("b2", "b3")), "u-0": info("b3", 3, ("b3",)), "new-0": info("b1", 1, ("b1", "b3"))
    }  # fmt: skip
    assert list_told(w) == [(broker, version) for broker in BROKERS]
    note = w.find_notes("metadata")[-1]
    assert (note.cause, note.data["leaders"]) == (-1, {"t-0": "b2", "new-0": "b1", "u-0": "b3"})
