"""What a press on a journey does, and why one would change nothing: without a widget and without a browser."""

from __future__ import annotations

from typing import Any

import pytest

from kafkalab import lab03
from kafkalab.faults.frame import Drop
from kafkalab.faults.node import Crash
from kafkalab.protocol.rules import EPOCH_PER_TRANSACTION
from kafkalab.run.again import agreement
from kafkalab.widgets.model import futures
from kafkalab.widgets.model import journey as journey_module
from kafkalab.widgets.model.journey import Journey


@pytest.fixture
def journey() -> Journey:
    return Journey(lab03())


def in_flight_at(journey: Journey, step: int) -> list[str]:
    journey.step = step
    return journey.in_flight()


def test_at_the_ends_of_the_walk_there_is_nowhere_to_go(journey: Journey) -> None:
    moves = ("left", "home", "right", "end")
    assert [journey.possible(move) for move in moves] == ["this is the first step"] * 2 + ["", ""]
    journey.press("end")
    assert journey.step == max(journey.stops())
    assert [journey.possible(move) for move in moves] == ["", ""] + ["this is the last step"] * 2
    journey.press("left")
    assert [journey.possible(move) for move in moves] == [""] * 4
    journey.press("home")
    assert journey.step == min(journey.stops())
    journey.step = 0
    assert [journey.possible(move) for move in moves] == ["this is the first step"] * 2 + ["", ""]


@pytest.mark.parametrize(
    ("action", "target", "reason"),
    [
        ("hide", "b1", ""),
        ("show", "nothing", ""),
        ("every", "", ""),
        ("undo", "", "there is no fault to undo"),
        ("redo", "", "nothing has been undone"),
        ("goto", "0", "this run is shown already"),
        ("name", "", "the run has this name already"),
        ("name", "first", ""),
        ("rule_off", EPOCH_PER_TRANSACTION.name, ""),
        ("drop", "EndTxn#1", ""),
        ("next", "EndTxn#1", "EndTxn#1 is not sent yet"),
        ("next_change", "", ""),
        ("find", "EndTxn#1", ""),
    ],
)
def test_a_press_that_would_change_nothing_says_why(journey: Journey, action: str, target: str, reason: str) -> None:
    assert journey.possible(action, target) == reason
    assert (journey.place, journey.scenario, len(journey.tree)) == (0, lab03(), 1)


@pytest.mark.parametrize(
    ("action", "target", "message"),
    [
        ("rule_on", EPOCH_PER_TRANSACTION.name, "is on"),
        ("rule_off", "dedup", "no rule is called 'dedup'"),
        ("open", "", "no step is folded here"),
        ("goto", "1", "goto needs the number of a run, from 0 to 0, not '1'"),
    ],
)
def test_a_refused_press_gives_the_reason_and_changes_nothing(
    journey: Journey, action: str, target: str, message: str
) -> None:
    assert message in journey.possible(action, target)
    with pytest.raises(ValueError, match=message):
        journey.press(action, target)
    assert (journey.place, len(journey.tree)) == (0, 1)


def test_a_fault_without_a_frame_strikes_the_one_sent_at_the_cursor(journey: Journey) -> None:
    frame = journey.payload["frames"]["EndTxn#1"]
    journey.step = frame["received"]
    assert journey.possible("drop").startswith(f"no frame is sent at step {frame['received']}")
    journey.step = frame["sent"]
    assert journey.possible("drop") == ""
    journey.press("drop")
    assert journey.scenario.faults == (Drop("EndTxn#1"),)


def test_after_a_second_fault_on_a_frame_the_cursor_stands_where_that_one_strikes(journey: Journey) -> None:
    journey.press("delay", "EndTxn#1", delay_ms=50)
    first = journey.step
    journey.press("duplicate", "EndTxn#1")
    assert [e.data["fault"] for e in journey.cluster.trace.of("fault")] == list(map(repr, journey.scenario.faults))
    assert [e.step for e in journey.cluster.trace.of("fault")] == [first, journey.step]


def test_how_long_a_delay_is_decides_whether_it_changes_anything(journey: Journey) -> None:
    journey.step = journey.payload["frames"]["EndTxn#1"]["sent"]
    for target in ("", "EndTxn#1"):
        assert journey.possible("delay", target) == ""
        assert "0" in journey.possible("delay", target, delay_ms=0)


def test_a_rule_switched_off_and_on_says_so_in_the_tree(journey: Journey) -> None:
    name = EPOCH_PER_TRANSACTION.name
    first = journey.step
    journey.press("rule_off", name)
    journey.press("rule_on", name)
    assert [entry["label"] for entry in journey.tree] == ["", f"without: {name}", f"with: {name}"]
    assert journey.scenario == lab03()
    assert journey.step == first == journey.tree[1]["landed"]
    (_, one), (_, other) = journey.run_at(0), journey.run_at(1)
    assert journey.tree[1]["at"] + 1 == agreement(one.trace, other.trace) > first


def test_the_cursor_goes_back_to_where_a_run_without_the_rule_is_the_same(journey: Journey) -> None:
    journey.press("end")
    journey.press("rule_off", EPOCH_PER_TRANSACTION.name)
    assert journey.step == journey.tree[1]["landed"] == journey.tree[1]["at"]


