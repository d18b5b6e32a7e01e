"""The state charts in Chromium: the screen is the text twin; arrows are told, the token runs along those that fire."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from kafkalab import lab03
from kafkalab.faults.node import Crash
from kafkalab.programs.groups import two_members
from kafkalab.sim.scenario import Scenario
from kafkalab.widgets.views.state_chart import StateChart
from tests.widgets.frames import fit
from tests.widgets.screens import agree, open_view, outside, too_small

pytestmark = pytest.mark.browser

NAME = "state-chart"
ABORTED = lab03("4.x/TV1").with_faults(Crash("app", at_step=150))
MANY = Path(__file__).parents[2] / "data" / "rules" / "generation_check.klab"


def active(page: Page) -> list[str]:
    """The states that are drawn as the present one."""
    ids: list[str] = page.evaluate(
        "[...document.querySelectorAll('.states .active')].map((e) => e.id.replace(/^.*-s_/, ''))"
    )
    return ids


@pytest.mark.smoke
@pytest.mark.parametrize(
    ("scenario", "name"),
    [(lab03(), "coordinator"), (ABORTED, "coordinator"), (lab03(), "producer")],
    ids=["TV2", "aborted", "producer"],
)
def test_each_step_shows_what_the_text_says(
    page: Page, scenario: Scenario, name: str, console_errors: list[str]
) -> None:
    view = StateChart(scenario, name)
    open_view(page, view)
    for step in view.journey.stops():
        page.evaluate("step => journey.set('step', step)", step)
        agree(page, view, NAME)
        state = page.evaluate("document.querySelector('[data-state]')?.dataset.state")
        assert active(page) == ([state] if state else [])
    assert page.evaluate("window.outside") == []
    assert console_errors == []


@pytest.mark.parametrize("name", ["coordinator", "producer"])
def test_each_press_of_an_arrow_key_changes_the_chart_until_nothing_changes_any_more(page: Page, name: str) -> None:
    view = StateChart(lab03(), name)
    open_view(page, view)
    page.keyboard.press("Home")
    shown = "() => document.querySelector('.chart .subject').textContent"
    seen = [page.evaluate(shown)]
    for _ in view._turns():
        page.keyboard.press("ArrowRight")
        agree(page, view, NAME)
        seen.append(page.evaluate(shown))
    assert all(one != other for one, other in pairwise(seen))
    page.keyboard.press("ArrowRight")
    last = view._turns()[-1] == view.journey.stops()[-1]
    why = "This is the last step." if last else "Nothing changes here after this step."
    expect(page.locator(".now")).to_have_text(why)
    expect(page.locator(".bar [data-action=right]")).to_be_disabled()
    page.keyboard.press("ArrowLeft")
    assert page.evaluate(shown) == seen[-2]
    assert page.evaluate("journey.get('step')") == view._turns()[-2]
    page.keyboard.press("End")
    assert page.evaluate("journey.get('step')") == view.journey.stops()[-1]


@pytest.mark.parametrize("name", ["coordinator", "producer"])
@pytest.mark.parametrize("width", [848, 900, 1208])
def test_it_is_on_one_screen_with_the_present_state_in_it(page: Page, name: str, width: int) -> None:
    page.set_viewport_size({"width": width + 16, "height": 800})
    view = StateChart(lab03(), name)
    view.press("end")
    open_view(page, view)
    seen = page.evaluate(
        """() => {
          const box = (query) => document.querySelector(query).getBoundingClientRect(), main = box(".main");
          const { top, bottom } = box(".states .active"), cells = box(".cells table");
          return [box(".klab").height, top >= main.top && bottom <= main.bottom, cells.right <= main.right + 1];
        }"""
    )
    assert seen[0] <= 600
    assert seen[1:] == [True, True]


def test_at_a_laptop_with_the_file_browser_the_coordinators_answers_are_beside_its_chart(page: Page) -> None:
    page.set_viewport_size({"width": 1280, "height": 800})
    view = StateChart(lab03())
    view.press("end")
    open_view(page, view)
    fit(page, 833)  # JupyterLab's output there
    assert page.locator(".main").evaluate("e => e.scrollHeight - e.clientHeight") == 0


def test_a_group_is_followed_through_its_rebalances(page: Page, console_errors: list[str]) -> None:
    view = StateChart(two_members(), "group")
    stops = view.journey.stops()
    changes = [p.step for p in view._places()]
    open_view(page, view)
    for step in [s for s in stops if s in changes] + stops[-1:]:
        page.evaluate("step => journey.set('step', step)", step)
        agree(page, view, NAME)
    assert console_errors == []


def test_each_press_does_on_the_screen_what_it_does_in_python(page: Page) -> None:
    view = StateChart(lab03())
    view.step = 150
    open_view(page, view)
    keys = {"ArrowDown": "down", "ArrowUp": "up", "w": "what_if", "ArrowLeft": "left", "ArrowRight": "right"}
    for key in (
        "ArrowDown",
        "ArrowDown",
        "ArrowUp",
        "w",
        "w",
        "ArrowDown",
        "ArrowRight",
        "ArrowLeft",
        "w",
        "ArrowDown",
    ):
        page.keyboard.press(key)
        view.press(keys[key])
        agree(page, view, NAME)


@pytest.mark.parametrize("action", ["home", "left", "right", "end", "what_if"])
def test_each_button_does_what_its_press_does(page: Page, action: str) -> None:
    view = StateChart(lab03(), "producer")
    view.step = 150
    open_view(page, view)
    agree(page, view, NAME)
    page.locator(f'.bar [data-action="{action}"]').click()
    view.press(action)
    agree(page, view, NAME)


def test_a_question_is_chosen_by_a_click_and_by_enter(page: Page) -> None:
    view = StateChart(lab03())
    view.step = 150
    open_view(page, view)
    page.locator('[data-ask="EndTxn(COMMIT)"]').click()
    view.press("ask", "EndTxn(COMMIT)")
    agree(page, view, NAME)
    expect(page.locator(".told")).to_have_text("Ongoing → PrepareCommit: EndTxn(COMMIT) — NONE")
    expect(page.locator(".asked")).to_have_id("klab-state-chart1-e_Ongoing__PrepareCommit")
    page.locator('[data-ask="InitProducerId"]').focus()
    page.keyboard.press("Enter")
    view.press("ask", "InitProducerId")
    agree(page, view, NAME)


def test_pointing_at_an_arrow_and_going_to_it_names_question_answer_and_error(page: Page) -> None:
    view = StateChart(lab03())
    view.press("end")
    open_view(page, view)
    edge = page.locator("[id$=e_Ongoing__PrepareAbort]")
    edge.locator("text").first.hover()
    told = page.locator(".told")
    expect(told).to_contain_text(
        "Ongoing → PrepareAbort: InitProducerId — CONCURRENT_TRANSACTIONS. What is open is aborted"
    )
    expect(told).to_contain_text("Ongoing → PrepareAbort: EndTxn(ABORT) — NONE")
    expect(told).to_contain_text("Ongoing → PrepareAbort: transaction timeout")
    page.locator("[id$=e_PrepareCommit__CompleteCommit]").focus()
    expect(told).to_have_text("PrepareCommit → CompleteCommit: all markers written")
    assert page.locator(".edge:not([aria-label*='→'])").count() == 0


def test_the_subject_is_chosen_from_the_list_and_with_a_key(page: Page) -> None:
    view = StateChart(Scenario.load(MANY), "producer")
    view.press("end")
    open_view(page, view)
    names = list(dict.fromkeys(p.subject for p in view._places()))
    page.locator("select").select_option(names[0])
    view.press("subject", names[0])
    agree(page, view, NAME)
    page.locator(".klab").focus()
    page.keyboard.press("s")
    view.press("subject", names[1])
    agree(page, view, NAME)


def test_the_token_runs_along_the_arrow_that_fires_and_waits_half_way_on_a_pending_one(page: Page) -> None:
    view = StateChart(lab03())
    stops = view.journey.stops()
    prepared = next(p for p in view._places() if p.state == "PrepareCommit" and not p.pending)
    view.step = stops[stops.index(prepared.step) - 1]
    open_view(page, view)
    page.keyboard.press("ArrowRight")
    expect(page.locator(".token")).to_have_count(1)
    expect(page.locator(".fired")).to_have_id("klab-state-chart1-e_Ongoing__PrepareCommit")
    expect(page.locator(".token")).to_have_count(0)
    page.keyboard.press("ArrowRight")
    expect(page.locator(".edge.pending")).to_have_id("klab-state-chart1-e_PrepareCommit__CompleteCommit")
    page.wait_for_timeout(900)
    near = page.evaluate(
        """() => {
          const path = document.querySelector(".edge.pending path");
          const { x, y } = path.getPointAtLength(path.getTotalLength() / 2);
          const at = document.querySelector(".token").getAttribute("transform").match(/[-\\d.]+/g).map(Number);
          return Math.hypot(at[0] - x, at[1] - y);
        }"""
    )
    assert near < 0.5


def test_nothing_moves_for_those_who_asked_for_less_motion(page: Page) -> None:
    page.emulate_media(reduced_motion="reduce")
    view = StateChart(lab03())
    stops = view.journey.stops()
    prepared = next(p for p in view._places() if p.state == "PrepareCommit" and not p.pending)
    view.step = stops[stops.index(prepared.step) - 1]
    open_view(page, view)
    page.keyboard.press("ArrowRight")
    assert page.locator(".token").count() == 0
    assert active(page) == ["PrepareCommit"]


@pytest.mark.parametrize("name", ["coordinator", "producer", "group"])
def test_on_a_projector_no_text_is_smaller_than_20_pixels_and_none_stands_out(page: Page, name: str) -> None:
    page.set_viewport_size({"width": 1920, "height": 1080})
    view = StateChart(two_members() if name == "group" else lab03(), name, size="projector")
    view.press("end")
    view.press("down")
    open_view(page, view, size="projector")
    assert (too_small(page), outside(page)) == ([], [])
    page.set_viewport_size({"width": 1280, "height": 800})
    open_view(page, view, size="laptop")
    assert outside(page) == []


def test_two_charts_on_a_page_have_ids_of_their_own_and_closing_leaves_no_trace(page: Page) -> None:
    view = StateChart(lab03())
    open_view(page, view)
    page.evaluate(
        "async () => { const el = document.body.appendChild(document.createElement('div'));"
        " const second = Object.assign(new model.constructor({ ...model.values }), { widget_manager });"
        " window.shut = await widget.render({ model: second, el }); }"
    )
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map((e) => e.id)")
    assert len(ids) == len(set(ids))
    page.locator(".klab").first.press("ArrowRight")
    steps = page.evaluate("[...document.querySelectorAll('.klab')].map((e) => e.dataset.step)")
    assert len(set(steps)) == 1
    lives = page.evaluate("[...document.querySelectorAll('.now')].map((e) => e.ariaLive)")
    assert lives == ["polite", "off"]
    page.evaluate("() => { close_(); shut(); }")
    assert page.evaluate("[journey, model].flatMap((m) => Object.values(m.handlers).flat()).length") == 0


@pytest.mark.parametrize("width", [833, 1100])
def test_the_whole_chart_of_a_producer_is_seen_and_only_the_table_beside_it_scrolls(page: Page, width: int) -> None:
    page.set_viewport_size({"width": 1280, "height": 800})
    view = StateChart(lab03(), "producer")
    view.press("end")
    open_view(page, view)
    fit(page, width)
    assert page.locator(".main").evaluate("e => e.scrollHeight - e.clientHeight") <= 0
    end, chart, table = (
        page.locator(which).bounding_box() for which in (".main", ".chart .states svg", ".what-if table")
    )
    assert end is not None
    assert chart is not None
    assert table is not None
    assert chart["y"] + chart["height"] <= end["y"] + end["height"]
    assert table["x"] + table["width"] <= end["x"] + end["width"]
    assert table["x"] >= chart["x"] + chart["width"]
