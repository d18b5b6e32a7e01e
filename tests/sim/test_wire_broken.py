"""What becomes of frames and requests when a node dies, a link is cut or a connection breaks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kafkalab.faults.frame import Delay, Drop, Hold, Reorder
from kafkalab.faults.link import Cut, Heal
from kafkalab.faults.node import Crash, Pause, Restart
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.heartbeat import Heartbeat, HeartbeatResponse
from kafkalab.protocol.messages.replica_fetch import ReplicaFetch, ReplicaFetchResponse
from kafkalab.sim.in_flight_requests import REPLICA_FETCH_WAIT_MS, REQUEST_TIMEOUT_MS
from tests.sim.wire import NEVER, Wire

HEARTBEAT = Heartbeat(group_id="g", generation_id=1, member_id="m")
SESSION = 9


def strike(w: Wire, *faults: Any) -> None:
    """Let faults happen now."""
    for fault in faults:
        w.cluster.plan(replace(fault, at_step=0))


def frame_of(w: Wire, name: str) -> tuple[str, int]:
    frame = w.cluster.trace.frames[name]
    return frame.fate, frame.received_step


# a node dies


def test_a_frame_under_way_to_a_node_that_dies_is_lost_and_its_request_ends_after_a_millisecond() -> None:
    w = Wire()
    ended, elsewhere = w.ask("a", "b1"), w.ask("a", "b2")
    strike(w, Crash("b1"))
    crash = w.cluster.trace.of("crash")[0]
    w.run_for(10)
    assert (ended.response, ended.cause, ended.at_ms, ended.times) == (None, crash.step, crash.at_ms + 1, 1)
    assert frame_of(w, "Heartbeat#1") == ("lost", -1)
    assert (w.arrived["b1"], len(w.arrived["b2"]), elsewhere.response) == ([], 1, NEVER)


def test_a_request_to_a_dead_node_is_lost_and_ends_after_a_millisecond() -> None:
    w = Wire()
    strike(w, Crash("b1"))
    w.run_for(5)
    sent_ms, ended = w.now, w.ask("a", "b1")
    w.run_for(5)
    sent_step = w.cluster.trace.frames["Heartbeat#1"].sent_step
    assert (ended.response, ended.cause, ended.at_ms) == (None, sent_step, sent_ms + 1)
    assert frame_of(w, "Heartbeat#1") == ("lost", -1)


def test_a_response_to_a_dead_node_is_lost_and_ends_nothing() -> None:
    w = Wire()
    ended = w.ask("b2", "b1")
    w.run_for(5)
    other = w.ask("a", "b1")
    strike(w, Crash("b2"))
    w.answer("b1")
    w.run_for(5)
    assert frame_of(w, "HeartbeatResponse#1") == ("lost", -1)
    assert (ended.times, other.times) == (0, 0)


@pytest.mark.parametrize(("sent", "fate"), [(False, "lost"), (True, "delivered")])
def test_what_a_node_sends_as_it_dies_is_lost_unless_it_was_handed_over(sent: bool, fate: str) -> None:
    w = Wire()
    w.ask("b2", "b1")
    step = w.cluster.trace.frames["Heartbeat#1"].sent_step
    w = Wire(Crash("b2", at_step=step, sent=sent))
    w.ask("b2", "b1")
    w.run_for(5)
    assert w.cluster.trace.frames["Heartbeat#1"].fate == fate
    assert len(w.arrived["b1"]) == sent


def test_a_frame_for_an_earlier_incarnation_is_lost() -> None:
    w = Wire()
    w.ask("a", "b1")
    strike(w, Crash("b1"), Restart("b1"))
    w.run_for(10)
    assert (frame_of(w, "Heartbeat#1"), w.arrived["b1"]) == (("lost", -1), [])
    w.ask("a", "b1")
    w.run_for(10)
    assert [f.id for f in w.arrived["b1"]] == ["Heartbeat#2"]


@pytest.mark.parametrize("faults", [(Crash("b1"),), (Crash("b1"), Restart("b1"))], ids=["dead", "restarted"])
def test_a_node_that_dies_as_a_request_arrives_does_not_handle_it(faults: tuple[Crash | Restart, ...]) -> None:
    w = Wire()
    w.ask("a", "b1")
    w.run_for(5)
    (whole,) = w.arrived["b1"]
    w = Wire(*(replace(fault, at_step=whole.received_step) for fault in faults))
    w.ask("a", "b1")
    w.run_for(5)
    assert frame_of(w, "Heartbeat#1") == ("delivered", whole.received_step)
    assert w.arrived["b1"] == []
    w.ask("c", "b2")
    w.run_for(5)
    assert len(w.arrived["b2"]) == 1, "other nodes still handle theirs"


def test_a_node_that_has_restarted_gives_its_new_requests_their_own_time() -> None:
    w = Wire()
    w.ask("b2", "b1")
    w.run_for(5)
    strike(w, Crash("b2"), Restart("b2"))
    asked_ms, ended = w.now, w.ask("b2", "b1")
    w.run_for(2 * REQUEST_TIMEOUT_MS)
    assert (ended.response, ended.at_ms) == (None, asked_ms + REQUEST_TIMEOUT_MS)


def test_a_node_that_dies_forgets_its_own_requests() -> None:
    w = Wire()
    ended, other = w.ask("a", "b1"), w.ask("c", "b1", timeout_ms=500)
    w.run_for(5)
    strike(w, Crash("a"))
    w.answer("b1", number=0)
    w.run_for(REQUEST_TIMEOUT_MS)
    assert (ended.times, other.times) == (0, 1)


def test_a_crash_behind_a_cut_link_is_noticed_only_by_a_time_out() -> None:
    w = Wire()
    cut, whole = w.ask("a", "b1"), w.ask("c", "b1")
    w.run_for(5)
    strike(w, Cut("a", "b1"), Crash("b1"))
    w.run_for(10)
    assert (cut.response, whole.response) == (NEVER, None)
    w.run_for(REQUEST_TIMEOUT_MS)
    assert cut.response is None


# a link is cut


def test_frames_under_way_are_dropped_when_their_link_is_cut_and_others_are_not() -> None:
    w = Wire()
    w.ask("a", "b1")
    w.ask("c", "b1")
    w.ask("a", "b2")
    strike(w, Cut("a", "b1"))
    w.ask("c", "b2")
    w.run_for(10)
    assert frame_of(w, "Heartbeat#1") == ("dropped", -1)
    assert frame_of(w, "Heartbeat#4")[0] == "delivered"
    assert ([f.sender for f in w.arrived["b1"]], len(w.arrived["b2"])) == (["c"], 2)


def test_a_frame_over_a_cut_link_is_dropped_until_the_link_is_healed() -> None:
    w = Wire(Reorder("Heartbeat#1", after="Heartbeat#2"))
    w.ask("a", "b2")
    strike(w, Cut("b1", "a"))
    w.ask("a", "b1")
    assert w.cluster.trace.frames["Heartbeat#2"].fate == "dropped"
    w.run_for(10)
    assert [f.id for f in w.arrived["b2"]] == ["Heartbeat#1"], "what waits for a dropped frame waits no longer"
    strike(w, Heal("a", "b1"))
    w.ask("a", "b1")
    w.run_for(10)
    assert [f.id for f in w.arrived["b1"]] == ["Heartbeat#3"]


# over TCP


@pytest.mark.parametrize("breaks", [False, True])
def test_over_tcp_a_dropped_frame_breaks_its_connection(breaks: bool) -> None:
    w = Wire(Drop("Heartbeat#2"))
    w.cluster.network.breaks_on_drop = breaks
    kept, dropped = w.ask("a", "b1"), w.ask("a", "b1")
    w.run_for(10)
    if breaks:
        frame = w.cluster.trace.frames["Heartbeat#2"]
        assert (dropped.response, dropped.cause, dropped.at_ms) == (None, frame.sent_step, frame.sent_ms + 1)
    assert (kept.response, dropped.response) == (NEVER, None if breaks else NEVER)


# time-outs


def test_the_cause_of_what_a_closed_connection_fails_is_the_cause_of_the_request() -> None:
    w = Wire()
    w.cluster.record("a", "operation", "poll", -1, {})
    step = w.cluster.record("a", "operation", "send", -1, {})
    first, second = w.ask("a", "b1", timeout_ms=500), w.ask("a", "b1", cause=step)
    w.run_for(500)
    (event,) = [e for e in w.cluster.trace.of("timer", "request timeout") if e.node == "a"]
    assert (first.cause, second.cause) == (event.step, step)


def test_the_network_says_while_a_timeout_fails_requests() -> None:
    w = Wire()
    network, seen = w.cluster.network, []
    assert (network.timing_out, network.quiet, network.breaks_on_drop) == (False, False, False)

    def note(response: Any, cause: int) -> None:
        seen.append(network.timing_out)

    for to, timeout_ms in (("b1", 500), ("b1", 0), ("b2", 0)):
        network.request("a", to, HEARTBEAT, note, 0, timeout_ms=timeout_ms)
    w.run_for(500)
    assert (seen, network.timing_out) == ([True, True], False)
    strike(w, Crash("b2"))
    w.run_for(5)
    assert seen[2:] == [False], "a broken connection is no time-out"


def test_a_wait_without_end_is_the_senders_own_affair() -> None:
    w = Wire()
    ended = w.ask("a", "b1", timeout_ms=-1)
    w.run_for(10 * REQUEST_TIMEOUT_MS)
    assert ended.response is NEVER
    w.answer("b1")
    w.run_for(5)
    assert ended.response == HeartbeatResponse()


# replicas' fetches that a leader holds


def replica_fetch(w: Wire) -> Any:
    return w.ask("b2", "b1", ReplicaFetch(replica="b2", session_epoch=SESSION, metadata_version=1, positions={}), True)


def answer_fetches(w: Wire) -> None:
    """Answer the fetches of `replica_fetch`."""
    for frame in list(w.cluster.trace.frames.values()):
        if isinstance(frame.body, ReplicaFetch) and frame.body.session_epoch == SESSION:
            w.cluster.network.respond(frame, ReplicaFetchResponse(partitions={}), 0)


def test_a_held_fetch_does_not_time_out_and_the_next_one_takes_its_place() -> None:
    w = Wire()
    first = replica_fetch(w)
    w.run_for(3 * REQUEST_TIMEOUT_MS)
    assert first.response is NEVER
    second = replica_fetch(w)
    w.run_for(10)
    answer_fetches(w)
    w.run_for(REQUEST_TIMEOUT_MS)
    assert (first.times, second.times) == (0, 1)


@pytest.mark.parametrize(("a", "b"), [("b1", "b2"), ("b2", "b1")])
def test_a_held_fetch_that_is_parted_from_its_leader_times_out_as_the_last_empty_exchange_would(a: str, b: str) -> None:
    w = Wire()
    ended = replica_fetch(w)
    last = 100 * REPLICA_FETCH_WAIT_MS
    w.run_for(last + 120)
    strike(w, Cut(a, b))
    w.run_for(REQUEST_TIMEOUT_MS)
    assert (ended.response, ended.at_ms) == (None, last + REQUEST_TIMEOUT_MS)


def test_a_fetch_whose_answer_is_lost_times_out_and_a_clients_background_request_stays_held() -> None:
    w = Wire(Drop("ReplicaFetchResponse#1"), Drop("HeartbeatResponse#1"))
    fetch, beat = replica_fetch(w), w.ask("a", "b1", background=True)
    w.run_for(10)
    answer_fetches(w)
    w.answer("b1")
    w.run_for(2 * REQUEST_TIMEOUT_MS)
    assert (fetch.response, fetch.at_ms) == (None, REQUEST_TIMEOUT_MS)
    assert beat.response is NEVER


# what was sent


def test_a_frame_that_may_not_come_after_an_earlier_one_still_meets_its_other_faults() -> None:
    w = Wire(Reorder("Heartbeat#2", after="Heartbeat#1"), Delay("Heartbeat#2", 100))
    w.ask("a", "b1")
    w.ask("a", "b1")
    w.run_for(50)
    assert [f.id for f in w.arrived["b1"]] == ["Heartbeat#1"]
    w.run_for(60)
    assert [f.id for f in w.arrived["b1"]] == ["Heartbeat#1", "Heartbeat#2"]


def test_the_network_knows_what_was_sent() -> None:
    w = Wire()
    assert not w.cluster.network.was_sent("Heartbeat#1")
    w.ask("a", "b1")
    assert [w.cluster.network.was_sent(f"Heartbeat#{n}") for n in (1, 2)] == [True, False]


def test_a_response_has_the_category_of_its_request() -> None:
    w = Wire()
    w.ask("a", "b1")
    w.run_for(5)
    w.answer("b1")
    frames = w.cluster.trace.frames
    assert frames["HeartbeatResponse#1"].category == frames["Heartbeat#1"].category == "metadata"


# without frames and events


def test_every_frame_arrives_unless_a_fault_a_gate_a_cut_or_a_node_stands_in_its_way() -> None:
    w = Wire()
    network = w.cluster.network
    assert network.is_whole
    strike(w, Cut("a", "b1"))
    assert not network.is_whole
    strike(w, Heal("a", "b1"), Pause("c"))
    assert not network.is_whole
    w = Wire()
    strike(w, Crash("b2"))
    assert not w.cluster.network.is_whole
    w = Wire()
    w.cluster.network.gate = lambda frame: True
    assert not w.cluster.network.is_whole
    w.ask("a", "b1")
    w.cluster.network.gate = None
    assert not w.cluster.network.is_whole, "a frame is still kept"
    assert not Wire(Hold("Heartbeat#9")).cluster.network.is_whole


def test_a_quiet_network_leaves_no_events_and_remembers_no_failure() -> None:
    w = Wire()
    network, steps = w.cluster.network, w.cluster.trace.steps
    network.quiet = True
    ended = w.ask("a", "b1", HEARTBEAT)
    w.run_for(1)
    w.answer("b1", HeartbeatResponse(error=Error.UNKNOWN_MEMBER_ID))
    w.run_for(1)
    assert (ended.response.error, ended.at_ms, w.cluster.trace.steps) == (Error.UNKNOWN_MEMBER_ID, 1, steps)
    network.quiet = False
    w.ask("a", "b1", HEARTBEAT)
    assert w.cluster.trace.frames["Heartbeat#2"].attempt == 1


def test_a_network_with_a_fault_to_come_is_not_quiet() -> None:
    w = Wire(Hold("Heartbeat#9"))
    w.cluster.network.quiet = True
    w.ask("a", "b1")
    w.run_for(0)
    assert w.arrived["b1"] == []
    w.run_for(5)
    assert frame_of(w, "Heartbeat#1")[0] == "delivered"