def test_a_frame_that_shall_arrive_next_does_and_the_cursor_is_there(journey: Journey) -> None:
    journey.press("hold", "EndTxn#1")
    held = journey.step
    journey.press("next", "EndTxn#1")
    received = journey.cluster.trace.frames["EndTxn#1"].received_step
    entry = journey.tree[-1]
    assert (journey.step, entry["landed"], entry["at"]) == (received, received, held)
    assert entry["label"] == repr(journey.scenario.faults[1])


def test_a_run_in_which_a_frame_arrives_first_parts_where_the_first_frame_that_is_kept_was_sent(
    journey: Journey,
) -> None:
    journey.groups = ["transaction", "verification", "replication"]
    journey.step = next(s for s in journey.every_stop() if len(in_flight_at(journey, s)) >= 3)
    flying, frames = journey.in_flight(), journey.payload["frames"]
    last = max(flying, key=lambda name: int(frames[name]["received"]))
    journey.press("next", last)
    kept = [name for name in flying if name != last]
    assert journey.tree[1]["at"] == min(frames[name]["sent"] for name in kept) < journey.step
    assert sorted(fault.frame for fault in journey.scenario.faults) == sorted(kept)  # type: ignore[union-attr]
    assert sorted(journey.tree[1]["label"]) == sorted(", ".join(map(repr, journey.scenario.faults)))


def test_what_is_in_flight_is_what_is_shown_of_it(journey: Journey) -> None:
    assert in_flight_at(journey, journey.payload["frames"]["EndTxn#1"]["sent"]) == ["EndTxn#1"]
    journey.press("hide", "EndTxn")
    assert journey.in_flight() == []
    journey.press("show")
    journey.groups = ["replication"]
    assert "EndTxn#1" not in journey.in_flight()


def test_a_press_whose_run_shows_nothing_of_it_is_refused(journey: Journey, monkeypatch: pytest.MonkeyPatch) -> None:
    """Presses that are offered change the run; these are the last guards, should one not."""
    monkeypatch.setattr(futures, "struck_at", lambda trace, fault, at: -1)
    with pytest.raises(ValueError, match=r"^Drop\(frame='EndTxn#1'\) would change nothing$"):
        journey.press("drop", "EndTxn#1")
    journey.groups = ["transaction", "verification", "replication"]
    journey.step = next(s for s in journey.every_stop() if len(in_flight_at(journey, s)) >= 3)
    flying = journey.in_flight()
    last = max(flying, key=lambda name: int(journey.payload["frames"][name]["received"]))
    asked: list[Any] = []
    monkeypatch.setattr(journey_module, "arrived_first", lambda trace, *names: asked.append(names))
    with pytest.raises(
        ValueError, match=f"^{last} does not arrive first, whatever happens to the other frames in flight$"
    ):
        journey.press("next", last)
    assert asked == [(last, [name for name in flying if name != last])]
    assert (journey.place, len(journey.tree)) == (0, 1)


def test_the_cursor_and_the_groups_stay_within_what_there_is(journey: Journey) -> None:
    last = len(journey.payload["events"]) - 1
    journey.step = 10**6
    assert journey.step == last
    journey.step = -5
    assert journey.step == 0
    journey.groups = ["replication", "transaction"]
    assert journey.groups == ["transaction", "replication"]
    with pytest.raises(ValueError, match=r"^no frames are called 'noise'"):
        journey.groups = ["noise"]


def test_a_press_of_the_browser_is_done_at_its_step_and_acknowledged(
    journey: Journey, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[Any] = []
    monkeypatch.setattr(Journey, "send", lambda self, content, buffers=None: sent.append(content))
    handlers = journey._handlers()
    sent_at = journey.payload["frames"]["EndTxn#1"]["sent"]
    handlers["press"]({"kind": "press", "action": "drop", "step": sent_at})
    assert (journey.scenario.faults, sent) == ((Drop("EndTxn#1"),), [{"kind": "done"}])
    handlers["press"]({"kind": "press", "action": "crash", "target": "b1", "sent": False, "step": 60})
    assert isinstance(journey.scenario.faults[1], Crash)
    names = "delay_ms, after, before, handled, down_ms, error, sent, frame_ms, ms, broker, unclean"
    with pytest.raises(ValueError, match=rf"^a press has no 'colour'; there are {names}$"):
        handlers["press"]({"kind": "press", "action": "crash", "target": "b1", "colour": "red"})
    states: list[Any] = []
    monkeypatch.setattr(Journey, "_send", lambda self, message, buffers=None: states.append(message))
    handlers["step"]({"kind": "step", "step": 7})
    assert (journey.step, states) == (7, []), "the browser knows already"
    journey.step = 8
    assert [message["state"] for message in states] == [{"step": 8}]
    journey.step = 7
    handlers["step"]({"kind": "step", "step": "nine"})
    assert journey.step == 7
    handlers["check"]({"kind": "check"})
    assert journey.verdict["place"] == 2


def test_a_message_of_the_browser_reaches_its_handler(journey: Journey) -> None:
    content = {"kind": "step", "step": 7}
    journey._handle_msg({"content": {"data": {"method": "custom", "content": content}}, "buffers": []})
    assert journey.step == 7
