"""A journey: views share its cursor, presses grow a tree of runs that can be walked and named."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from kafkalab import lab03
from kafkalab.faults.frame import Drop, Duplicate
from kafkalab.faults.node import Crash
from kafkalab.sim.scenario import Program, Scenario
from kafkalab.widgets.model.journey import Journey
from kafkalab.widgets.payload.text import stops
from kafkalab.widgets.views.sequence import Sequence


@pytest.fixture
def journey() -> Journey:
    return Journey(lab03())


def parents(journey: Journey) -> list[int]:
    return [entry["parent"] for entry in journey.tree]


def test_all_views_of_a_journey_share_its_cursor_its_run_and_its_groups(journey: Journey) -> None:
    one, other = Sequence(journey), Sequence(journey, size="projector")
    one.step = 40
    other.press("right")
    assert one.step == other.step == journey.step > 40
    one.groups = ["transaction"]
    assert other.groups == ["transaction"]
    other.press("drop", "EndTxn#1")
    assert one.payload["faults"] == ["Drop(frame='EndTxn#1')"]
    assert Sequence(one).journey is journey
    assert (other.size, one.size) == ("projector", "laptop")


@pytest.mark.parametrize("make", [Journey, Sequence, lambda run: Sequence(Journey(run))])
def test_a_journey_is_made_of_a_run_or_found_in_a_view(make: Callable[[Any], Any]) -> None:
    thing = make(lab03())
    found = Journey.of(thing)
    assert found is Journey.of(found)
    assert found.scenario == lab03()
    assert Journey.of(thing) is found
    with pytest.raises(TypeError, match=r"a picture shows a Scenario or a Cluster, such as Sequence\(lab03\(\)\), not"):
        Journey.of(3)


def test_a_press_after_undo_makes_a_sibling_and_forgets_nothing(journey: Journey) -> None:
    journey.press("drop", "EndTxn#1")
    journey.press("undo")
    journey.press("crash", "b3")
    assert parents(journey) == [-1, 0, 0]
    assert [e["label"] for e in journey.tree] == ["", "Drop(frame='EndTxn#1')", repr(journey.scenario.faults[0])]
    assert journey.place == 2
    journey.press("goto", "1")
    assert journey.scenario.faults == (Drop("EndTxn#1"),)
    journey.press("undo")
    journey.press("redo")
    assert journey.place == 1
    journey.press("goto", "2")
    assert isinstance(journey.scenario.faults[0], Crash)
    journey.press("undo")
    journey.press("redo")
    assert journey.place == 2


def test_redo_follows_the_branch_that_was_visited_last(journey: Journey) -> None:
    journey.press("drop", "EndTxn#1")
    journey.press("duplicate", "EndTxn#2")
    journey.press("goto", "0")
    assert (journey.can_undo, journey.can_redo) == (False, True)
    journey.press("redo")
    journey.press("redo")
    assert (journey.place, journey.can_undo, journey.can_redo) == (2, True, False)
    assert journey.scenario.faults == (Drop("EndTxn#1"), Duplicate("EndTxn#2"))


def test_going_up_keeps_the_cursor_inside_what_both_runs_share(journey: Journey) -> None:
    sent = journey.payload["frames"]["EndTxn#1"]["sent"]
    journey.press("drop", "EndTxn#1")
    journey.press("crash", "b2")
    journey.press("end")
    journey.press("goto", "0")
    assert journey.step == sent
    journey.press("goto", "2")
    assert (journey.step, journey.place) == (journey.tree[2]["landed"], 2)
    journey.step = 5
    journey.press("undo")
    assert (journey.step, journey.place) == (5, 1)


def test_an_entry_of_the_tree_is_small_and_says_what_became_of_the_run(journey: Journey) -> None:
    journey.press("drop", "EndTxn#1")
    sent = journey.payload["frames"]["EndTxn#1"]["sent"]
    assert journey.tree == [
        {"id": 0, "parent": -1, "name": "", "label": "", "at": 0, "landed": 0, "outcome": "committed"},
        {
            "id": 1,
            "parent": 0,
            "name": "",
            "label": "Drop(frame='EndTxn#1')",
            "at": sent,
            "landed": sent + 1,
            "outcome": "committed",
        },
    ]


def test_a_run_can_be_named(journey: Journey) -> None:
    journey.press("drop", "EndTxn#1")
    journey.press("name", " the lost decision ")
    assert [e["name"] for e in journey.tree] == ["", "the lost decision"]


@pytest.mark.parametrize("place", ["", "2", "-1", "two", "²"])
def test_going_to_a_run_that_is_not_there_says_which_there_are(journey: Journey, place: str) -> None:
    journey.press("drop", "EndTxn#1")
    with pytest.raises(ValueError, match="goto needs the number of a run, from 0 to 1, not"):
        journey.press("goto", place)
    assert journey.place == 1


def test_what_is_hidden_is_left_out_of_the_walk_and_said_in_the_text(journey: Journey) -> None:
    view = Sequence(journey)
    whole = journey.every_stop()
    for name in ("Produce", "b2"):
        journey.press("hide", name)
    assert journey.hidden == ["b2", "Produce"]
    assert set(journey.stops()) < set(journey.every_stop()) < set(whole)
    frames = journey.payload["frames"]
    for step in journey.every_stop():
        frame = frames.get(journey.payload["events"][step]["frame"])
        assert not frame or "b2" not in (frame["from"], frame["to"])
    assert "hidden: b2, Produce" in view.text()
    assert ">b2<" not in view.svg()
    journey.press("show", "b2")
    assert journey.hidden == ["Produce"]
    journey.press("show")
    assert journey.every_stop() == whole
    with pytest.raises(ValueError, match=r"'Producer' cannot be hidden; there are app, b1, .*; did you mean 'Produce'"):
        journey.press("hide", "Producer")


def test_hiding_another_transaction_leaves_the_one_that_is_followed() -> None:
    programs = tuple(Program(f"p{i}", "transactions", {"transactional_id": f"t{i}", "count": 2}) for i in (1, 2))
    view = Sequence(Scenario(topics={"out": 1}, programs=programs))
    assert view.payload["transactions"] == ["t1", "t2"]
    view.hidden = ["t2"]
    shown = [view.payload["events"][step] for step in view.journey.stops()]
    assert {"t1"} <= {event["txn"] for event in shown} <= {"t1", ""}
    assert [event["text"] for event in shown if "COMMIT marker" in event["text"]]


@pytest.mark.parametrize("make", [Journey, Sequence])
def test_nothing_is_sent_after_it_is_made(make: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[Any] = []
    monkeypatch.setattr(Journey, "send_state", lambda self, key=None: sent.append(key))
    made = make(lab03(), groups=["transaction", "replication"], step=40)
    assert (made.step, made.groups) == (40, ["transaction", "replication"])
    assert not {"step", "groups", "payload"} & {*sent}


def test_its_repr_is_short(journey: Journey) -> None:
    first = stops(journey.payload, tuple(journey.groups))[0]
    last = len(journey.payload["events"]) - 1
    assert repr(journey) == f"<Journey 'A full commit, one frame at a time', step {first} of {last}, run 0 of 1>"


def test_the_payload_is_sent_as_one_text_with_each_value_once() -> None:
    """ipywidgets would look through each list of a value, in Python and in the browser."""
    journey = Journey(lab03())
    sent = journey.get_state("payload")["payload"]
    assert isinstance(sent, str)
    shared = [value for value in json.loads(sent)["shared"] if isinstance(value, str)]
    assert len(shared) == len(set(shared))
