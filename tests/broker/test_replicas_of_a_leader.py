"""How a leader serves followers: fetch sessions, divergence, high watermark, the in-sync set
(docs/protocol.md#reading, docs/protocol.md#loading)."""

from __future__ import annotations

import pytest

from kafkalab.broker.effects import Append, Effects
from kafkalab.broker.services import Context
from kafkalab.log.group_offsets import OffsetCommit
from kafkalab.protocol.cluster_metadata import ClusterMetadata
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.alter_partition import AlterPartition, AlterPartitionResponse
from kafkalab.protocol.messages.replica_fetch import ReplicaData, ReplicaFetch, ReplicaFetchResponse
from kafkalab.protocol.records import Batch, Record
from kafkalab.protocol.rules import EFFECTIVE_MIN_ISR, LEADER_EPOCH
from tests.broker.replica_world import BROKERS, NOTHING, ReplicaWorld, Sent, append_and_note, batch, data, info


def make_leader(
    *values: str, isr: tuple[str, ...] = BROKERS, epoch: int = 0, off: tuple[str, ...] = ()
) -> ReplicaWorld:
    """b1 leads t-0 and u-0; t-0 holds one batch a value."""
    w = ReplicaWorld(real=("b1",), off=off)
    w.tell(t_0=info("b1", epoch, isr), u_0=info("b1", epoch, isr))
    for value in values:
        w.write("b1", value)
    return w


def partition_of(response: ReplicaFetchResponse, partition: str = "t-0") -> ReplicaData:
    assert list(response.partitions) == [partition]
    return response.partitions[partition]


# fetch sessions


def test_a_new_session_gets_all_that_the_follower_lacks() -> None:
    w = make_leader("x", "y", epoch=4)
    found = partition_of(w.fetch("b2", 0, -1, session=0).response)
    assert found == data(4, 0, tuple(w.log("b1").batches))


def test_a_session_goes_on_where_it_was() -> None:
    w = make_leader("x", "y")
    w.fetch("b2", 0, -1, session=0)
    w.fetch("b2", 1, 0, session=1)
    sent = w.fetch("b2", 2, 0, session=2)
    assert sent.response is NOTHING
    w.write("b1", "z")
    found = partition_of(sent.response)
    assert [b.base_offset for b in found.batches] == [2]
    assert sent.response_cause == 3


def test_a_partition_that_the_follower_fetches_no_more_is_not_sent_and_holds_the_high_watermark() -> None:
    w = make_leader("x", "y")
    w.fetch("b2", 1, 0, session=0)
    w.fetch("b3", 2, 0, session=0)
    assert w.marks("b1") == (1, 2)
    sent = w.fetch("b2", -1, -1, session=1)
    w.write("b1", "z")
    w.fetch("b3", 3, 0, session=1)
    assert (sent.response, w.marks("b1")) == (NOTHING, (1, 3))
    again = w.fetch("b2", -1, -1, session=0)
    assert again.response is NOTHING
    found = partition_of(w.fetch("b2", 1, 0, session=0).response)
    assert [b.base_offset for b in found.batches] == [1, 2]


@pytest.mark.parametrize("session", [0, 1])
def test_a_fetch_that_was_sent_before_the_session_began_says_nothing_of_it(session: int) -> None:
    w = make_leader("x", "y")
    parked = w.fetch("b2", 2, 0, session=0)
    w.fetch("b3", 2, 0, session=0)
    old = w.fetch("b2", 1, 0, session=session, late=True)
    assert old.response == ReplicaFetchResponse(error=Error.FETCH_SESSION_ID_NOT_FOUND, partitions={})
    assert w.session("b1", "b2").positions == {"t-0": 2}
    w.write("b1", "z")
    assert [b.base_offset for b in partition_of(parked.response).batches] == [2], "the session goes on"


def test_a_copy_of_the_request_that_opened_the_session_opens_it_again() -> None:
    """The simulator's network may deliver a frame twice; the copy is held like the request before."""
    w = make_leader("x")
    w.fetch("b2", 1, 0, session=0)
    copy = w.fetch("b2", 1, 0, session=0, copy=True)
    assert copy.response is NOTHING
    w.write("b1", "y")
    assert [b.base_offset for b in partition_of(copy.response).batches] == [1]


