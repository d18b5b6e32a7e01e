"""How a follower fetches: sessions, what it takes over, what it cuts, and which answers it must not believe."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.replica_fetch import ReplicaData, ReplicaFetch, ReplicaFetchResponse
from kafkalab.protocol.records import Batch, ControlType, marker
from kafkalab.protocol.rules import LEADER_EPOCH
from tests.broker.replica_world import BROKERS, NOTHING, ReplicaWorld, Sent, batch, data, info


def following(epoch: int = 0, off: tuple[str, ...] = ()) -> ReplicaWorld:
    """b2 follows b1, which is a script, in t-0."""
    w = ReplicaWorld(real=("b2",), off=off)
    w.tell(t_0=info("b1", epoch))
    return w


def holding(*batches: tuple[str, int], off: tuple[str, ...] = (), epoch: int = 5) -> ReplicaWorld:
    """b2 follows b1 under leader epoch 5, and holds these values of these epochs."""
    w = ReplicaWorld(real=("b2",), off=off)
    for value, of_epoch in batches:
        w.log("b2").append(batch(value), of_epoch)
    w.tell(t_0=info("b1", epoch))
    return w


def ask(w: ReplicaWorld) -> Sent:
    return w.take(ReplicaFetch, "b2", "b1")


def answer(w: ReplicaWorld, found: ReplicaData, partition: str = "t-0") -> None:
    w.answer(ask(w), ReplicaFetchResponse(partitions={partition: found}))


# requests


def test_a_follower_opens_a_session_with_all_that_it_has_of_this_leaders_partitions() -> None:
    w = ReplicaWorld(real=("b2",))
    for partition, count in (("t-0", 2), ("u-0", 1), ("v-0", 0)):
        for value in range(count):
            w.log("b2", partition).append(batch(str(value)), value)
        w.log("b2", partition)
    w.log("b2").raise_log_start(1)
    w.tell(t_0=info("b1"), u_0=info("b3"), v_0=info("b1"))
    sent = ask(w)
    assert sent.body == ReplicaFetch(
        replica="b2",
        session_epoch=0,
        metadata_version=1,
        positions={"t-0": (2, 1), "v-0": (0, -1)},
        log_starts={"t-0": 1},
    )
    assert (sent.background, sent.cause) == (True, 7)
    assert w.take(ReplicaFetch, "b2", "b3").body.positions == {"u-0": (1, 0)}


def test_the_next_request_says_only_what_has_changed() -> None:
    w = following()
    w.log("b2", "u-0")
    w.tell(u_0=info("b1"))
    w.sent = w.sent[-1:]
    answer(w, data(0, 1, (batch("x", base=0),)))
    body = ask(w).body
    assert (body.session_epoch, body.positions, body.log_starts) == (1, {"t-0": (1, 0)}, {})
    answer(w, data(0, 2, (batch("y", base=1),), log_start_offset=1))
    sent = ask(w)
    assert (sent.body.session_epoch, sent.body.positions, sent.body.log_starts) == (2, {"t-0": (2, 0)}, {"t-0": 1})
    assert sent.cause == 6


# what it takes over


def test_what_is_new_is_appended_and_the_high_watermark_follows() -> None:
    w = following()
    first, second = batch("x", base=0), batch("y", base=1)
    answer(w, data(0, 1, (first, second)))
    assert (w.values("b2"), w.marks("b2")) == (["x", "y"], (1, 2))
    appended = w.find_notes("t-0", "append")
    assert [(n.node, n.data, n.cause) for n in appended] == [("b2", first, 6), ("b2", second, 6)]
    assert w.find_notes("watermark")[0].data["high_watermark"] == 1
    answer(w, data(0, 2))
    assert w.marks("b2") == (2, 2)
    answer(w, data(0, 2))
    assert len(w.find_notes("watermark")) == 2, "nothing moved, nothing is noted"


def test_a_batch_that_is_there_already_is_not_appended_again() -> None:
    w = following()
    answer(w, data(0, 0, (batch("x", base=0),)))
    answer(w, data(0, 0, (batch("x", base=0), batch("y", base=1))))
    assert w.values("b2") == ["x", "y"]


OPEN = replace(batch("x", base=0), producer_id=1, producer_epoch=0, base_sequence=0, transactional=True)
PLAIN = replace(OPEN, base_offset=1, base_sequence=1, transactional=False)


@pytest.mark.parametrize(
    ("before", "batches"),
    [
        ((OPEN,), (batch("new", base=1), replace(PLAIN, base_offset=2))),
        ((), (OPEN, PLAIN)),
        ((OPEN,), (OPEN, replace(PLAIN, producer_epoch=7))),
    ],
)
def test_plain_data_in_an_open_transaction_ends_the_fetching_of_the_partition(
    before: tuple[Batch, ...], batches: tuple[Batch, ...]
) -> None:
    w = following(epoch=5)
    w.tell(u_0=info("b1", 5))
    w.sent = w.sent[-1:]
    for known in before:
        w.log("b2").replicate(known)
    good = data(5, 1, (batch("y", base=0),))
    w.answer(ask(w), ReplicaFetchResponse(partitions={"t-0": data(5, 9, batches), "u-0": good}))
    assert (list(w.log("b2").batches), w.log("b2").high_watermark) == (list(before), 0)
    assert ask(w).body.positions == {"t-0": (-1, -1), "u-0": (1, 0)}
    w.tell(u_0=info("b1", 6))
    w.sent = w.sent[-1:]
    assert ask(w).body.positions == {"t-0": (-1, -1), "u-0": (1, 0)}
    w.tell(t_0=info("b1", 6))
    w.sent = w.sent[-1:]
    assert ask(w).body.positions["t-0"][0] == len(before)


def test_what_ends_the_transaction_before_the_plain_data_is_seen_in_the_same_answer() -> None:
    w = following()
    commit = replace(marker(1, 0, ControlType.COMMIT, 0, 0), base_offset=1, leader_epoch=0)
    answer(w, data(0, 1, (OPEN, commit, replace(PLAIN, base_offset=2), batch("z", base=3))))
    assert w.log("b2").log_end_offset == 4
    assert ask(w).body.positions == {"t-0": (4, 0)}
    w.tell(t_0=info("b1", 1))
    w.sent = w.sent[-1:]
    other = replace(PLAIN, base_offset=5, producer_id=2, leader_epoch=1)
    answer(w, data(1, 1, (replace(OPEN, base_offset=4, base_sequence=2, leader_epoch=1), other)))
    assert w.log("b2").log_end_offset == 6


@pytest.mark.parametrize("epoch", [4, 6])
def test_an_answer_of_another_leader_epoch_is_passed_over(epoch: int) -> None:
    w = following(epoch=5)
    w.tell(u_0=info("b1", 5))
    w.sent = w.sent[-1:]
    found = data(epoch, 1, (batch("x", base=0),))
    good = data(5, 1, (batch("y", base=0),))
    w.answer(ask(w), ReplicaFetchResponse(partitions={"t-0": found, "gone-0": good, "u-0": good}))
    assert (w.values("b2"), w.marks("b2")) == ([], (0, 0))
    assert w.values("b2", "u-0") == ["y"]
    assert "gone-0" not in w.brokers["b2"].state.logs
    assert ask(w).body.positions == {"u-0": (1, 0)}


def test_an_answer_about_a_partition_that_the_broker_leads_itself_is_passed_over() -> None:
    w = following()
    sent = ask(w)
    w.tell(t_0=info("b2", 0), u_0=info("b1"))
    # The election came without a new epoch, which no controller does; the leader still takes nothing over.
    w.brokers["b2"].replication.fetching["b1"] = 1
    w.answer(sent, ReplicaFetchResponse(partitions={"t-0": data(0, 1, (batch("x", base=0),))}))
    assert w.values("b2") == []


def test_a_stale_fetch_answer_is_not_accepted() -> None:
    """The request was sent before b1 lost the partition and got it back; its answer comes after the new session's."""
    w = following(epoch=0)
    old = ask(w)
    w.tell(t_0=info("b1", 1))
    new = w.waiting(ReplicaFetch)[-1]
    assert new is not old
    w.answer(old, ReplicaFetchResponse(partitions={"t-0": data(1, 1, (batch("stale", base=0),))}))
    assert w.values("b2") == []
    assert w.waiting(ReplicaFetch) == [new], "a stale answer opens no session"
    w.answer(new, ReplicaFetchResponse(partitions={"t-0": data(1, 1, (batch("new", base=0),))}))
    assert w.values("b2") == ["new"]


