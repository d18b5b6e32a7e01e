"""What a leader believes of its in-sync replicas between its request and the controller's image (KIP-497), and since
when a follower lags."""

from __future__ import annotations

from typing import Any

from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.alter_partition import AlterPartition, AlterPartitionResponse
from kafkalab.protocol.messages.replica_fetch import ReplicaFetch
from tests.broker.replica_world import BROKERS, NOTHING, ReplicaWorld, Sent, info


def make_leader(*values: str, isr: tuple[str, ...] = BROKERS, partitions: tuple[str, ...] = ("t_0",)) -> ReplicaWorld:
    """b1 leads these partitions; t-0 holds one batch a value."""
    w = ReplicaWorld(real=("b1",))
    given: dict[str, Any] = {name: info("b1", 0, isr) for name in partitions}
    w.tell(**given)
    for value in values:
        w.write("b1", value)
    return w


def says(w: ReplicaWorld, t: int, u: int) -> Sent:
    """b2 opens a session and says in one request how far it is in t-0 and in u-0."""
    positions = {"t-0": (t, 0 if t else -1), "u-0": (u, 0 if u else -1)}
    body = ReplicaFetch(replica="b2", session_epoch=0, metadata_version=w.image.version, positions=positions)
    sent = Sent("b2", "b1", body, lambda response, cause: None, True, 0)
    w.deliver(sent)
    return sent


def shrunk() -> ReplicaWorld:
    """b3 never fetched; b1 has asked the controller to drop it, and b2 has all."""
    w = make_leader("x")
    w.run_for(1_001)
    w.fetch("b2", 1, 0, session=0)
    w.brokers["b1"].replication.in_sync.shrink()
    assert w.take_altered() == ("b1", "b2")
    return w


# while the controller is asked


def test_a_smaller_set_counts_when_the_image_and_the_answer_are_here_in_either_order() -> None:
    w = shrunk()
    w.tell(t_0=info("b1", 0, ("b1", "b2")))
    assert w.marks("b1") == (0, 1), "the controller may have another answer on its way"
    w.answer(w.take(AlterPartition), AlterPartitionResponse())
    assert w.marks("b1") == (1, 1)
    assert w.find_notes("watermark")[-1].cause == 6
    w = shrunk()
    w.answer(w.take(AlterPartition), AlterPartitionResponse())
    assert w.marks("b1") == (0, 1), "the image is still on its way"
    w.tell(t_0=info("b1", 0, ("b1", "b2")))
    assert w.marks("b1") == (1, 1)


def test_an_answer_to_a_leader_that_has_resigned_meanwhile_changes_nothing() -> None:
    w = shrunk()
    w.tell(t_0=info("b2", 1))
    w.answer(w.take(AlterPartition), AlterPartitionResponse(error=Error.FENCED_LEADER_EPOCH))
    assert (w.marks("b1"), w.waiting(AlterPartition)) == ((0, 1), [])


def test_two_replicas_that_are_asked_back_one_after_the_other_both_hold_the_high_watermark() -> None:
    w = make_leader("x", isr=("b1",))
    w.fetch("b2", 1, 0, session=0)
    w.write("b1", "y")
    w.fetch("b3", 1, 0, session=0)
    assert [s.body.isr for s in w.waiting(AlterPartition)] == [("b1", "b2"), ("b1", "b3")]
    w.fetch("b3", 2, 0, session=1)
    assert w.marks("b1") == (1, 2), "the controller may have taken b2 back"


def test_an_image_without_news_of_the_partition_does_not_end_the_wait_for_the_controller() -> None:
    w = make_leader("x", isr=("b1",))
    w.fetch("b2", 1, 0, session=0)
    w.tell(v_0=info("b3"))
    ends = w.write("b1", "y")
    assert (ends, w.marks("b1")) == ([], (1, 2)), "b2 may be in sync"


