"""What the checks say stands in the sequence: in the log where it lies, from the step at which it becomes true."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from kafkalab import lab00, lab01, lab06
from kafkalab.faults.frame import Drop
from kafkalab.faults.node import Crash
from kafkalab.protocol.rules import DEDUPLICATION
from kafkalab.run.again import run_scenario
from kafkalab.sim.scenario import Scenario
from kafkalab.widgets.model.findings import UNBROKEN, lines_at, report_of
from kafkalab.widgets.model.findings_in_logs import missing_since
from kafkalab.widgets.model.journey import Journey
from kafkalab.widgets.views.sequence import Sequence
from tests.widgets.live import Live

DATA = Path(__file__).parents[2] / "data"


def load_duplicate() -> Scenario:
    return replace(Scenario.load(DATA / "rules" / "deduplication.klab"), rules_off=(DEDUPLICATION.name,))


def finding(journey: Journey, name: str) -> dict[str, Any]:
    return next(f for r in journey.report()["results"] for f in r["findings"] if r["name"] == name)


def test_a_finding_names_its_records_and_the_step_from_which_it_is_seen() -> None:
    journey = Journey(load_duplicate())
    found = finding(journey, "duplicate")
    assert (found["since"], found["places"]) == (51, [["out-0", 0], ["out-0", 1]])
    assert journey.payload["events"][51]["text"] == "b3 appends x to out-0 at offset 1."


def test_a_report_is_made_once_a_run_and_travels_with_it() -> None:
    journey = Journey(lab00())
    assert journey.verdict == {}
    first = journey.report()
    assert journey.report() == first == journey.verdict
    journey.press("drop", "ProduceResponse#1")
    assert journey.verdict["place"] != journey.place
    assert finding(journey, "duplicate")["policy"] == "allowed"
    journey.press("undo")
    assert journey.report() == first


@pytest.mark.parametrize(
    "scenario",
    [
        lab06(),
        lab00().with_faults(Drop("ProduceResponse#1")),
        load_duplicate(),
        lab00().with_faults(*(Crash(broker, at_step=50) for broker in ("b1", "b2", "b3"))),  # cannot be read to its end
    ],
)
def test_a_run_that_is_spent_has_the_report_of_one_that_is_kept(scenario: Scenario) -> None:
    kept, spent = run_scenario(scenario), run_scenario(scenario)
    before = kept.trace.steps
    assert report_of(kept) == report_of(spent, spend=True)
    assert kept.trace.steps == before < spent.trace.steps


def test_the_text_twin_says_what_is_broken_from_the_step_on() -> None:
    view = Sequence(load_duplicate())
    view.step = 50
    assert view.text().splitlines()[-1] == "no promise is broken so far"
    view.step = 51
    assert view.text().splitlines()[-2].startswith("✕ duplicate (forbidden): 'x' lies at the offsets 0, 1 of out-0")
    calm = Sequence(lab00().with_faults(Drop("ProduceResponse#1")))
    calm.press("end")
    assert calm.text().splitlines()[-2:] == [
        "no promise is broken so far",
        "duplicate (allowed): 'soup' lies at the offsets 0, 1 of orders-0: sent again, or without idempotence",
    ]


def test_a_value_sent_again_after_its_first_copy_was_aborted_is_nowhere_red() -> None:
    journey = Journey(lab06())
    last = len(journey.payload["events"]) - 1
    assert finding(journey, "duplicate")["places"] == []
    assert lines_at(journey.report(), last) == [UNBROKEN]


def test_a_value_is_missed_from_where_the_leader_lacks_it_to_the_end() -> None:
    journey = Journey(lab00(seed=2).with_faults(Crash("b2", at_step=27)))
    trace = journey.cluster.trace
    append = next(e for e in trace.events if e.kind == "append")
    since = missing_since(trace, append.name, append.data.base_offset, "soup", append.step)
    leader = [e.step for e in trace.events if e.name == "metadata" and e.step > append.step]
    assert since == (leader[0] if since >= 0 else -1)
    assert missing_since(trace, append.name, append.data.base_offset, "another value", append.step) == append.step


def test_the_leaders_memory_is_in_the_payload_step_by_step() -> None:
    payload = Journey(lab01()).payload
    told = [op for e in payload["events"] for op in e["patch"] if op[0] == "memory" and op[1] == "b2"]
    assert told[-1][3] == {"0": {"epoch": 0, "batches": [[0, 1, 0], [2, 2, 2], [3, 3, 3]]}}
    view = Sequence(lab01())
    view.press("end")
    assert "orders-0 remembers of producer 0 epoch 0: seq 0-1, 2, 3" in view.text()


@pytest.mark.browser
def test_the_leaders_memory_can_be_seen_below_the_diagram(page: Page) -> None:
    view = Sequence(lab01())
    view.press("end")
    Live(page, view)
    slots = page.locator('[data-memory="orders-0 0"] .slots > span')
    expect(slots).to_have_text(["seq 0–1", "seq 2", "seq 3", "–", "–"])
    for slot in slots.all():
        expect(slot).to_be_visible()


@pytest.mark.browser
def test_what_is_allowed_is_marked_in_its_log_but_not_red(page: Page) -> None:
    view = Sequence(lab00().with_faults(Drop("ProduceResponse#1")))
    view.press("end")
    Live(page, view).settle()
    expect(page.locator(".cell.noted .anomaly")).to_have_text(["– duplicate", "– duplicate"])
    expect(page.locator(".cell.wrong")).to_have_count(0)
    expect(page.locator('[data-action="finding"]')).to_have_text("duplicate, allowed")
    assert "– duplicate" in view.svg()
    assert "✕ duplicate" not in view.svg()


@pytest.mark.browser
def test_a_duplicated_value_is_red_where_it_lies_and_a_chip_leads_to_its_steps(
    page: Page, console_errors: list[str]
) -> None:
    view = Sequence(load_duplicate(), step=50)
    live = Live(page, view)
    expect(page.locator(".found .quiet")).to_have_text("✓ no promise is broken so far")
    live.settle()
    expect(page.locator(".cell.wrong")).to_have_count(0)
    page.evaluate("step => models.j0.set('step', step)", 51)
    expect(page.locator(".cell.wrong")).to_have_count(2)
    expect(page.locator(".cell.wrong .anomaly").first).to_have_text("✕ duplicate")
    chip = page.locator('[data-action="finding"][data-target="duplicate"]')
    expect(chip).to_have_text("✕ duplicate")
    chip.click()
    steps = page.locator(".findings li button")
    expect(steps).to_have_text(["step 30: b3 appends x to out-0 at offset 0.", "step 51: b3 appends x to "
                                "out-0 at offset 1."])  # fmt: skip
    steps.first.click()
    expect(page.locator(".klab")).to_have_attribute("data-step", "30")
    expect(page.locator(".cell.wrong")).to_have_count(0)
    assert console_errors == []


@pytest.mark.browser
def test_the_first_finding_stands_out_and_later_ones_of_other_names_stand_back(page: Page) -> None:
    view = Sequence(load_duplicate())
    view.press("end")
    report = view.journey.report()
    results = [r for r in report["results"] if r["findings"]][::-1]
    results[0]["findings"][0]["since"] += 1
    results[1]["findings"][0]["places"].pop()
    view.journey.verdict = {**report, "results": results}
    Live(page, view).settle()
    chips = page.locator('[data-action="finding"]').evaluate_all(
        "all => all.map((e) => [e.dataset.target, e.matches('.later')])"
    )
    assert chips == [["duplicate", False], ["sequence gap", True]]
    cells = page.locator('[data-partition="out-0"] .cell.wrong').evaluate_all(
        "all => all.map((e) => [e.querySelector('.anomaly').textContent, e.matches('.later')])"
    )
    assert cells == [["✕ duplicate", False], ["✕ sequence gap", True]]


@pytest.mark.browser
def test_a_lost_value_is_a_ghost_where_it_should_be(page: Page) -> None:
    view = Sequence(lab00())
    view.press("end")
    report = view.journey.report()
    lost = {"policy": "forbidden", "text": "'soup' is lost", "step": 40, "steps": [40], "since": 40, "value": "soup"}
    lost |= {"places": [["orders-0", 0]], "afterwards": True}
    result = {"name": "lost-write", "meaning": "lost", "findings": [lost]}
    view.journey.verdict = {**report, "results": [result]}
    live = Live(page, view)
    live.settle()
    ghost = page.locator('[data-partition="orders-0"] .ghost')
    expect(ghost).to_contain_text("soup")
    expect(ghost).to_contain_text("lost")
    page.evaluate("step => models.j0.set('step', step)", 39)
    expect(ghost).to_have_count(0)