@pytest.mark.parametrize(
    ("sessions", "error"),
    [
        ((1,), Error.FETCH_SESSION_ID_NOT_FOUND),
        ((0, 2), Error.INVALID_FETCH_SESSION_EPOCH),
        ((0, 1, 1), Error.INVALID_FETCH_SESSION_EPOCH),
        ((0, 1, 3), Error.INVALID_FETCH_SESSION_EPOCH),
    ],
)
def test_a_request_out_of_its_session_is_refused_and_tells_nothing(sessions: tuple[int, ...], error: Error) -> None:
    w = make_leader("x")
    for epoch in sessions[:-1]:
        w.fetch("b2", 0, -1, session=epoch)
    sent = w.fetch("b2", 1, 0, session=sessions[-1])
    assert sent.response == ReplicaFetchResponse(error=error, partitions={})
    assert sent.response_cause == 5
    assert w.marks("b1") == (0, 1)


def test_a_new_session_forgets_what_the_old_one_said() -> None:
    w = make_leader("x")
    w.fetch("b2", 1, 0, session=0)
    w.fetch("b2", 0, -1, session=0)
    w.fetch("b3", 1, 0, session=0)
    assert w.marks("b1") == (0, 1)


def test_a_leader_behind_its_own_image_lets_the_follower_come_back() -> None:
    w = make_leader("x")
    sent = w.fetch("b2", 1, 0, session=0, version=w.image.version + 1)
    assert sent.response == ReplicaFetchResponse(error=Error.UNKNOWN_LEADER_EPOCH, partitions={})
    assert sent.response_cause == 5
    w.fetch("b3", 1, 0, session=0)
    assert w.marks("b1") == (0, 1), "what the follower said counts for nothing"


def test_a_leader_behind_its_own_image_does_not_serve_a_session_that_goes_on() -> None:
    w = make_leader("x")
    w.fetch("b2", 0, -1, session=0)
    sent = w.fetch("b2", 1, 0, session=1, version=w.image.version + 1)
    assert sent.response == ReplicaFetchResponse(error=Error.UNKNOWN_LEADER_EPOCH, partitions={})
    assert w.fetch("b2", 1, 0, session=1).response is NOTHING, "the refused request has not used up its number"


def test_a_follower_that_does_not_know_the_new_leader_yet_tells_and_gets_nothing() -> None:
    w = make_leader("x")
    w.tell(t_0=info("b1", 1))
    old, epoch = w.image.version - 1, 0
    sent = w.fetch("b2", 1, epoch, session=0, version=old)
    assert sent.response is NOTHING
    w.fetch("b3", 1, epoch, session=0)
    assert w.marks("b1") == (0, 1)
    w.fetch("b2", 1, epoch, session=1)
    assert w.marks("b1") == (1, 1)


def test_an_image_that_brings_no_election_does_not_stop_followers() -> None:
    w = make_leader("x")
    w.tell(v_0=info("b2"))
    found = partition_of(w.fetch("b2", 0, -1, session=0, version=w.image.version - 1).response)
    assert len(found.batches) == 1


def test_a_partition_that_the_broker_does_not_lead_is_passed_over_and_the_next_is_served() -> None:
    w = ReplicaWorld(real=("b1",))
    w.tell(t_0=info("b2"), u_0=info("b1"))
    w.log("b1").append(batch("y"), 0)
    w.write("b1", "x", partition="u-0")
    assert list(w.fetch("b3", 0, -1, session=0).response.partitions) == ["u-0"]
    both = w.fetch("b2", 0, -1, session=0, partition="t-0")
    assert list(both.response.partitions) == ["u-0"]
    assert w.session("b1", "b2").positions == {}


def test_a_broker_that_is_no_replica_gets_nothing() -> None:
    w = ReplicaWorld(real=("b1",))
    w.tell(t_0=info("b1", isr=("b1",), replicas=("b1", "b2")), u_0=info("b1"))
    w.write("b1", "x")
    w.write("b1", "y", partition="u-0")
    assert list(w.fetch("b3", 0, -1, session=0).response.partitions) == ["u-0"]


def both(w: ReplicaWorld, first: tuple[int, int], second: tuple[int, int]) -> Sent:
    """b2 says in one request how far it is in t-0 and in u-0."""
    positions = {"t-0": first, "u-0": second}
    body = ReplicaFetch(replica="b2", session_epoch=0, metadata_version=w.image.version, positions=positions)
    sent = Sent("b2", "b1", body, lambda response, cause: None, True, 0)
    w.deliver(sent)
    return sent


