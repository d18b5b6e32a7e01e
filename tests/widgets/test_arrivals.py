"""Which frame in flight arrives next can be chosen; faults on frames leave what is planned for later where it is."""

from __future__ import annotations

from typing import Any

import pytest

from kafkalab import lab00, lab03
from kafkalab.faults.frame import Delay, Drop, Hold, Release, Reorder
from kafkalab.faults.node import Crash
from kafkalab.run.again import run_scenario
from kafkalab.widgets.model.journey import Journey
from kafkalab.widgets.views.sequence import Sequence

ALL = ("transaction", "verification", "replication")


def busy(journey: Journey, least: int) -> int:
    """The first stop at which this many frames are shown in flight."""
    for step in journey.stops():
        journey.step = step
        if len(journey.in_flight()) >= least:
            return step
    raise AssertionError("there is none")


def arrival(journey: Journey, frame: str) -> int:
    received: int | None = journey.payload["frames"][frame]["received"]
    return 10**9 if received is None else received


@pytest.mark.parametrize(("lab", "every"), [(lab00, 2), (lab03, 11)])
def test_each_frame_in_flight_can_be_the_next_to_arrive(lab: Any, every: int) -> None:
    journey = Journey(lab(), groups=ALL)
    tried = 0
    for step in journey.every_stop()[::every]:
        journey.step = step
        flying = journey.in_flight()
        first = min(flying, key=lambda frame: arrival(journey, frame), default="")
        for frame in flying:
            reason = journey.possible("next", frame)
            assert reason == (f"{frame} is the next to arrive already" if frame == first else "")
            if reason:
                with pytest.raises(ValueError, match="is the next to arrive already"):
                    journey.press("next", frame)
                continue
            journey.press("next", frame)
            assert min(flying, key=lambda one: arrival(journey, one)) == frame
            assert journey.step == arrival(journey, frame)
            assert run_scenario(journey.scenario).trace.digest() == journey.cluster.trace.digest()
            journey.press("undo")
            assert (journey.place, journey.scenario.faults) == (0, ())
            journey.step, tried = step, tried + 1
    assert tried > 4


def test_a_choice_is_one_run_of_the_tree_and_its_faults_are_code() -> None:
    journey = Journey(lab03(), groups=ALL)
    journey.step = busy(journey, 3)
    flying = journey.in_flight()
    last = max(flying, key=lambda frame: arrival(journey, frame))
    journey.press("next", last)
    assert len(journey.tree) == 2
    faults = journey.scenario.faults
    late = [fault for fault in faults if isinstance(fault, (Reorder, Delay))]
    assert len(late) == len(faults)
    assert {fault.frame for fault in late} == set(flying) - {last}
    assert sorted(journey.tree[1]["label"]) == sorted(", ".join(map(repr, faults)))
    again = type(journey.scenario).from_json(journey.scenario.to_json())
    assert again.faults == faults
    journey.press("undo")
    journey.press("redo")
    assert journey.scenario.faults == faults


def test_a_held_frame_that_shall_arrive_next_is_released() -> None:
    journey = Journey(lab03())
    journey.press("hold", "EndTxn#1")
    assert "EndTxn#1" in journey.in_flight()
    held = journey.step
    journey.press("next", "EndTxn#1")
    assert journey.scenario.faults == (Hold("EndTxn#1"), Release("EndTxn#1", at_step=held))
    assert journey.payload["events"][journey.step]["frame"] == "EndTxn#1"


def test_a_frame_that_is_not_in_flight_cannot_arrive_next() -> None:
    journey = Journey(lab03())
    sent, received = (journey.payload["frames"]["EndTxn#1"][key] for key in ("sent", "received"))
    for step, reason in ((sent - 1, "EndTxn#1 is not sent yet"), (received, "EndTxn#1 has arrived")):
        journey.step = step
        assert journey.possible("next", "EndTxn#1") == reason
    assert journey.possible("next", "EndTxn#7").startswith("no frame 'EndTxn#7' flies in this run")
    journey.press("drop", "EndTxn#1")
    assert journey.possible("next", "EndTxn#1") == "EndTxn#1 is dropped"
    journey.press("undo")
    journey.press("duplicate", "EndTxn#1")
    assert journey.possible("next", "EndTxn#1~copy").startswith("EndTxn#1~copy is the second delivery of EndTxn#1")


def test_a_fault_on_a_frame_leaves_a_crash_that_is_planned_for_later_at_its_moment() -> None:
    journey = Journey(lab03())
    frame, sent, at = next(
        (f["id"], f["sent"], f["received"] - 1)
        for f in journey.payload["frames"].values()
        if f["received"] and f["received"] - f["sent"] > 3 and f["sent"] > journey.payload["actions"]["start"]
    )
    journey.step, before = at, journey.payload["events"][at]
    journey.press("crash", "b3")
    journey.press("delay", frame, delay_ms=50)
    assert journey.scenario.faults == (Crash("b3", at_step=at + 1), Delay(frame, 50))
    crashed = next(e for e in journey.payload["events"] if e["kind"] == "crash")
    struck = journey.payload["events"][crashed["step"] - 1]
    assert (struck["kind"], struck["text"]) == (before["kind"], before["text"])
    journey.press("goto", "0")
    journey.step = sent
    journey.press("crash", "b3")
    journey.press("drop", frame)
    assert list(journey.scenario.faults) == [Crash("b3", at_step=sent), Drop(frame)]


def test_a_crash_after_sending_lets_the_frame_arrive_and_needs_one_that_is_sent() -> None:
    journey = Journey(lab03())
    sent = journey.step = journey.payload["frames"]["EndTxn#1"]["sent"]
    assert journey.possible("crash", "b1", sent=True) == "b1 sends no frame at this step"
    journey.step = sent + 1
    with pytest.raises(ValueError, match="app sends no frame at this step"):
        journey.press("crash", "app", sent=True)
    journey.step = sent
    journey.press("crash", "app", sent=True)
    assert journey.scenario.faults == (Crash("app", at_step=sent, sent=True),)
    assert journey.payload["frames"]["EndTxn#1"]["fate"] == "delivered"
    assert journey.tree[-1]["outcome"] == "committed"


def test_the_size_of_all_views_is_the_journeys() -> None:
    view = Sequence(lab00())
    before = (view.text(), view.svg())
    view.press("size")
    assert (view.journey.size, view.size) == ("projector", "laptop")
    assert (view.text(), view.svg()) == before
    view.press("size")
    assert view.journey.size == "laptop"
    big = Sequence(lab00(), size="projector")
    big.press("size")
    assert big.journey.size == "laptop"