def test_an_answer_of_a_leader_that_leads_nothing_any_more_is_not_accepted() -> None:
    w = following()
    old = ask(w)
    w.tell(t_0=info("b3", 1))
    assert w.brokers["b2"].replication.fetching.keys() == {"b3"}
    w.answer(old, ReplicaFetchResponse(partitions={"t-0": data(1, 1, (batch("x", base=0),))}))
    assert w.values("b2") == []
    assert w.waiting(ReplicaFetch, to="b1") == []


def test_an_answer_from_before_a_crash_is_not_accepted() -> None:
    w = following()
    old = ask(w)
    b2 = w.brokers["b2"]
    b2.crash()
    b2.restart(1)
    w.give_image()
    w.answer(old, ReplicaFetchResponse(partitions={"t-0": data(0, 1, (batch("x", base=0),))}))
    assert w.values("b2") == []


def test_a_generation_is_never_used_twice_also_after_a_crash() -> None:
    """Two incarnations send as many requests; the first one's answer is not treated as the second's."""
    for requests in (0, 1, 2):
        w = following()
        for _ in range(requests):
            answer(w, data(0, 0))
        old = ask(w)
        w.sent = []
        b2 = w.brokers["b2"]
        b2.crash()
        assert b2.replication.fetching == {}
        b2.leadership.forget_metadata()
        w.give_image()
        assert len(w.waiting(ReplicaFetch)) == 1
        w.answer(old, ReplicaFetchResponse(partitions={"t-0": data(0, 1, (batch("x", base=0),))}))
        assert w.values("b2") == []