@pytest.mark.parametrize(("leader", "offset"), [("b3", 0), ("b1", 9)])
def test_each_position_of_a_request_counts_whatever_the_one_before_it_was(leader: str, offset: int) -> None:
    w = ReplicaWorld(real=("b1",))
    w.tell(t_0=info(leader), u_0=info("b1"))
    both(w, (offset, 0), (0, -1))
    assert w.session("b1", "b2").positions == {"u-0": 0}


def test_a_partition_of_which_the_follower_has_all_does_not_hide_the_next() -> None:
    w = make_leader("x")
    w.write("b1", "y", partition="u-0")
    assert list(both(w, (1, 0), (0, -1)).response.partitions) == ["u-0"]


def test_a_partition_that_the_follower_fetches_no_more_does_not_hide_the_next() -> None:
    w = make_leader("x")
    w.write("b1", "y", partition="u-0")
    assert list(both(w, (-1, -1), (0, -1)).response.partitions) == ["u-0"]


def test_a_partition_that_a_leader_has_no_log_of_yet_does_not_stop_the_others() -> None:
    w = make_leader()
    sent = w.fetch("b2", 0, -1, session=0)
    w.tell(v_0=info("b1"))
    w.write("b1", "x")
    assert partition_of(sent.response).batches
    assert set(w.brokers["b1"].state.logs) == {"t-0", "v-0"}


def test_a_broker_may_begin_with_an_image_that_elected_it() -> None:
    w = ReplicaWorld(real=("b1",))
    w.image = w.brokers["b1"].state.metadata = ClusterMetadata(0, BROKERS, {"t-0": info("b1")})
    w.write("b1", "x")
    assert partition_of(w.fetch("b2", 0, -1, session=0).response).batches
    w.fetch("b2", 1, 0, session=1)
    assert w.session("b1", "b2").positions == {"t-0": 1}


def test_an_append_that_another_one_lets_go_on_answers_the_follower_once() -> None:
    w = make_leader("x", isr=("b1", "b2"))
    w.brokers["b1"].run(append_both("y", "z"), Context(None, 3))
    sent = w.fetch("b2", 2, 0, session=0)
    assert [b.base_offset for b in partition_of(sent.response).batches] == [2]


def append_both(first: str, second: str) -> Effects[None]:
    yield Append("t-0", batch(first), 30_000)
    yield Append("t-0", batch(second), 30_000)


def test_only_followers_that_wait_are_fed_and_each_once() -> None:
    w = make_leader()
    second, third = w.fetch("b2", 0, -1, session=0), w.fetch("b3", 0, -1, session=0)
    w.write("b1", "x")
    assert [b.base_offset for b in partition_of(second.response).batches] == [0]
    assert [b.base_offset for b in partition_of(third.response).batches] == [0]
    w.write("b1", "y")
    again = w.fetch("b2", 1, 0, session=1)
    assert [b.base_offset for b in partition_of(again.response).batches] == [1]


def test_a_position_outside_the_log_gets_the_start_of_the_log_and_no_batch() -> None:
    w = make_leader("x", "y", "z")
    for _ in ("b2", "b3"):
        w.fetch(_, 3, 0, session=0)
    w.log("b1").raise_log_start(2)
    assert partition_of(w.fetch("b2", 1, 0, session=0).response) == data(0, 3, log_start_offset=2)
    at_start = partition_of(w.fetch("b2", 2, 0, session=0).response)
    assert [b.base_offset for b in at_start.batches] == [2]


def test_a_raised_log_start_is_told_once_also_to_a_follower_that_has_all() -> None:
    w = make_leader("x", "y")
    for name in ("b2", "b3"):
        w.fetch(name, 2, 0, session=0)
    w.log("b1").raise_log_start(1)
    sent = w.fetch("b2", 2, 0, session=0)
    assert partition_of(sent.response) == data(0, 2, log_start_offset=1)
    assert w.fetch("b2", 2, 0, session=1, log_start=1).response is NOTHING
    assert w.session("b1", "b2").log_starts == {"t-0": 1}


def test_a_followers_log_start_wakes_what_waits_for_it_only_when_it_moves() -> None:
    w = make_leader("x")
    woken: list[int] = []
    w.brokers["b1"].state.parked_fetches["t-0"] = [woken.append]
    w.fetch("b2", 1, 0, session=0)
    assert woken == []
    w.fetch("b2", 1, 0, session=1, log_start=1)
    assert woken == [5]
    w.brokers["b1"].state.parked_fetches["t-0"] = [woken.append]
    w.fetch("b2", 1, 0, session=2, log_start=1)
    assert woken == [5]


