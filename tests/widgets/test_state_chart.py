"""The state charts without a browser: where transactions, producers and groups stand, what every question would get."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from kafkalab import lab03, lab06
from kafkalab.faults.frame import Drop
from kafkalab.faults.node import Crash
from kafkalab.programs.groups import two_members
from kafkalab.sim.scenario import Scenario
from kafkalab.widgets.model.journey import Journey
from kafkalab.widgets.payload.machines import place_at, places, questions
from kafkalab.widgets.payload.state_machines import machine
from kafkalab.widgets.payload.text import replay
from kafkalab.widgets.views.state_chart import StateChart


@pytest.mark.parametrize("profile", ["4.x/TV1", "4.x/TV2"])
@pytest.mark.parametrize("faults", [(), (Crash("b3", at_step=150),), (Drop("EndTxnResponse#1"),)], ids=str)
def test_at_every_step_the_chart_stands_where_the_fold_does(profile: str, faults: tuple[Crash, ...]) -> None:
    journey = Journey(lab03(profile).with_faults(*faults))
    coordinator, producer = machine("coordinator", profile[-3:]), machine("producer")
    found, producers = places(journey.payload, coordinator), places(journey.payload, producer)
    for step in range(0, len(journey.payload["events"]), 7):
        shown = replay(journey.payload, step)
        for tid, known in shown.transactions.items():
            place = place_at(found, step, tid)
            assert place is not None
            assert (place.state, place.pending) == (known["state"], known["pending"])
        for (node, tid), known in shown.producers.items():
            place = place_at(producers, step, f"{node} {tid}")
            assert place is not None
            assert place.state == known["state"]


@pytest.mark.parametrize("name", ["coordinator", "producer", "group"])
def test_every_arrow_that_fires_is_in_the_machine(name: str) -> None:
    for scenario in (lab03("4.x/TV1"), lab03(), two_members(), lab03().with_faults(Crash("app", at_step=150))):
        journey = Journey(scenario)
        chart = machine(name, "TV1" if scenario.profile.endswith("TV1") else "TV2")
        for place in places(journey.payload, chart):
            if place.via:
                assert questions(chart, place.via, place.state), (place.via, place.state)


def test_many_ways_to_a_state_are_not_told_as_one() -> None:
    chart = StateChart(lab06(), "producer")
    chart.press("end")
    assert str(chart).count(" → FATAL_ERROR\n") == 1
    assert "an error that nothing cures" not in str(chart).split("came by")[1].splitlines()[0]


def test_the_text_tells_state_meaning_way_and_what_if() -> None:
    chart = StateChart(lab03())
    chart.step = 211
    text = str(chart)
    for part in (
        "A transaction at its coordinator, TV2\n  payments-0: PrepareCommit → CompleteCommit, pending",
        "on b3 · producer 2000, epoch 1 · __consumer_offsets-13",
        "came by Ongoing → PrepareCommit: EndTxn(COMMIT)",
        "    EndTxn(ABORT) | PRODUCER_FENCED | stays",
        "    all markers written | – | CompleteCommit",
    ):
        assert part in text
    chart.press("what_if")
    assert "PRODUCER_FENCED" not in str(chart)


def test_the_version_follows_the_profile_or_is_given() -> None:
    assert StateChart(lab03("4.x/TV1")).machine["title"].endswith("TV1")
    assert StateChart(lab03("4.x/TV1"), version="TV2").machine["title"].endswith("TV2")
    with pytest.raises(ValueError, match="there are TV1, TV2"):
        StateChart(lab03(), version="TV9")


def test_questions_are_gone_through_and_explained() -> None:
    chart = StateChart(lab03())
    with pytest.raises(ValueError, match="nothing is known yet"):
        chart.press("down")
    chart.press("end")
    chart.press("down")
    assert chart.question == "InitProducerId"
    with pytest.raises(ValueError, match="this is the first question"):
        chart.press("up")
    chart.press("ask", "EndTxn(COMMIT)")
    assert "  > EndTxn(COMMIT) | INVALID_TXN_STATE | stays\n      The question does not fit" in str(chart)
    with pytest.raises(ValueError, match=r"did you mean 'EndTxn\(ABORT\)'"):
        chart.press("ask", "EndTxn(ABRT)")


@pytest.mark.parametrize("name", ["coordinator", "producer"])
def test_each_press_goes_to_a_stop_at_which_the_chart_says_something_else(name: str) -> None:
    chart = StateChart(lab03(), name)
    stops = chart.journey.stops()
    seen: list[int] = []
    chart.press("home")
    while not seen or chart.step != seen[-1]:
        seen.append(chart.step)
        chart.press("right")
    told = {step: place_at(chart._places(), step, "") for step in stops}
    facts = [p and (p.state, p.pending, p.known) for p in told.values()]
    changes = [step for step, now, before in zip(stops[1:], facts[1:], facts[:-1], strict=True) if now != before]
    assert seen[1:] == changes
    assert len(seen) < len(stops) / 2
    assert f"change {len(changes)} of {len(changes)} in this chart: ← and →" in str(chart)
    chart.press("left")
    assert chart.step == changes[-2]
    chart.press("end")
    assert chart.step == stops[-1]


def test_with_a_subject_chosen_only_its_changes_count() -> None:
    journey = Journey(Scenario.load(Path(__file__).parents[2] / "data" / "rules" / "generation_check.klab"))
    chart = StateChart(journey, "producer")
    first = chart._places()[0].subject
    every = chart._turns()
    chart.press("subject", first)
    assert set(chart._turns()) < set(every)
    for step in chart._turns():
        chart.step = step
        assert f"  {first}: " in str(chart)


def test_which_subject_is_shown_can_be_chosen() -> None:
    journey = Journey(Scenario.load(Path(__file__).parents[2] / "data" / "rules" / "generation_check.klab"))
    chart = StateChart(journey, "producer")
    chart.press("end")
    known = list(dict.fromkeys(p.subject for p in chart._places()))
    assert len(known) > 1
    for subject in known:
        chart.press("subject", subject)
        assert f"  {subject}: " in str(chart)
    with pytest.raises(ValueError, match="this run has no 'nobody' to show"):
        chart.press("subject", "nobody")
    with pytest.raises(ValueError, match="there are coordinator, producer, group"):
        StateChart(journey, "broker")


def test_a_group_is_told_with_its_members() -> None:
    chart = StateChart(two_members(), "group")
    chart.press("every")
    chart.press("end")
    for _ in range(30):
        chart.journey.press("left")
    assert "workers: Stable" in str(chart)
    assert "generation 3 · led by m2-0-2 · m2-0-2: in-0, in-1, in-2, in-3" in str(chart)


@pytest.mark.parametrize("name", ["coordinator", "producer", "group"])
def test_the_static_picture_marks_the_state(name: str) -> None:
    chart = StateChart(two_members() if name == "group" else lab03(), name)
    assert "yet" in chart.svg()
    chart.press("end")
    picture = chart.svg()
    assert ET.fromstring(picture).tag.endswith("svg")
    assert 'stroke-width="3.6"' in picture
    assert "var(" not in picture
    assert "What if, in" in picture
