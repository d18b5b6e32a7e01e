"""A slow link carries one frame in its time, each way, in order, until it is healed; nothing is lost."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest

from kafkalab import Cluster, Heal, Journey, Throttle, lab03
from kafkalab.explore.candidates import sequences_after
from kafkalab.explore.event_words import describe_event
from kafkalab.explore.fault_sequence import KINDS, kinds_named
from kafkalab.explore.sampling import Targets
from kafkalab.faults.registry import fault_from_json, fault_to_json
from kafkalab.run.again import run_scenario
from kafkalab.run.source import run_of
from kafkalab.sim.cluster import ran
from kafkalab.sim.scenario import Scenario
from kafkalab.wire.live import fault_of

BROKERS = ("b1", "b2", "b3")
CLIENT = lab03().programs[0].node


def slow_down(frame_ms: int, *more: Heal) -> Cluster:
    return ran(lab03().with_faults(Throttle(CLIENT, BROKERS, frame_ms, at_ms=1), *more))


def test_a_slow_link_carries_one_frame_in_its_time_each_way_and_loses_none() -> None:
    cluster = slow_down(700)
    assert cluster.unused_faults == ()
    for broker in BROKERS:
        for sender, receiver in ((CLIENT, broker), (broker, CLIENT)):
            frames = [f for f in cluster.trace.frames.values() if (f.sender, f.receiver) == (sender, receiver)]
            times = [frame.received_ms for frame in frames if frame.sent_ms > 1]
            assert all(late - early >= 700 for early, late in pairwise(times))
            assert all(frame.received_ms - frame.sent_ms >= 700 for frame in frames if frame.sent_ms > 1)
            assert {frame.fate for frame in frames} <= {"delivered"}
    assert cluster.outcome() == ran(lab03()).outcome()


def test_a_healed_link_is_as_fast_as_before() -> None:
    late = [f for f in slow_down(700, Heal(CLIENT, BROKERS, at_ms=900)).trace.frames.values() if f.sent_ms > 5_000]
    assert all(f.received_ms - f.sent_ms < 10 for f in late if f.fate == "delivered")
    assert slow_down(700).trace.digest() != slow_down(700, Heal(CLIENT, BROKERS, at_ms=900)).trace.digest()


def test_a_link_slower_than_a_request_may_take_times_out() -> None:
    assert any(event.name == "request timeout" for event in slow_down(31_000).trace.events)


def test_it_is_a_button_words_and_a_file() -> None:
    journey = Journey(lab03())
    journey.press("throttle", "b1|b2", frame_ms=40)
    fault = journey.scenario.faults[-1]
    assert isinstance(fault, Throttle)
    assert (fault.a, fault.b, fault.frame_ms) == ("b1", "b2", 40)
    assert journey.possible("throttle", "b1|b2") == "frames are slow there already; heal it first"
    assert journey.possible("heal", "b1|b2") == ""
    assert "milliseconds from 1 on" in journey.possible("throttle", "b1|b3", frame_ms=0)
    assert fault_from_json(fault_to_json(fault)) == fault
    assert Scenario.from_json(journey.scenario.to_json()) == journey.scenario
    assert fault_of("Throttle:b1|b2:40:3") == Throttle("b1", "b2", 40, at_ms=3)
    assert "One frame in 40 ms" in journey.payload["events"][journey.tree[-1]["at"] + 1]["text"]


def test_an_explanation_tells_of_it() -> None:
    cluster = slow_down(1_700)
    (event,) = (event for event in cluster.trace.events if event.name == "Throttle")
    words = f"from 1 ms on one frame in 1,700 ms passes between {CLIENT} and b1 and {CLIENT} and b2 and {CLIENT} and b3"
    assert describe_event(event, run_of(cluster)) == words


def test_a_search_tries_it_where_it_is_asked_to() -> None:
    assert kinds_named(("throttle",)) == ("throttle",)
    assert "throttle" not in KINDS
    run = run_scenario(lab03())
    found, _ = sequences_after(run, run.start, ("throttle",))
    assert {tuple(map(type, one.faults)) for one in found} == {(Throttle, Heal)}
    for one in found[:3]:
        assert run_scenario(lab03().with_faults(*one.faults)).unused_faults == ()
    drawn = Targets.of(run).sequence(("throttle",), Random(1))
    assert tuple(map(type, drawn.faults)) == (Throttle, Heal)


@pytest.mark.parametrize("wrong", [0, -1, True, "5"])
def test_a_time_that_is_none_is_refused(wrong: object) -> None:
    with pytest.raises(ValueError, match="frame_ms is a number of milliseconds from 1 on"):
        lab03().with_faults(Throttle("b1", "b2", wrong, at_ms=1))  # type: ignore[arg-type]