# divergence


@pytest.mark.parametrize(
    ("offset", "epoch", "diverging"),
    [
        (0, -1, None),
        (1, 1, None),
        (2, 1, None),
        (3, 1, (2, 1)),
        (3, 3, None),
        (4, 3, None),
        (5, 3, (4, 3)),
        (3, 2, (2, 1)),
        (1, 0, (0, 0)),
        (9, 7, (4, 3)),
        (5, -1, (4, -1)),
        (4, -1, None),
    ],
)
def test_a_follower_whose_log_is_no_beginning_of_the_leaders_is_told_where_to_cut(
    offset: int, epoch: int, diverging: tuple[int, int] | None
) -> None:
    """The leader has epoch 1 from 0 to 2 and epoch 3 from 2 to 4."""
    w = make_leader("a", "b", epoch=1)
    w.tell(t_0=info("b1", 3))
    w.write("b1", "c")
    w.write("b1", "d")
    sent = w.fetch("b2", offset, epoch, session=0)
    if diverging is None:
        assert sent.response is NOTHING or partition_of(sent.response).diverging_offset == -1
        assert w.session("b1", "b2").positions == {"t-0": offset}
        return
    end, of_epoch = diverging
    assert partition_of(sent.response) == data(3, 0, diverging_offset=end, diverging_epoch=of_epoch)
    assert w.session("b1", "b2").positions == {}, "nothing is known of a log that diverges"


def test_divergence_tells_the_log_start_too_and_drops_the_old_position() -> None:
    w = make_leader("a", "b")
    w.fetch("b2", 2, 0, session=0)
    w.log("b1").raise_log_start(1)
    sent = w.fetch("b2", 3, 0, session=1)
    assert partition_of(sent.response) == data(0, 1, diverging_offset=2, diverging_epoch=0, log_start_offset=1)
    assert w.session("b1", "b2").positions == {}


def test_one_partition_that_diverges_does_not_stop_the_next() -> None:
    w = make_leader("a")
    w.write("b1", "b", partition="u-0")
    sent = w.fetch("b2", 5, 0, session=0)
    assert set(sent.response.partitions) == {"t-0", "u-0"}
    assert sent.response.partitions["t-0"].diverging_offset == 1
    assert sent.response.partitions["u-0"].batches


@pytest.mark.parametrize(("offset", "cut"), [(1, None), (3, 2)])
def test_before_kip_101_only_the_end_counts(offset: int, cut: int | None) -> None:
    w = make_leader("a", "b", epoch=1, off=(LEADER_EPOCH.name,))
    sent = w.fetch("b2", offset, 0, session=0)
    found = partition_of(sent.response)
    assert found.diverging_offset == (-1 if cut is None else cut)


# the high watermark


def test_the_high_watermark_is_what_every_in_sync_replica_has() -> None:
    w = make_leader("x", "y", "z")
    w.fetch("b2", 3, 0, session=0)
    assert w.marks("b1") == (0, 3)
    w.fetch("b3", 2, 0, session=0)
    assert w.marks("b1") == (2, 3)
    w.fetch("b3", 1, 0, session=0)
    assert w.marks("b1") == (2, 3), "it never goes back"
    w.fetch("b3", 3, 0, session=0)
    assert w.marks("b1") == (3, 3)
    notes = w.find_notes("watermark")
    assert [n.data["high_watermark"] for n in notes] == [2, 3]
    assert notes[0].data == {"partition": "t-0", "high_watermark": 2, "last_stable_offset": 2}
    assert {(n.node, n.cause) for n in notes} == {("b1", 5)}


def test_what_is_parked_looks_again_because_of_the_new_high_watermark() -> None:
    w = make_leader("x", isr=("b1", "b2"))
    woken: list[int] = []
    w.brokers["b1"].state.parked_fetches["t-0"] = [woken.append]
    w.fetch("b2", 1, 0, session=0)
    assert woken == [w.notes.index(w.find_notes("watermark")[0])]


