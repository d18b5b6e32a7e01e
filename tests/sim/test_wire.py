"""Requests and responses by themselves: latency, order, time-outs, what closes a connection and what does not."""

from __future__ import annotations

import pytest

from kafkalab.faults.frame import Delay, Drop, Duplicate, Hold, Reorder
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.add_partitions_to_txn import AddPartitionsToTxn
from kafkalab.protocol.messages.heartbeat import HeartbeatResponse
from kafkalab.protocol.messages.join_group import JoinGroup
from kafkalab.sim.in_flight_requests import REQUEST_TIMEOUT_MS
from kafkalab.trace import Frame
from tests.sim.wire import NEVER, Wire


def test_a_request_arrives_within_milliseconds_and_its_response_comes_back() -> None:
    w = Wire()
    ended = w.ask("a", "b1", cause=0)
    w.run_for(5)
    (frame,) = w.arrived["b1"]
    assert (frame.name, frame.kind, frame.sender, frame.receiver) == ("Heartbeat", "request", "a", "b1")
    assert (frame.fate, frame.attempt, frame.correlation_id) == ("delivered", 1, w.cluster.network.frames_sent)
    assert 1 <= frame.received_ms - frame.sent_ms <= 4
    sent, received = (w.cluster.trace.events[s] for s in (frame.sent_step, frame.received_step))
    assert (sent.node, sent.kind, sent.name, sent.cause, sent.frame) == ("a", "send", "Heartbeat", 0, frame.id)
    assert sent.data is received.data is frame
    assert (received.node, received.kind, received.name) == ("b1", "receive", "Heartbeat")
    assert (received.cause, received.frame) == (frame.sent_step, frame.id)
    w.answer("b1", cause=frame.received_step)
    w.run_for(5)
    assert (ended.response, ended.times) == (HeartbeatResponse(), 1)
    response = w.cluster.trace.frames[f"HeartbeatResponse#{frame.id.partition('#')[2]}"]
    assert (response.of, response.sender, response.receiver, response.kind) == (frame.id, "b1", "a", "response")
    assert (response.correlation_id, response.version) == (frame.correlation_id, frame.version)
    assert ended.cause == response.received_step
    assert w.cluster.trace.events[response.sent_step].cause == frame.received_step
    assert w.cluster.network.frames_sent == len(w.cluster.trace.frames)
    w.run_for(60_000)
    assert ended.times == 1
    assert [e.name for e in w.cluster.trace.of("timer") if e.node == "a"] == []


@pytest.mark.parametrize("seed", range(5))
def test_latencies_differ_and_never_change_the_order_on_a_connection(seed: int) -> None:
    w = Wire(seed=seed)
    for _ in range(20):
        w.ask("a", "b1")
        w.ask("a", "b2")
        w.run_for(1)
    w.run_for(10)
    for broker in ("b1", "b2"):
        steps = [f.sent_step for f in w.arrived[broker]]
        assert (len(steps), steps) == (20, sorted(steps))
        assert len({f.received_ms - f.sent_ms for f in w.arrived[broker]}) > 1


def test_a_seed_gives_the_same_latencies_for_good() -> None:
    """Saved scenarios and codes hold the seed and no latency."""
    found = []
    for seed in (1, 2):
        w = Wire(seed=seed)
        for _ in range(6):
            w.ask("a", "b1")
            w.run_for(5)
            w.answer("b1")
            w.run_for(5)
        frames = [f for f in w.cluster.trace.frames.values() if f.name.startswith("Heartbeat")]
        found.append([frame.received_ms - frame.sent_ms for frame in frames])
    assert found == [[3, 2, 2, 4, 1, 3, 4, 4, 4, 4, 2, 1], [3, 1, 4, 3, 4, 1, 3, 1, 4, 2, 4, 4]]


def test_a_frame_may_arrive_before_an_earlier_one_of_another_connection() -> None:
    w = Wire()
    for _ in range(20):
        w.ask("a", "b1")
        w.ask("a", "b2")
        w.run_for(5)
    overtaken = [x.received_ms > y.received_ms for x, y in zip(w.arrived["b1"], w.arrived["b2"], strict=True)]
    assert 0 < sum(overtaken) < 20


def test_without_latency_a_frame_arrives_at_once() -> None:
    w = Wire()
    w.cluster.network.latency_min_ms, w.cluster.network.latency_spread_ms = 0, 1
    w.ask("a", "b1")
    w.run_for(1)
    assert [f.received_ms for f in w.arrived["b1"]] == [0]


def test_a_client_sends_the_versions_of_its_profile_and_a_broker_the_newest() -> None:
    w = Wire()
    body = AddPartitionsToTxn(transactional_id="t", producer_id=1, producer_epoch=0, partitions=("out-0",))
    for sender in ("a", "b2"):
        w.ask(sender, "b1", body)
    w.cluster.network.request("a", "b1", body, None, 0, asked_version=4)
    w.run_for(5)
    sent = [f for f in w.cluster.trace.frames.values() if f.body is body]
    assert [(f.version, f.category) for f in sent] == [(3, "transaction"), (5, "verification"), (4, "transaction")]