# truncation


@pytest.mark.parametrize(
    ("diverging", "epoch", "kept"),
    [
        ((2, 1), 1, ["a", "b"]),  # the leader's part ends with the follower's
        ((1, 1), 1, ["a"]),  # the leader's part ends earlier
        ((4, 1), 1, ["a", "b"]),  # the follower's own part ends earlier (KIP-279)
        ((0, 0), 0, []),
    ],
)
def test_a_follower_that_diverges_cuts_to_the_earlier_of_both_ends(
    diverging: tuple[int, int], epoch: int, kept: list[str]
) -> None:
    w = holding(("a", 1), ("b", 1), ("c", 2), ("d", 2))
    end, of_epoch = diverging
    answer(w, data(5, 0, diverging_offset=end, diverging_epoch=of_epoch))
    assert w.values("b2") == kept
    cut = w.find_notes("t-0", "truncate")[0]
    assert (cut.node, cut.cause, cut.data) == ("b2", 6, {"partition": "t-0", "offset": len(kept)})
    last = 1 if kept else -1
    assert ask(w).body.positions == {"t-0": (len(kept), last)}


def test_before_kip_101_the_diverging_epoch_is_not_looked_at() -> None:
    w = ReplicaWorld(real=("b2",), off=(LEADER_EPOCH.name,))
    w.tell(t_0=info("b1", 0))
    answer(w, data(0, 0, (batch("a", epoch=1, base=0), batch("b", epoch=2, base=1), batch("c", epoch=2, base=2))))
    answer(w, data(0, 0, diverging_offset=2, diverging_epoch=1))
    assert w.values("b2") == ["a", "b"], "with epochs it would be a alone"


def test_a_truncation_rebuilds_what_is_known_of_producers_at_this_time() -> None:
    w = holding(("a", 1), ("b", 1))
    w.run_for(500)
    seen: list[tuple[int, int]] = []
    w.log("b2").truncate = lambda offset, now=0: seen.append((offset, now))  # type: ignore[method-assign]
    w.brokers["b2"].replication.truncate("t-0", 1, 4)
    assert seen == [(1, 500)]


def test_a_follower_that_ends_before_the_leaders_log_begins_anew_there() -> None:
    w = holding(("a", 1), ("b", 1))
    answer(w, data(5, 9, (batch("z", epoch=5, base=8),), log_start_offset=8))
    assert w.values("b2") == ["z"]
    log = w.log("b2")
    assert (log.log_start_offset, log.log_end_offset, log.high_watermark) == (8, 9, 9)
    assert w.find_notes("t-0", "truncate")[0].data == {"partition": "t-0", "offset": 0}
    assert w.find_notes("t-0", "truncate")[0].cause == 6