def test_offsets_count_from_the_high_watermark_on_and_each_once() -> None:
    w = ReplicaWorld(real=("b1",))
    partition = "__consumer_offsets-0"
    w.log("b1", partition)
    w.image = w.image.with_partitions({partition: info("b1", 0, ("b1", "b2"))}, BROKERS)
    w.give_image()
    w.run_for(5)
    for number in range(2):
        entry = OffsetCommit(group="g", partition="in-0", offset=number)
        commit = Batch(records=(Record(None, entry),))
        w.brokers["b1"].run(append_and_note(Append(partition, commit, 30_000), []), Context(None, 3))
    offsets = w.brokers["b1"].state.offsets[partition]
    applied: list[int] = []
    offsets.apply = lambda found: applied.append(found.base_offset)  # type: ignore[method-assign, assignment]
    w.fetch("b2", 1, 0, session=0, partition=partition)
    assert applied == [0]
    w.fetch("b2", 2, 0, session=1, partition=partition)
    assert applied == [0, 1]


def test_a_replica_out_of_sync_does_not_hold_the_high_watermark() -> None:
    w = make_leader("x", isr=("b1", "b2"))
    w.fetch("b2", 1, 0, session=0)
    assert w.marks("b1") == (1, 1)


@pytest.mark.parametrize(
    ("least", "isr", "replicas", "moves"),
    [
        (2, ("b1",), BROKERS, False),
        (2, ("b1", "b2"), BROKERS, True),
        (3, ("b1", "b2"), BROKERS, False),
        (2, ("b1",), ("b1",), True),
        (3, ("b1", "b2"), ("b1", "b2"), True),
    ],
)
def test_the_high_watermark_stands_while_fewer_are_in_sync_than_the_topic_or_its_copies_require(
    least: int, isr: tuple[str, ...], replicas: tuple[str, ...], moves: bool
) -> None:
    for off in ((), (EFFECTIVE_MIN_ISR.name,)):
        w = ReplicaWorld(real=("b1",), min_insync_replicas=least, off=off)
        w.tell(t_0=info("b1", 0, isr, replicas))
        assert w.write("b1", "x", acks=1) == [Error.NONE]
        if "b2" in isr:
            w.fetch("b2", 1, 0, session=0)
        assert w.marks("b1") == (1 if moves or off else 0, 1)


def test_the_high_watermark_moves_when_enough_are_in_sync_again() -> None:
    w = ReplicaWorld(real=("b1",), min_insync_replicas=2)
    w.tell(t_0=info("b1"))
    ends = w.write("b1", "x")
    w.tell(t_0=info("b1", isr=("b1",)))
    assert (ends, w.marks("b1")) == ([], (0, 1))
    w.fetch("b2", 1, 0, session=0)
    assert (w.take_altered(), ends) == (("b1", "b2"), [])
    w.tell(t_0=info("b1", isr=("b1", "b2")))
    assert (ends, w.marks("b1")) == ([Error.NONE], (1, 1))


def test_a_replica_whose_return_the_controller_may_have_granted_already_holds_the_high_watermark() -> None:
    """The maximal in-sync set (KIP-497): the controller may elect the replica before the leader knows its answer."""
    w = make_leader("x", isr=("b1",))
    w.fetch("b2", 1, 0, session=0)
    assert w.take_altered() == ("b1", "b2")
    ends = w.write("b1", "y")
    assert (ends, w.marks("b1")) == ([], (1, 2))
    w.answer(w.take(AlterPartition), AlterPartitionResponse())
    assert (ends, w.marks("b1")) == ([], (1, 2)), "the image is still on its way"
    w.tell(t_0=info("b1", isr=("b1", "b2")))
    w.fetch("b2", 2, 0, session=1)
    assert (ends, w.marks("b1")) == ([Error.NONE], (2, 2))


def test_an_append_ends_when_every_in_sync_replica_has_it() -> None:
    w = make_leader()
    ends = w.write("b1", "x")
    w.fetch("b2", 1, 0, session=0)
    assert ends == []
    w.fetch("b3", 1, 0, session=0)
    assert ends == [Error.NONE]


def test_a_leader_alone_needs_nobody() -> None:
    w = make_leader(isr=("b1",))
    assert w.write("b1", "x") == [Error.NONE]
    assert w.marks("b1") == (1, 1)


def test_the_first_replica_of_the_list_may_be_the_one_that_lags() -> None:
    w = ReplicaWorld(real=("b2",))
    w.tell(t_0=info("b2"))
    w.write("b2", "x", "y")
    w.fetch("b3", 2, 0, session=0, at="b2")
    assert w.marks("b2") == (0, 2)
    w.fetch("b1", 2, 0, session=0, at="b2")
    assert w.marks("b2") == (2, 2)


