"""What becomes of a run after a fault at each of its steps: as rows, as text, and in the static picture."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from kafkalab import lab00
from kafkalab.explore.what_if import what_if
from kafkalab.faults.frame import Drop
from kafkalab.faults.node import Crash
from kafkalab.protocol import rules
from kafkalab.sim.cluster import ran
from kafkalab.sim.scenario import Program, Scenario
from kafkalab.widgets.model import what_if_strips
from kafkalab.widgets.model.what_if_strips import at_stops, fate_words
from kafkalab.widgets.views.sequence import Sequence

ONE = Scenario(title="one transaction", topics={"accounts": 1}, programs=(Program("app", "first_transaction"),))


@pytest.fixture(scope="module")
def view() -> Sequence:
    return Sequence(ONE, what_if=True)


def row(view: Sequence, name: str) -> dict[str, Any]:
    return next(one for one in view.futures() if one["name"] == name)


def test_the_client_s_row_turns_where_the_request_to_commit_leaves(view: Sequence) -> None:
    places = view.journey.stops()
    fates = [entry[1] for entry in at_stops(row(view, "client crashes"), places)]
    assert list(dict.fromkeys(fates)) == ["nothing", "aborted", "committed"]
    turn = places[fates.index("committed")]
    assert view.cluster.trace.events[turn].frame == "EndTxn#1"


def test_what_a_row_says_of_a_stop_is_what_becomes_of_that_run(view: Sequence) -> None:
    places, trace = view.journey.stops(), view.cluster.trace
    for step, (_, fate, node, _) in list(zip(places, at_stops(row(view, "client crashes"), places), strict=True))[1::6]:
        assert ran(ONE.with_faults(Crash(node, at_step=step, sent=True))).outcome().verdict == fate
    lost = at_stops(row(view, "frame is lost"), places)
    for stop, (_, fate, frame, _) in list(zip(places, lost, strict=True))[::6]:
        if fate != "none":
            assert trace.frames[frame].sent_step <= stop
            assert ran(ONE.with_faults(Drop(frame))).outcome().verdict == fate


def test_a_stop_shows_a_broken_promise_that_is_folded_into_it() -> None:
    folded = {"runs": [[3, "committed", "b1", ""], [6, "broken", "b1", "torn-transaction"], [8, "committed", "b1", ""]]}
    entries = at_stops({"name": "leader crashes", **folded}, [2, 4, 9, 12])
    assert [entry[1] for entry in entries] == ["none", "committed", "broken", "committed"]
    assert fate_words(entries[2]) == "✕ torn-transaction"


def test_the_text_twin_names_the_fate_at_the_cursor_and_every_turn(view: Sequence) -> None:
    view.step = view.cluster.trace.frames["EndTxn#1"].sent_step
    lines = view.text().split("\n")
    told = lines[lines.index("what if it broke right after this step?") + 1 :]
    assert told[0].startswith("    client crashes: committed; whole run: nothing from stop 1, aborted from stop ")
    assert [line.split(":")[0].strip() for line in told] == [one["name"] for one in view.futures()]
    assert "what if" not in Sequence(view, step=view.step).text()


def test_the_static_picture_has_the_strips_only_if_they_are_open(view: Sequence) -> None:
    assert "coordinator crashes" in view.svg()
    assert "coordinator crashes" not in Sequence(view).svg()


def test_a_run_without_transactions_says_never_once_or_twice_and_what_is_allowed() -> None:
    view = Sequence(lab00().with_faults(Drop("ProduceResponse#1")), what_if=True)
    view.press("end")
    told = view.text().split("what if it broke right after this step?\n")[1].split("\n")[:4]
    assert told[0].startswith("    client crashes: twice: duplicate, allowed; whole run: once from stop 1, twice from")
    assert told[1] == "    coordinator crashes: nothing to strike; whole run: nothing to strike"
    drawn = set(re.findall(r">([^<>]+)</text>", view.svg()))
    assert {"once", "twice", "nothing to strike", "twice: duplicate, allowed"} <= drawn
    assert "nothing" not in drawn


def test_futures_are_computed_once_a_run_and_anew_for_another(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Scenario] = []

    def note_and_search(scenario: Scenario, *args: Any) -> Any:
        asked.append(scenario)
        return what_if(scenario, *args)

    monkeypatch.setattr(what_if_strips, "what_if", note_and_search)
    view = Sequence(replace(ONE, rules_off=(rules.REDRIVE_PREPARE.name,)), what_if=True)
    assert view.futures() == view.futures()
    assert len(asked) == 1
    view.press("drop", "EndTxnResponse#1")
    view.futures()
    assert [len(scenario.faults) for scenario in asked] == [0, 1]
    assert view.strips["place"] == 1


def test_a_run_that_cannot_be_made_again_or_is_long_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(what_if_strips, "MOST", 50)
    view = Sequence(ONE, what_if=True)
    assert view.futures() == []
    assert "up to 50 can be tried" in view.strips["why"]
    assert "what if" not in view.text()


def test_what_is_computed_beside_ends_when_the_strips_are_closed() -> None:
    view = Sequence(ONE, what_if=True)
    counts: list[int] = []

    def close(change: Any) -> None:
        counts.append(change["new"].get("tried", -1))
        view.what_if = len(counts) < 2

    view.observe(close, "strips")
    view._beside()
    assert counts == [0, what_if_strips.TOLD_EACH]
    assert "rows" not in view.strips
