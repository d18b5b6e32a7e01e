"""What a press on a journey does, and why one would change nothing: without a widget and without a browser."""

from __future__ import annotations

from typing import Any

import pytest

from kafkalab import lab03
from kafkalab.protocol.rules import EPOCH_PER_TRANSACTION
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.faults import Crash, Drop
from kafkalab.sim.scenario import Scenario
from kafkalab.widgets.model.journey import Journey


@pytest.fixture
def journey() -> Journey:
    return Journey(lab03())


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


def test_a_rule_switched_off_and_on_says_so_in_the_tree(journey: Journey) -> None:
    name = EPOCH_PER_TRANSACTION.name
    first = journey.step
    journey.press("rule_off", name)
    journey.press("rule_on", name)
    assert [entry["label"] for entry in journey.tree] == ["", f"without: {name}", f"with: {name}"]
    assert journey.step == first == journey.tree[1]["landed"]
    assert journey.tree[1]["at"] > first


def test_a_frame_that_shall_arrive_next_does_and_the_cursor_is_there(journey: Journey) -> None:
    journey.press("hold", "EndTxn#1")
    held = journey.step
    journey.press("next", "EndTxn#1")
    received = journey.cluster.trace.frames["EndTxn#1"].received_step
    entry = journey.tree[-1]
    assert (journey.step, entry["landed"], entry["at"]) == (received, received, held)
    assert entry["label"] == repr(journey.scenario.faults[1])


def test_another_scenario_is_visited_as_a_tree_of_its_own(journey: Journey) -> None:
    journey.press("drop", "EndTxn#1")
    journey.visit(lab03("4.x/TV1"), "the older client")
    assert (journey.scenario, journey.place) == (lab03("4.x/TV1"), 2)
    assert journey.tree[2]["label"] == "the older client"
    assert [entry["parent"] for entry in journey.tree] == [-1, 0, -1]
    assert journey.step == journey.every_stop()[0]
    assert (journey.can_undo, journey.can_redo) == (False, False)
    journey.visit(lab03())
    assert journey.tree[3]["label"] == "opened"


def test_a_run_of_the_tree_is_found_by_its_number(journey: Journey) -> None:
    journey.press("drop", "EndTxn#1")
    payload, cluster = journey.run_at(0)
    assert (payload["faults"], cluster.scenario) == ([], lab03())
    payload, cluster = journey.run_at(1)
    assert (payload, cluster) == (journey.payload, journey.cluster)
    for place in (-1, 2):
        with pytest.raises(ValueError, match=f"^no run {place} in this journey; there are 0 to 1$"):
            journey.run_at(place)


def test_a_report_is_that_of_the_run_shown_and_is_made_once(journey: Journey) -> None:
    first = journey.report()
    assert (first["place"], first["verdict"], journey.verdict) == (0, "ok", first)
    assert journey.report() is first or journey.report() == first
    journey.press("drop", "EndTxn#1")
    assert journey.known_report()["place"] == journey.verdict["place"] == 1
    journey.press("undo")
    assert journey.known_report() == first == journey.verdict


def test_the_cursor_and_the_groups_stay_within_what_there_is(journey: Journey) -> None:
    last = len(journey.payload["events"]) - 1
    journey.step = 10**6
    assert journey.step == last
    journey.step = -5
    assert journey.step == 0
    journey.groups = ["replication", "transaction"]
    assert journey.groups == ["transaction", "replication"]
    with pytest.raises(ValueError, match="^no frames are called 'noise'"):
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
    with pytest.raises(
        ValueError, match="^a press has no 'colour'; there are delay_ms, after, ms, broker, unclean, sent$"
    ):
        handlers["press"]({"kind": "press", "action": "crash", "target": "b1", "colour": "red"})
    handlers["step"]({"kind": "step", "step": 7})
    assert journey.step == 7
    handlers["step"]({"kind": "step", "step": "nine"})
    assert journey.step == 7
    handlers["check"]({"kind": "check"})
    assert journey.verdict["place"] == 2


def test_a_journey_needs_a_run_with_events() -> None:
    silent = Cluster(lab03(), keep=False)
    with pytest.raises(ValueError, match="^this cluster kept no events; make it without keep=False$"):
        Journey(silent)
    with pytest.raises(
        TypeError, match=r"^a picture shows a Scenario or a Cluster, such as Sequence\(lab03\(\)\), not int$"
    ):
        Journey(3)  # type: ignore[arg-type]
    unfinished = Cluster(lab03())
    assert Journey(unfinished).payload["events"]
    assert unfinished.results == {"app": "committed"}, "it is run to its end"
    assert Journey(Scenario(topics={"out": 1}), step=2).step == 2