# time-outs


@pytest.mark.parametrize("timeout_ms", [1, 2])
def test_a_request_may_have_the_shortest_time(timeout_ms: int) -> None:
    w = Wire()
    ended = w.ask("a", "b1", timeout_ms=timeout_ms)
    w.run_for(100)
    assert (ended.response, ended.at_ms) == (None, timeout_ms)


def test_a_request_that_says_how_long_its_answer_may_take_has_that_time() -> None:
    w = Wire()
    ended = w.ask("a", "b1", JoinGroup(group_id="g", rebalance_timeout_ms=60_000, protocols={}))
    w.run_for(REQUEST_TIMEOUT_MS + 100)
    assert ended.response is NEVER
    w.run_for(REQUEST_TIMEOUT_MS + 5_000)
    assert (ended.response, ended.at_ms) == (None, 65_000)


def test_a_request_without_an_answer_ends_after_thirty_seconds() -> None:
    w = Wire()
    ended = w.ask("a", "b1")
    w.run_for(REQUEST_TIMEOUT_MS - 1)
    assert ended.response is NEVER
    w.run_for(2)
    assert (ended.response, ended.at_ms, ended.times) == (None, REQUEST_TIMEOUT_MS, 1)
    (event,) = [e for e in w.cluster.trace.of("timer", "request timeout") if e.node == "a"]
    assert (event.data, event.cause, ended.cause) == ({"to": "b1", "request": "Heartbeat"}, 0, event.step)


def test_a_time_that_may_run_out_keeps_no_run_going() -> None:
    w = Wire()
    w.run_for(10)
    before = w.cluster.schedule.foreground
    w.ask("a", "b1", timeout_ms=500)
    assert w.cluster.schedule.foreground == before + 1, "the frame on its way does"
    w.run_for(10)
    assert w.cluster.schedule.foreground == before


def test_each_request_has_its_own_time() -> None:
    w = Wire()
    long, short = w.ask("a", "b1"), w.ask("a", "b2", timeout_ms=500)
    w.run_for(100)
    later = w.ask("a", "b2", timeout_ms=500)
    w.run_for(399)
    assert short.response is NEVER
    w.run_for(1)
    assert (short.at_ms, later.at_ms) == (500, 500), "the connection is closed, with all that is under way on it"
    assert long.response is NEVER


def test_a_timeout_closes_the_connection_for_all_that_is_under_way_there_and_nowhere_else() -> None:
    w = Wire()
    first = w.ask("a", "b1", timeout_ms=500)
    second, elsewhere, other = w.ask("a", "b1"), w.ask("a", "b2"), w.ask("c", "b1")
    background = w.ask("a", "b1", background=True)
    w.run_for(500)
    assert (first.response, second.response) == (None, None)
    assert (elsewhere.response, other.response, background.response) == (NEVER, NEVER, NEVER)


def test_a_background_timeout_does_not_close_the_foreground_connection() -> None:
    w = Wire(Drop("Heartbeat#1"))
    background = w.ask("a", "b1", background=True, timeout_ms=500)
    foreground, also = w.ask("a", "b1"), w.ask("a", "b1", background=True)
    w.run_for(500)
    assert background.response is None
    assert (foreground.response, also.response) == (NEVER, NEVER)
    w.answer("b1", number=0)
    w.run_for(5)
    assert foreground.response == HeartbeatResponse()


def test_an_answered_request_does_not_time_out_and_the_next_one_does_at_its_own_time() -> None:
    w = Wire()
    first = w.ask("a", "b1", timeout_ms=500)
    w.run_for(5)
    w.answer("b1")
    w.run_for(195)
    second = w.ask("a", "b1", timeout_ms=500)
    w.run_for(499)
    assert (first.response, second.response) == (HeartbeatResponse(), NEVER)
    w.run_for(1)
    assert (second.response, second.at_ms, first.times) == (None, 700, 1)
    w.run_for(100)
    third = w.ask("a", "b1", timeout_ms=500)
    w.run_for(500)
    assert (third.response, third.at_ms) == (None, 1_300)


def test_an_answer_after_the_timeout_is_not_heard() -> None:
    w = Wire()
    ended = w.ask("a", "b1", timeout_ms=500)
    w.run_for(500)
    w.answer("b1")
    w.run_for(5)
    assert (ended.response, ended.times) == (None, 1)


# attempts


def test_the_same_request_after_a_failure_is_the_next_attempt() -> None:
    w = Wire()
    first = w.ask("a", "b1", timeout_ms=500)
    w.run_for(500)
    body = w.arrived["b1"][0].body
    w.ask("a", "b2", body)
    w.run_for(5)
    assert w.arrived["b2"][0].attempt == 2
    w.answer("b2", HeartbeatResponse(error=Error.COORDINATOR_LOAD_IN_PROGRESS))
    w.run_for(5)
    w.ask("a", "b2", body)
    w.ask("a", "b2")
    w.ask("c", "b2", body)
    w.run_for(5)
    assert [f.attempt for f in w.arrived["b2"][1:]] == [3, 1, 1]
    w.answer("b2", number=1)
    w.run_for(5)
    assert w.cluster.trace.frames[w.cluster.trace.events[-1].frame].attempt == 3
    assert first.response is None