def test_once_answered_the_next_image_alone_says_who_is_in_sync() -> None:
    w = make_leader("x", isr=("b1", "b2"))
    w.fetch("b2", 1, 0, session=0)
    w.fetch("b3", 1, 0, session=0)
    w.answer(w.take(AlterPartition), AlterPartitionResponse())
    w.tell(alive=("b1", "b2"), t_0=info("b1", 0, ("b1", "b2")))
    w.write("b1", "y")
    w.fetch("b2", 2, 0, session=1)
    assert w.marks("b1") == (2, 2), "b3 was fenced meanwhile"


def test_a_replica_that_fetches_no_more_is_not_asked_back() -> None:
    w = ReplicaWorld(real=("b1",), min_insync_replicas=2)
    w.tell(t_0=info("b1", isr=("b1",)))
    w.fetch("b2", 0, -1, session=0)
    w.answer(w.take(AlterPartition), None)
    w.session("b1", "b2").silent_since_ms = 0
    assert w.write("b1", "x") == [Error.NOT_ENOUGH_REPLICAS]
    assert w.waiting(AlterPartition) == []
    w.session("b1", "b2").silent_since_ms = -1
    assert w.write("b1", "x") == [Error.NOT_ENOUGH_REPLICAS]
    assert w.take_altered() == ("b1", "b2")


# since when a follower lags


def shrink(w: ReplicaWorld) -> list[AlterPartition]:
    """Return what b1 asks the controller for when it looks for replicas that lag."""
    w.brokers["b1"].replication.in_sync.shrink()
    return [s.body for s in w.waiting(AlterPartition)]


def test_a_follower_that_waits_for_news_lags_only_from_the_first_news_on() -> None:
    """Its held request counts as repeated every replica.fetch.wait.max.ms."""
    w = make_leader(isr=("b1", "b2"))
    w.fetch("b2", 0, -1, session=0)
    w.run_for(5_000)
    w.write("b1", "x")
    w.run_for(1_000)
    assert shrink(w) == []
    w.run_for(1)
    assert [a.isr for a in shrink(w)] == [("b1",)]


def test_a_follower_that_has_been_answered_and_is_not_heard_again_lags_in_every_partition() -> None:
    w = make_leader(isr=("b1", "b2"), partitions=("t_0", "u_0"))
    w.log("b1", "u-0")
    w.run_for(5_000)
    sent = says(w, 0, 0)
    w.write("b1", "x")
    assert sent.response is not NOTHING
    w.run_for(1_001)
    w.write("b1", "y", partition="u-0")
    assert {a.partition: a.isr for a in shrink(w)} == {"t-0": ("b1",), "u-0": ("b1",)}


def test_a_follower_whose_response_is_on_its_way_does_not_lag_yet_in_another_partition() -> None:
    """Its request has said of both partitions that it has all; the second record comes behind the response."""
    w = make_leader(isr=("b1", "b2"), partitions=("t_0", "u_0"))
    w.log("b1", "u-0")
    says(w, 0, 0)
    w.run_for(5_000)
    w.write("b1", "x")
    w.write("b1", "y", partition="u-0")
    assert shrink(w) == []
    w.run_for(1_001)
    assert {a.partition: a.isr for a in shrink(w)} == {"t-0": ("b1",), "u-0": ("b1",)}


def test_a_follower_that_said_it_has_all_lags_from_then_on_though_its_request_is_answered_with_others() -> None:
    w = make_leader("x", isr=("b1", "b2"), partitions=("t_0", "u_0"))
    w.write("b1", "y", partition="u-0")
    w.run_for(5_000)
    assert list(says(w, 1, 0).response.partitions) == ["u-0"]
    w.write("b1", "z")
    w.run_for(1_000)
    assert [a.partition for a in shrink(w)] == ["u-0"], "of u-0 it never had all"
    w.run_for(1)
    assert {a.partition for a in shrink(w)} == {"t-0", "u-0"}


def test_a_follower_that_fetches_and_never_reaches_the_end_lags() -> None:
    w = make_leader("x", "y", isr=("b1", "b2"))
    w.run_for(1_001)
    w.fetch("b2", 1, 0, session=0)
    assert [a.isr for a in shrink(w)] == [("b1",)]