def test_a_follower_that_ends_where_the_leaders_log_begins_keeps_what_it_has() -> None:
    w = holding(("a", 1), ("b", 1))
    w.log("b2").advance(2)
    answer(w, data(5, 2, log_start_offset=2))
    assert (w.values("b2"), w.log("b2").log_start_offset) == (["a", "b"], 2)
    assert w.find_notes("t-0", "truncate") == []
    (note,) = w.find_notes("log start")
    assert (note.node, note.cause, note.data["log_start_offset"]) == ("b2", 6, 2)
    answer(w, data(5, 2, log_start_offset=2))
    assert len(w.find_notes("log start")) == 1


# errors


@pytest.mark.parametrize("response", [None, ReplicaFetchResponse(error=Error.UNKNOWN_LEADER_EPOCH, partitions={})])
def test_without_an_answer_or_with_a_leader_behind_the_follower_comes_back_after_a_second(
    response: ReplicaFetchResponse | None,
) -> None:
    w = following()
    w.log("b2")
    w.answer(ask(w), response)
    assert w.waiting(ReplicaFetch) == []
    assert w.timers[-1] == ("b2", 1_000, True)
    w.run_for(999)
    assert w.waiting(ReplicaFetch) == []
    w.run_for(1)
    sent = ask(w)
    assert (sent.body.session_epoch, sent.cause, sent.body.positions) == (0, 6, {"t-0": (0, -1)})


def test_nobody_comes_back_to_a_leader_that_was_left_meanwhile() -> None:
    w = following()
    w.answer(ask(w), None)
    w.tell(t_0=info("b3", 1))
    w.run_for(1_000)
    assert w.waiting(ReplicaFetch, to="b1") == []


def test_the_wait_ends_when_a_new_image_opens_a_session() -> None:
    w = following()
    w.answer(ask(w), None)
    w.tell(t_0=info("b1", 1))
    w.run_for(1_000)
    assert len(w.waiting(ReplicaFetch, to="b1")) == 1


@pytest.mark.parametrize("error", [Error.FETCH_SESSION_ID_NOT_FOUND, Error.INVALID_FETCH_SESSION_EPOCH])
def test_an_unknown_session_is_opened_again_at_once(error: Error) -> None:
    w = following()
    answer(w, data(0, 0, (batch("x", base=0),)))
    assert ask(w).body.session_epoch == 1
    w.answer(ask(w), ReplicaFetchResponse(error=error, partitions={}))
    sent = ask(w)
    assert (sent.body.session_epoch, sent.body.positions, sent.cause) == (0, {"t-0": (1, 0)}, 6)


# both halves


def test_two_followers_and_a_leader_agree() -> None:
    w = ReplicaWorld()
    w.tell(t_0=info("b1"))
    ends = w.write("b1", "x", "y")
    assert ends == []
    w.settle()
    assert ends == [Error.NONE]
    w.write("b1", "z")
    w.settle()
    assert w.values("b2") == w.values("b3") == ["x", "y", "z"]
    assert w.marks("b1") == (3, 3)
    assert w.marks("b2") == w.marks("b3") == (2, 3), "the new high watermark comes with the next records"


def test_a_new_leader_makes_the_old_one_drop_what_nobody_else_has() -> None:
    w = ReplicaWorld()
    w.tell(t_0=info("b1"))
    for follower in ("b2", "b3"):
        assert w.follow(follower) is NOTHING
    w.sent = []
    lost = w.write("b1", "lost")
    w.tell(t_0=info("b2", 1))
    assert lost == [Error.NOT_LEADER_OR_FOLLOWER]
    kept = w.write("b2", "kept")
    assert kept == []
    w.settle()
    assert kept == [Error.NONE]
    assert w.values("b1") == w.values("b2") == w.values("b3") == ["kept"]
    assert w.find_notes("t-0", "truncate")[0].data == {"partition": "t-0", "offset": 0}


def test_the_names_of_the_replicas_are_those_of_the_image() -> None:
    assert following().image.partitions["t-0"].replicas == BROKERS
