"""A leader whose followers need no frames: what it appends is replicated when the append returns."""

from __future__ import annotations

from typing import Any

from kafkalab.broker.direct_replication import DirectReplication
from kafkalab.broker.effects import Append
from kafkalab.broker.group_coordinator.offsets import OffsetCommit
from kafkalab.broker.services import Context
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.replica_fetch import ReplicaFetch
from kafkalab.protocol.records import Batch, Record
from tests.broker.replica_world import BROKERS, ReplicaWorld, appended, info


def without_frames(partition: str = "t-0", eager: bool = False) -> tuple[ReplicaWorld, dict[str, Any]]:
    """b1 leads one partition, both followers wait for news; the second value is what is planned to strike a frame."""
    w, planned = ReplicaWorld(), dict[str, Any]()
    for broker in BROKERS:
        w.log(broker, partition)
    w.image = w.image.with_partitions({partition: info("b1")}, BROKERS)
    w.give_image()
    w.settle()
    replicas = {name: broker.replication for name, broker in w.brokers.items()}
    direct = DirectReplication(replicas, planned, eager)
    for broker in w.brokers.values():
        broker.replication.direct = direct
    return w, planned


def test_an_append_is_replicated_at_once_and_no_follower_is_answered() -> None:
    w, _ = without_frames()
    assert w.write("b1", "x") == [Error.NONE]
    assert w.write("b1", "y", "z") == [Error.NONE]
    assert w.marks("b1") == (3, 3)
    assert w.waiting(ReplicaFetch) == []
    w.brokers["b1"].replication.settle()
    assert w.values("b2") == w.values("b3") == ["x", "y", "z"]


def test_a_reader_that_waits_looks_again_because_of_the_append() -> None:
    w, _ = without_frames()
    woken: list[int] = []
    w.brokers["b1"].state.parked_fetches["t-0"] = [woken.append]
    w.write("b1", "x")
    assert woken == [3]


def test_offsets_count_at_once_and_each_once() -> None:
    partition = "__consumer_offsets-0"
    w, _ = without_frames(partition)
    w.run_for(5)
    applied: list[int] = []
    offsets = w.brokers["b1"].state.offsets[partition]
    offsets.apply = lambda found: applied.append(found.base_offset)  # type: ignore[method-assign, assignment]
    for number in range(2):
        entry = OffsetCommit(group="g", partition="in-0", offset=number)
        commit = Batch(records=(Record(None, entry),))
        w.brokers["b1"].run(appended(Append(partition, commit, 30_000), []), Context(None, 3))
        assert applied == list(range(number + 1))


def test_where_each_append_is_seen_the_followers_append_it_for_the_same_cause() -> None:
    w, _ = without_frames(eager=True)
    w.write("b1", "x")
    assert [(n.node, n.cause) for n in w.noted("t-0", "append")] == [("b1", 3), ("b2", 3), ("b3", 3)]
    assert [r.value for n in w.noted("t-0", "append") for r in n.data.records] == ["x", "x", "x"]


def test_where_something_may_strike_a_frame_frames_replicate() -> None:
    w, planned = without_frames()
    planned["Fetch#9"] = "Drop"
    ends = w.write("b1", "x")
    assert (ends, w.marks("b1")) == ([], (0, 1))
    w.settle()
    assert (ends, w.marks("b1")) == ([Error.NONE], (1, 1))
    assert w.values("b2") == w.values("b3") == ["x"]


def test_only_the_first_append_after_something_was_planned_is_still_replicated_at_once() -> None:
    w, planned = without_frames()
    w.write("b1", "x")
    planned["Fetch#9"] = "Drop"
    assert w.write("b1", "y") == [Error.NONE]
    assert w.write("b1", "z") == []
    assert w.values("b2") == w.values("b3") == ["x", "y"]
