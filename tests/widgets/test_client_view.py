"""The client's-eye view: the moments of one client, and nothing of the rest of the world until it is revealed."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from kafkalab import lab03
from kafkalab.sim.scenario import Program, Scenario
from kafkalab.widgets.model.journey import Journey
from kafkalab.widgets.views.client_view import ClientView


@pytest.fixture
def view() -> ClientView:
    return ClientView(lab03())


def words(view: ClientView) -> str:
    return view.text() + "".join(ET.fromstring(view.svg()).itertext())


def test_it_tells_the_calls_their_answers_what_polls_returned_and_the_clients_clock(view: ClientView) -> None:
    view.press("end")
    assert view.text().split("\n") == [
        "What app knows at 137 ms of its clock",
        "      0 ms  app calls init_transactions().",
        "     19 ms  init_transactions() of app returns.",
        "     45 ms  app's consumer gets 10, 25.",
        "     45 ms  app calls begin_transaction().",
        "     99 ms  app calls send_offsets_to_transaction().",
        "    127 ms  send_offsets_to_transaction() of app returns.",
        "    127 ms  app calls commit_transaction().",
        "    137 ms  commit_transaction() of app returns.",
        "  No transactional call of app is under way.",
    ]


@pytest.mark.campaign
def test_nothing_else_is_told_at_any_step(view: ClientView) -> None:
    for step in range(len(view.payload["events"])):
        view.step = step
        for word in ("broker", "EndTxn", "Ongoing", "Prepare", "epoch", "offset ", "marker", "sends"):
            assert word not in words(view)


def test_a_client_that_waits_cannot_know_what_happens_and_can_be_shown(view: ClientView) -> None:
    view.step = view.payload["frames"]["EndTxn#1"]["received"] + 1
    assert "app waits in commit_transaction() for 3 ms, and cannot know what happens meanwhile." in view.text()
    view.press("reveal")
    assert "app sends EndTxn#1 to b3." in words(view)
    assert "b3 appends payments-0: PrepareCommit" in words(view)
    view.press("reveal")
    assert "broker" not in words(view)


def test_moves_go_from_moment_to_moment_and_once_revealed_from_stop_to_stop(view: ClientView) -> None:
    view.press("home")
    seen = [view.step]
    for _ in range(20):
        view.press("right")
        seen.append(view.step)
    assert sorted(set(seen)) == view.moments()
    view.press("left")
    assert view.step == view.moments()[-2]
    view.press("reveal")
    view.press("left")
    assert view.step == max(s for s in view.journey.every_stop() if s < view.moments()[-2])


def test_a_fault_is_felt_only_by_what_it_does_to_the_client(view: ClientView) -> None:
    view.press("drop", "EndTxn#1")
    view.press("end")
    assert "Drop" not in words(view)
    assert "commit_transaction() of app returns" in words(view)
    assert view.collect_known().clock_ms > 30_000


def test_a_crashed_client_knows_nothing_any_more(view: ClientView) -> None:
    view.press("crash", "app")
    assert view.text().endswith("app is gone: it knows nothing any more.")


def test_it_shows_another_client_and_shares_the_journey() -> None:
    programs = tuple(Program(f"p{i}", "transactions", {"transactional_id": f"t{i}", "count": 1}) for i in (1, 2))
    journey = Journey(Scenario(topics={"out": 1}, programs=programs))
    view = ClientView(journey, node="p2", size="projector")
    assert (view.journey, view.node, ClientView(journey).node) == (journey, "p2", "p1")
    journey.press("end")
    assert "p2 calls" in view.text()
    assert "p1" not in view.text()
    with pytest.raises(ValueError, match="no client is called 'p3'; there are p1, p2"):
        ClientView(journey, node="p3")
    with pytest.raises(ValueError, match="no client takes part in this run"):
        ClientView(Scenario(topics={"out": 1}))