def test_a_broker_moves_no_high_watermark_of_a_partition_that_another_leads_or_nobody_knows() -> None:
    w = ReplicaWorld(real=("b1",))
    w.tell(t_0=info("b2", isr=("b2",)))
    for partition in ("t-0", "gone-0"):
        w.log("b1", partition).append(batch("x"), 0)
        w.brokers["b1"].replication.advance(partition, 1)
        assert w.marks("b1", partition) == (0, 1)


# the in-sync set shrinks


def lagging(lag_ms: int) -> ReplicaWorld:
    """b2 has all and b3 lacks one record since `lag_ms`; the limit is 1,000 ms."""
    w = make_leader()
    w.run_for(5_000)
    w.fetch("b2", 0, -1, session=0)
    w.fetch("b3", 0, -1, session=0)
    w.write("b1", "x")
    w.fetch("b2", 1, 0, session=1)
    w.run_for(lag_ms)
    return w


def test_a_replica_that_lags_for_too_long_is_dropped() -> None:
    w = lagging(1_001)
    w.brokers["b1"].replication.in_sync.shrink()
    sent = w.take(AlterPartition)
    assert sent.body == AlterPartition(partition="t-0", leader_epoch=0, isr=("b1", "b2"))
    assert (sent.sender, sent.to, sent.background, sent.cause) == ("b1", "controller", False, -1)


def test_a_replica_that_lags_for_as_long_as_allowed_stays() -> None:
    w = lagging(1_000)
    w.brokers["b1"].replication.in_sync.shrink()
    assert w.waiting(AlterPartition) == []


def test_a_replica_that_never_fetched_is_dropped() -> None:
    w = make_leader("x")
    w.run_for(1_001)
    w.brokers["b1"].replication.in_sync.shrink()
    assert w.take_altered() == ("b1",)


def test_a_replica_that_began_to_fetch_but_never_had_all_is_dropped() -> None:
    w = make_leader("x")
    w.fetch("b2", 0, -1, session=0)
    w.run_for(1_001)
    w.brokers["b1"].replication.in_sync.shrink()
    assert w.take_altered() == ("b1",)


def test_a_replica_that_diverges_lags() -> None:
    w = make_leader("x")
    w.fetch("b2", 5, 0, session=0)
    w.run_for(1_001)
    w.brokers["b1"].replication.in_sync.shrink()
    assert w.take_altered() == ("b1",)


def test_an_idle_replica_that_has_all_stays_while_another_goes() -> None:
    w = lagging(20_000)
    w.brokers["b1"].replication.in_sync.shrink()
    assert w.take_altered() == ("b1", "b2")


def test_while_nothing_waits_for_replicas_nobody_is_dropped() -> None:
    w = make_leader()
    w.run_for(60_000)
    w.brokers["b1"].replication.in_sync.shrink()
    assert w.waiting(AlterPartition) == []


def test_only_leaders_shrink_and_each_partition_on_its_own() -> None:
    w = ReplicaWorld(real=("b1",))
    w.tell(t_0=info("b2"), u_0=info("b1", 3))
    for partition in ("t-0", "gone-0", "u-0"):
        w.log("b1", partition).append(batch("x"), 0)
    w.run_for(1_001)
    w.brokers["b1"].replication.in_sync.shrink()
    sent = w.take(AlterPartition)
    assert (sent.body.partition, sent.body.leader_epoch, sent.body.isr) == ("u-0", 3, ("b1",))


def test_the_limit_counts_from_the_election() -> None:
    w = make_leader("x")
    w.fetch("b2", 0, -1, session=0)
    w.run_for(10_000)
    w.tell(t_0=info("b1", 1))
    w.write("b1", "y")
    w.brokers["b1"].replication.in_sync.shrink()
    assert w.waiting(AlterPartition)[0].body.isr == ("b1", "b2"), "b3 never fetched"
    w.run_for(1_001)
    w.brokers["b1"].replication.in_sync.shrink()
    assert w.waiting(AlterPartition)[-1].body.isr == ("b1",)


# the in-sync set grows


def test_a_lagging_replica_is_not_taken_back_before_it_has_the_high_watermark() -> None:
    w = make_leader("x", "y", isr=("b1", "b2"))
    w.fetch("b2", 2, 0, session=0)
    assert w.marks("b1") == (2, 2)
    w.fetch("b3", 1, 0, session=0)
    assert w.waiting(AlterPartition) == []
    w.fetch("b3", 2, 0, session=1)
    assert w.take(AlterPartition).body == AlterPartition(partition="t-0", leader_epoch=0, isr=BROKERS)


