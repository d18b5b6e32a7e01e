"""A leader whose followers need no frames: what it appends is replicated when the append returns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from kafkalab.broker.direct_replication import DirectReplication
from kafkalab.broker.effects import Append
from kafkalab.broker.services import Context
from kafkalab.log.group_offsets import OffsetCommit
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.replica_fetch import ReplicaFetch
from kafkalab.protocol.records import Batch, Record
from tests.broker.replica_world import BROKERS, ReplicaWorld, append_and_note, batch, info


def without_frames(partition: str = "t-0", eager: bool = False) -> tuple[ReplicaWorld, dict[str, Any]]:
    """b1 leads one partition, both followers wait for news; the second value is what is planned to strike a frame."""
    w, planned = ReplicaWorld(), dict[str, Any]()
    for name in BROKERS:
        w.log(name, partition)
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
    assert w.values("b2") == w.values("b3") == []
    w.run_for(7)
    w.brokers["b1"].replication.settle()
    assert w.values("b2") == w.values("b3") == ["x", "y", "z"]
    sessions = w.brokers["b1"].state.sessions
    assert [sessions[name].positions["t-0"] for name in ("b2", "b3")] == [3, 3]
    assert [sessions[name].caught_up_ms["t-0"] for name in ("b2", "b3")] == [w.now, w.now]


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
        w.brokers["b1"].run(append_and_note(Append(partition, commit, 30_000), []), Context(None, 3))
        assert applied == list(range(number + 1))


def test_where_each_append_is_seen_the_followers_append_it_for_the_same_cause() -> None:
    w, _ = without_frames(eager=True)
    w.write("b1", "x")
    assert [(n.node, n.cause) for n in w.find_notes("t-0", "append")] == [("b1", 3), ("b2", 3), ("b3", 3)]
    assert [r.value for n in w.find_notes("t-0", "append") for r in n.data.records] == ["x", "x", "x"]
    assert [w.values(name) for name in BROKERS] == [["x"]] * 3


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


def out_of_sync(w: ReplicaWorld) -> None:
    state = w.brokers["b1"].state
    state.metadata = replace(state.metadata, partitions={"t-0": info("b1", isr=("b1", "b2"))})
    for broker in w.brokers.values():
        broker.state.metadata = state.metadata


def behind_the_image(w: ReplicaWorld) -> None:
    state = w.brokers["b3"].state
    state.metadata = replace(state.metadata, version=state.metadata.version - 1)


def without_a_session(w: ReplicaWorld) -> None:
    del w.brokers["b1"].state.sessions["b2"]


def with_no_fetch_that_waits(w: ReplicaWorld) -> None:
    w.brokers["b1"].state.sessions["b2"].parked = None


def elsewhere_in_the_log(w: ReplicaWorld) -> None:
    w.brokers["b1"].state.sessions["b2"].positions["t-0"] = 1


def fetching_since_before_this_leader(w: ReplicaWorld) -> None:
    w.brokers["b1"].replication.led_since["t-0"] = w.image.version + 1


def append_unreplicated(w: ReplicaWorld) -> None:
    w.log("b1").append(batch("old"), 0)
    for session in w.brokers["b1"].state.sessions.values():
        session.positions["t-0"] = 1


NOT_IN_STEP = (
    out_of_sync, behind_the_image, without_a_session, with_no_fetch_that_waits, elsewhere_in_the_log,
    fetching_since_before_this_leader, append_unreplicated,
)  # fmt: skip


@pytest.mark.parametrize("change", NOT_IN_STEP, ids=lambda change: change.__name__)
def test_where_a_follower_is_not_in_step_the_append_waits_for_frames(change: Callable[[ReplicaWorld], None]) -> None:
    w, _ = without_frames()
    change(w)
    assert w.write("b1", "x") == []
    mark, end = w.marks("b1")
    assert mark == end - 1


def test_a_follower_of_which_nothing_is_known_but_that_it_waits_is_in_step_with_an_empty_log() -> None:
    w, _ = without_frames()
    state = w.brokers["b1"].state
    w.brokers["b1"].replication.led_since.clear()
    for session in state.sessions.values():
        session.positions.clear()
        session.parked = (session.parked[0], 0)
    assert w.write("b1", "x") == [Error.NONE]