def test_the_same_request_after_a_success_is_a_first_attempt() -> None:
    w = Wire()
    w.ask("a", "b1")
    w.run_for(5)
    body = w.arrived["b1"][0].body
    w.answer("b1")
    w.run_for(5)
    w.ask("a", "b2", body)
    w.run_for(5)
    assert w.arrived["b2"][0].attempt == 1


# faults on frames


def test_a_frame_may_be_delayed_and_doubled() -> None:
    w = Wire(Delay("Heartbeat#1", 100), Duplicate("Heartbeat#1"))
    w.ask("a", "b1")
    w.run_for(100)
    assert w.arrived["b1"] == []
    w.run_for(10)
    assert [f.id for f in w.arrived["b1"]] == ["Heartbeat#1", "Heartbeat#1~copy"]


@pytest.mark.parametrize("seed", range(5))
def test_frames_that_a_gate_has_kept_arrive_once_and_in_order_when_they_fly(seed: int) -> None:
    w = Wire(seed=seed)
    kept: list[Frame] = []

    def gate(frame: Frame) -> bool:
        if frame.name == "Heartbeat":
            kept.append(frame)
        return frame.name == "Heartbeat"

    w.cluster.network.gate = gate
    for _ in range(5):
        w.ask("a", "b1")
    w.run_for(10)
    assert w.arrived["b1"] == []
    for frame in kept:
        w.cluster.network.fly(frame)
    w.run_for(10)
    assert w.arrived["b1"] == kept


def test_a_duplicate_arrives_one_millisecond_later_and_only_one_answer_counts() -> None:
    w = Wire(Duplicate("Heartbeat#1"))
    ended = w.ask("a", "b1")
    w.run_for(10)
    first, copy = w.arrived["b1"]
    assert (copy.id, copy.copy_of, copy.received_ms - first.received_ms) == ("Heartbeat#1~copy", "Heartbeat#1", 1)
    w.answer("b1", number=0)
    w.answer("b1", HeartbeatResponse(error=Error.UNKNOWN_MEMBER_ID), number=1)
    w.run_for(10)
    assert (ended.response, ended.times) == (HeartbeatResponse(), 1)
    assert [f.of for f in w.cluster.trace.frames.values() if f.name == "HeartbeatResponse"] == ["Heartbeat#1"] * 2
    assert w.cluster.unused_faults == ()


def test_a_delayed_frame_arrives_so_much_later_and_holds_nothing_up() -> None:
    plain, w = Wire(), Wire(Delay("Heartbeat#1", 50))
    for wire in (plain, w):
        wire.ask("a", "b1")
        wire.ask("a", "b1")
        wire.run_for(60)
    usual = plain.arrived["b1"][0].received_ms
    assert [f.id for f in w.arrived["b1"]] == ["Heartbeat#2", "Heartbeat#1"]
    assert w.arrived["b1"][1].received_ms == usual + 50
    assert w.arrived["b1"][0].received_ms <= 4


def test_a_dropped_frame_never_arrives() -> None:
    w = Wire(Drop("Heartbeat#1"))
    ended = w.ask("a", "b1")
    w.ask("a", "b1")
    w.run_for(10)
    assert [f.id for f in w.arrived["b1"]] == ["Heartbeat#2"]
    frame = w.cluster.trace.frames["Heartbeat#1"]
    assert frame.fate == "dropped"
    (fault,) = w.cluster.trace.of("fault")
    assert (fault.node, fault.name, fault.cause, fault.frame) == ("a", "Drop", frame.sent_step, "Heartbeat#1")
    assert fault.data == {"fault": "Drop(frame='Heartbeat#1')"}
    w.run_for(REQUEST_TIMEOUT_MS)
    assert ended.response is None


def test_a_held_frame_waits_until_it_is_let_go() -> None:
    w = Wire(Hold("Heartbeat#1"))
    w.ask("a", "b1")
    w.ask("a", "b1")
    w.run_for(100)
    assert [f.id for f in w.arrived["b1"]] == ["Heartbeat#2"]
    assert w.cluster.trace.frames["Heartbeat#1"].fate == "in flight"


def test_a_reordered_frame_arrives_right_after_the_other_one() -> None:
    w = Wire(Reorder("Heartbeat#1", after="Heartbeat#3"))
    for _ in range(3):
        w.ask("a", "b1")
    w.run_for(20)
    assert [f.id for f in w.arrived["b1"]] == ["Heartbeat#2", "Heartbeat#3", "Heartbeat#1"]


def test_a_frame_cannot_come_after_one_that_was_sent_before_it() -> None:
    w = Wire(Reorder("Heartbeat#2", after="Heartbeat#1"))
    for _ in range(2):
        w.ask("a", "b1")
    w.run_for(20)
    assert [f.id for f in w.arrived["b1"]] == ["Heartbeat#1", "Heartbeat#2"]
    assert len(w.cluster.unused_faults) == 1