def test_a_replica_with_the_high_watermark_is_taken_back_though_the_log_goes_on() -> None:
    w = make_leader("x", isr=("b1", "b2"), epoch=2)
    w.fetch("b2", 1, 2, session=0)
    w.write("b1", "y")
    w.fetch("b3", 1, 2, session=0)
    assert w.take(AlterPartition).body == AlterPartition(partition="t-0", leader_epoch=2, isr=BROKERS)


def test_a_replica_that_diverges_is_not_taken_back() -> None:
    w = make_leader("x", isr=("b1", "b2"))
    w.fetch("b2", 1, 0, session=0)
    w.fetch("b3", 5, 0, session=0)
    assert w.waiting(AlterPartition) == []


def test_the_in_sync_set_keeps_the_order_of_the_replicas() -> None:
    w = make_leader("x", isr=("b3", "b1"))
    w.fetch("b3", 1, 0, session=0)
    w.fetch("b2", 1, 0, session=0)
    assert w.take_altered() == BROKERS


@pytest.mark.parametrize(
    ("alive", "replicas", "asked"),
    [(BROKERS, BROKERS, True), (("b1", "b2"), BROKERS, False), (BROKERS, ("b1", "b2"), False)],
)
def test_only_a_live_replica_is_taken_back(alive: tuple[str, ...], replicas: tuple[str, ...], asked: bool) -> None:
    w = ReplicaWorld(real=("b1",))
    w.tell(alive=alive, t_0=info("b1", isr=("b1", "b2"), replicas=replicas))
    w.fetch("b3", 0, -1, session=0)
    assert bool(w.waiting(AlterPartition)) == asked


def test_a_follower_of_another_leader_is_not_taken_back() -> None:
    w = ReplicaWorld(real=("b1",))
    w.tell(t_0=info("b2", isr=("b2", "b1")))
    w.fetch("b3", 0, -1, session=0)
    w.fetch("b3", 0, -1, session=0, partition="gone-0")
    assert w.waiting(AlterPartition) == []


def test_with_too_few_in_sync_replicas_an_append_is_refused_and_the_idle_are_asked_back() -> None:
    w = ReplicaWorld(real=("b1",), min_insync_replicas=2)
    w.tell(t_0=info("b1", isr=("b1",)))
    w.fetch("b2", 0, -1, session=0)
    w.answer(w.take(AlterPartition), None)
    assert w.write("b1", "x") == [Error.NOT_ENOUGH_REPLICAS]
    assert w.take_altered() == ("b1", "b2"), "b3 has no session"
    assert w.write("b1", "x", acks=1) == [Error.NONE]


# answers of the controller


def test_the_same_change_is_asked_for_once_until_it_is_answered() -> None:
    w = make_leader("x")
    w.run_for(1_001)
    w.brokers["b1"].replication.in_sync.shrink()
    w.brokers["b1"].replication.in_sync.shrink()
    sent = w.take(AlterPartition)
    w.answer(sent, AlterPartitionResponse(error=Error.FENCED_LEADER_EPOCH))
    w.brokers["b1"].replication.in_sync.shrink()
    assert w.take_altered() == ("b1",)


def test_a_late_answer_to_an_older_change_does_not_release_the_newer_one() -> None:
    w = make_leader("x")
    w.run_for(1_001)
    w.fetch("b2", 1, 0, session=0)
    w.brokers["b1"].replication.in_sync.shrink()
    old = w.take(AlterPartition)
    w.run_for(1)
    w.write("b1", "y")
    w.run_for(1_001)
    w.brokers["b1"].replication.in_sync.shrink()
    assert [s.body.isr for s in w.waiting(AlterPartition)] == [("b1", "b2"), ("b1",)]
    w.answer(old, None)
    w.brokers["b1"].replication.in_sync.shrink()
    assert len(w.waiting(AlterPartition)) == 1, "the newer change is still under way"


def test_an_image_that_shrinks_the_set_moves_the_high_watermark() -> None:
    w = make_leader("x")
    w.fetch("b2", 1, 0, session=0)
    w.tell(t_0=info("b1", 0, ("b1", "b2")))
    assert w.marks("b1") == (1, 1)
    assert w.find_notes("watermark")[0].cause == 7
