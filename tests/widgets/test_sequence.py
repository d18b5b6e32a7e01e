"""The Python half of the sequence widget: presses, messages from the browser, what is shown without one."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from typing import Any

import pytest

from kafkalab import lab03
from kafkalab.faults.frame import Drop
from kafkalab.faults.node import Crash
from kafkalab.sim.cluster import Cluster
from kafkalab.widgets.payload.text import stops, text_at
from kafkalab.widgets.views.sequence import Sequence

SHOWN = ("transaction", "verification")


@pytest.fixture
def widget() -> Sequence:
    return Sequence(lab03(profile="4.x/TV2", seed=1))


def sent_at(widget: Sequence, frame: str) -> int:
    return int(widget.payload["frames"][frame]["sent"])


def answers(widget: Sequence, monkeypatch: pytest.MonkeyPatch, content: Any) -> list[Any]:
    """Return what the browser is told when it sends this message."""
    told: list[Any] = []
    journey = widget.journey
    monkeypatch.setattr(journey, "send", lambda content, buffers=None: told.append(content))
    journey._handle_custom_msg(content, [])
    return told


def test_it_starts_at_the_first_stop_of_a_scenario_or_a_cluster(widget: Sequence) -> None:
    assert widget.step == stops(widget.payload, SHOWN)[0]
    cluster = Cluster(lab03(profile="4.x/TV2", seed=1))
    cluster.run()
    assert Sequence(cluster).payload == widget.payload
    assert Sequence(cluster, step=10_000).step == len(cluster.trace.events) - 1


def test_moves_go_from_stop_to_stop_and_stay_inside(widget: Sequence) -> None:
    places = widget.journey.stops()
    widget.press("left")
    assert widget.step == places[0]
    for place in places[1:]:
        widget.press("right")
        assert widget.step == place
    widget.press("right")
    assert widget.step == places[-1]
    widget.press("home")
    widget.step = places[4] + 1
    widget.press("left")
    assert widget.step == places[4]
    widget.press("end")
    assert widget.step == places[-1]
    widget.step = -3
    assert widget.step == 0


def test_drop_strikes_the_frame_sent_at_the_cursor_and_undo_takes_it_back(widget: Sequence) -> None:
    before, at = widget.payload, sent_at(widget, "EndTxn#1")
    widget.step = at
    widget.press("drop")
    assert widget.cluster.scenario.faults == (Drop("EndTxn#1"),)
    assert widget.payload["events"][: at + 1] == before["events"][: at + 1]
    event = widget.payload["events"][widget.step]
    assert (event["kind"], event["frame"], widget.step) == ("fault", "EndTxn#1", at + 1)
    assert (widget.can_undo, widget.can_redo) == (True, False)
    widget.press("end")
    widget.press("undo")
    assert (widget.payload, widget.step, widget.can_undo, widget.can_redo) == (before, at, False, True)
    widget.press("redo")
    assert (widget.payload["faults"], widget.step) == ([repr(Drop("EndTxn#1"))], at + 1)


def test_a_named_frame_can_be_struck_from_anywhere(widget: Sequence) -> None:
    widget.press("end")
    widget.press("duplicate", "EndTxn#1")
    assert widget.payload["events"][widget.step]["frame"] == "EndTxn#1"
    assert [f["copy_of"] for f in widget.payload["frames"].values() if f["copy_of"]] == ["EndTxn#1"]


def test_a_crash_strikes_right_after_the_step_and_a_new_fault_forgets_what_was_undone(widget: Sequence) -> None:
    at = widget.step = sent_at(widget, "EndTxnResponse#1")
    widget.press("crash", "b3")
    assert widget.cluster.scenario.faults == (Crash("b3", at_step=at),)
    assert (widget.step, widget.payload["events"][widget.step]["kind"]) == (at + 1, "crash")
    widget.press("undo")
    widget.press("crash", "b1")
    assert (widget.can_undo, widget.can_redo, len(widget.payload["faults"])) == (True, False, 1)


@pytest.mark.parametrize(
    ("action", "target", "message"),
    [
        ("dropp", "", "did you mean 'drop'"),
        ("jump", "", "there are left, right, home, end, drop, duplicate, delay, hold, .*, undo, redo, goto, name"),
        ("drop", "", "no frame is sent at step 13; go to one that is"),
        ("drop", "EndTx#1", "did you mean 'EndTxn#1'"),
        ("duplicate", "EndTxn#9", "no frame 'EndTxn#9' flies in this run"),
        ("crash", "", "crash needs a node; there are app, b1, b2, b3"),
        ("crash", "controller", "no node 'controller' can crash"),
        ("undo", "", "there is no fault to undo"),
        ("redo", "", "nothing has been undone"),
    ],
)
def test_a_press_that_cannot_be_says_what_to_do_and_changes_nothing(
    widget: Sequence, action: str, target: str, message: str
) -> None:
    before = (widget.payload, widget.step, widget.can_undo)
    with pytest.raises(ValueError, match=message):
        widget.press(action, target)
    assert (widget.payload, widget.step, widget.can_undo) == before


def test_the_same_fault_twice_is_refused(widget: Sequence) -> None:
    widget.press("drop", "EndTxn#1")
    with pytest.raises(ValueError, match="EndTxn#1 is dropped already"):
        widget.press("drop", "EndTxn#1")
    widget.press("undo")
    widget.press("duplicate", "EndTxn#1")
    with pytest.raises(ValueError, match="EndTxn#1 arrives twice already"):
        widget.press("duplicate", "EndTxn#1")
    with pytest.raises(ValueError, match="no frame 'EndTxn#1~copy'"):
        widget.press("drop", "EndTxn#1~copy")


def test_bad_input_is_refused_with_a_clear_error(widget: Sequence) -> None:
    with pytest.raises(
        TypeError, match=r"a picture shows a Scenario or a Cluster, such as Sequence\(lab03\(\)\), not int"
    ):
        Sequence(3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="size is 'laptop' or 'projector', not 'wall'"):
        Sequence(lab03(), size="wall")
    with pytest.raises(ValueError, match="did you mean 'transaction'"):
        widget.groups = ["transactions"]
    with pytest.raises(ValueError, match="keep=False"):
        Sequence(Cluster(lab03(), keep=False))
    assert widget.groups == list(SHOWN)


def test_a_press_in_the_browser_is_answered(widget: Sequence, monkeypatch: pytest.MonkeyPatch) -> None:
    at = sent_at(widget, "EndTxn#1")
    press = {"kind": "press", "action": "drop", "target": "EndTxn#1", "step": at}
    assert answers(widget, monkeypatch, press) == [{"kind": "done"}]
    assert widget.step == at + 1
    assert answers(widget, monkeypatch, press) == [{"kind": "error", "text": "EndTxn#1 is dropped already."}]
    assert answers(widget, monkeypatch, {"kind": "press"})[0]["kind"] == "error"
    assert answers(widget, monkeypatch, {"kind": "step", "step": at}) == []
    assert widget.step == at
    for odd in ("hello", {"kind": "greeting"}):
        assert [answer["kind"] for answer in answers(widget, monkeypatch, odd)] == ["error"]


def test_printed_it_is_the_text_twin_and_its_repr_is_short(widget: Sequence) -> None:
    widget.press("end")
    assert str(widget) == widget.text()
    widget.press("every")
    told = text_at(widget.payload, widget.step, SHOWN).split("\n")
    lines = widget.text().split("\n")
    assert lines.pop(3).startswith("chapter: complete; by stop: init (1), ")
    assert lines.pop(3) == "in flight: nothing"
    assert lines == [*told, "no promise is broken so far"]
    assert repr(widget) == f"<Sequence 'A full commit, one frame at a time', step {widget.step} of {widget.step}>"


def test_the_text_names_the_frames_in_flight(widget: Sequence) -> None:
    sent = widget.payload["frames"]["EndTxn#1"]["sent"]
    widget.step = sent
    assert "in flight: EndTxn#1 app -> b3" in widget.text().splitlines()
    widget.step = widget.payload["frames"]["EndTxn#1"]["received"]
    assert not any(line.startswith("in flight") and "EndTxn#1 " in line for line in widget.text().splitlines())


def test_a_saved_notebook_has_a_picture_and_a_text_beside_the_live_widget(widget: Sequence) -> None:
    data, _ = widget._repr_mimebundle_()
    assert set(data) == {"application/vnd.jupyter.widget-view+json", "image/svg+xml", "text/plain"}
    assert data["text/plain"] == str(widget)
    assert ET.fromstring(data["image/svg+xml"]).tag.endswith("svg")


def test_groups_are_kept_in_order_and_decide_where_the_cursor_stops(widget: Sequence) -> None:
    widget.groups = ["replication", "transaction"]
    assert widget.groups == ["transaction", "replication"]
    widget.press("end")
    widget.press("left")
    assert widget.payload["events"][widget.step]["category"] in ("transaction", "replication")


def test_what_is_sent_to_the_browser_is_small_and_plain(widget: Sequence) -> None:
    assert len(json.dumps(widget.payload)) < 300_000
    assert json.loads(json.dumps(widget.payload)) == widget.payload


def test_time_runs_down_or_across_and_the_text_and_the_static_picture_stay(widget: Sequence) -> None:
    text, picture = widget.text(), widget.svg()
    widget.press("time")
    assert widget.time == "across"
    assert (widget.text(), widget.svg()) == (text, picture)
    widget.press("time")
    assert widget.time == "down"
    assert Sequence(widget, time="across").time == "across"
    with pytest.raises(ValueError, match="time runs 'down' or 'across', not 'up'"):
        Sequence(widget, time="up")
