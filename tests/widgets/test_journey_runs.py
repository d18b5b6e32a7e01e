"""Which runs a journey shows: visited, undone, recorded; and what the checks say of the run shown."""

from __future__ import annotations

import re
from typing import Any

import pytest

from kafkalab import lab03
from kafkalab.run.run import Cast, Run
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.scenario import Program, Scenario
from kafkalab.trace import Trace
from kafkalab.widgets.model import journey as journey_module
from kafkalab.widgets.model.futures import NO_FRAME_YET
from kafkalab.widgets.model.journey import Journey


@pytest.fixture
def journey() -> Journey:
    return Journey(lab03())


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


def test_a_visited_run_is_shown_as_far_as_a_file_may_go(journey: Journey) -> None:
    steps: list[list[Any]] = [["send", "out", str(number), None, 0] for number in range(700)]
    program = Program("p", "operations", {"steps": [each for step in steps for each in (step, ["flush"])]})
    journey.visit(Scenario(topics={"out": 1}, programs=(program,)))
    shown = len(journey.payload["events"])
    assert journey.payload["ending"] == f"the run goes on and on; shown are its first {shown} events"


def test_a_visited_run_without_a_stop_is_shown_from_its_first_step(journey: Journey) -> None:
    journey.groups = []
    journey.visit(Scenario(topics={"out": 1}))
    assert (journey.every_stop(), journey.step, journey.place) == ([], 0, 1)


def test_what_is_hidden_stays_so_in_the_next_run_if_it_is_there(journey: Journey) -> None:
    journey.press("hide", "b1")
    journey.press("hide", "payments-0")
    journey.press("drop", "EndTxn#1")
    assert journey.hidden == ["b1", "payments-0"]
    journey.visit(Scenario(topics={"out": 1}))
    assert journey.hidden == ["b1"]


def test_undo_and_redo_lead_where_there_is_a_run(journey: Journey) -> None:
    found = []
    for press in (("drop", "EndTxn#1"), ("undo",), ("redo",), ("crash", "b3"), ("undo",)):
        journey.press(*press)
        found.append((journey.place, journey.can_undo, journey.can_redo))
    assert found == [(1, True, False), (0, False, True), (1, True, False), (2, True, False), (1, True, True)]


def test_a_run_of_the_tree_is_found_by_its_number(journey: Journey) -> None:
    journey.press("drop", "EndTxn#1")
    payload, run = journey.run_at(0)
    assert (payload["faults"], run.scenario) == ([], lab03())
    payload, run = journey.run_at(1)
    assert (payload, run) == (journey.payload, journey.run)
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


def test_a_long_run_is_only_checked_on_request(journey: Journey, monkeypatch: pytest.MonkeyPatch) -> None:
    count = len(journey.payload["events"])
    monkeypatch.setattr(journey_module, "CHECKED_AT_ONCE", count - 1)
    assert journey.known_report() == journey.verdict == {}
    assert journey.report() == journey.known_report() != {}
    other = Journey(lab03())
    monkeypatch.setattr(journey_module, "CHECKED_AT_ONCE", count)
    assert other.known_report()["place"] == 0


def test_a_journey_needs_a_run_with_events() -> None:
    silent = Cluster(lab03(), keep=False)
    with pytest.raises(ValueError, match=r"^this cluster kept no events; make it without keep=False$"):
        Journey(silent)
    with pytest.raises(
        TypeError, match=r"^a picture shows a Scenario or a Cluster, such as Sequence\(lab03\(\)\), not int$"
    ):
        Journey(3)  # type: ignore[arg-type]
    unfinished = Cluster(lab03())
    assert Journey(unfinished).payload["events"]
    assert unfinished.results == {"app": "committed"}, "it is run to its end"
    assert Journey(Scenario(topics={"out": 1}), step=2).step == 2
    assert Journey(Scenario(topics={"out": 1}), groups=()).step == 0, "there is no stop"


def test_a_journey_shows_what_was_recorded_once_a_frame_has_passed() -> None:
    cluster = Cluster(lab03())
    cluster.run()
    cast = Cast(nodes=("app", "b1", "b2", "b3"), brokers=("b1", "b2", "b3"), metadata=cluster.controller.metadata)

    class Tap:
        """A tap that gives a recording of the frames by now."""

        def __init__(self, trace: Trace) -> None:
            self.trace = trace

        def recording(self) -> Run:
            return Run(trace=self.trace, cast=cast, why="it was recorded")

    for source in (Tap(cluster.trace), Tap(cluster.trace).recording()):
        assert len(Journey(source).payload["events"]) == len(cluster.trace.events)
    for empty in (Tap(Trace()), Tap(Trace()).recording()):
        with pytest.raises(ValueError, match=f"^{re.escape(NO_FRAME_YET)}$"):
            Journey(empty)
