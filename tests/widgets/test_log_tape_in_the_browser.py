"""The log tape in Chromium: the screen is the text twin, step by step and press by press."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from kafkalab import lab03, lab05, lab10
from kafkalab.faults.node import Crash
from kafkalab.faults.storage import Compact, DeleteSegment
from kafkalab.sim.scenario import Scenario
from kafkalab.widgets.views.log_tape import LogTape
from tests.widgets.harness import page_of
from tests.widgets.screens import agree, open_view, outside, too_small, traits_of

pytestmark = pytest.mark.browser

NAME = "log-tape"
ABORTED = lab03().with_faults(Crash("app", at_step=150))
CLEANED = lab03().with_faults(Compact("__transaction_state-22", at_step=260), DeleteSegment("transfers-0", at_step=200))


@pytest.mark.parametrize(
    ("scenario", "replicas"),
    [(lab03(), False), (lab03("4.x/TV1"), True), (ABORTED, True), (CLEANED, False), (lab10(), False)],
    ids=["TV2", "TV1", "aborted", "cleaned", "two members"],
)
def test_each_step_shows_what_the_text_says_forwards_and_backwards(
    page: Page, scenario: Scenario, replicas: bool, console_errors: list[str]
) -> None:
    view = LogTape(scenario, replicas=replicas)
    open_view(page, view)
    count = len(view.journey.stops()) - 1
    for key in ["ArrowRight"] * count + ["ArrowLeft"] * 15:
        page.keyboard.press(key)
        agree(page, view, NAME)
    assert page.evaluate("window.outside") == []
    assert console_errors == []


@pytest.mark.smoke
def test_each_press_does_on_the_screen_what_it_does_in_python(page: Page) -> None:
    view = LogTape(lab03())
    view.press("end")
    open_view(page, view)
    keys = {"ArrowDown": "down", "ArrowUp": "up", "r": "replicas", "i": "inspect", "[": "before", "]": "after"}
    keys |= {"ArrowLeft": "left", "ArrowRight": "right", "Home": "home", "End": "end"}
    for key in (
        "ArrowDown",
        "[",
        "[",
        "]",
        "r",
        "i",
        "i",
        "ArrowLeft",
        "ArrowRight",
        "ArrowDown",
        "[",
        "r",
        "ArrowUp",
        "Home",
        "End",
    ):
        page.keyboard.press(key)
        view.press(keys[key])
        agree(page, view, NAME)


@pytest.mark.parametrize("action", ["home", "left", "right", "end", "replicas", "inspect"])
def test_each_button_does_what_its_press_does(page: Page, action: str) -> None:
    view = LogTape(lab03(), partition="accounts-0")
    view.step = 200
    open_view(page, view)
    agree(page, view, NAME)
    page.locator(f'.bar [data-action="{action}"]').click()
    view.press(action)
    agree(page, view, NAME)


def test_a_batch_is_chosen_by_a_click_and_every_field_is_told(page: Page) -> None:
    view = LogTape(lab03())
    view.press("end")
    open_view(page, view)
    for target in ("accounts-1@0", "accounts-1@2", "__transaction_state-22@3", "__consumer_offsets-13@0"):
        page.locator(f'[data-choose="{target}"]').first.click()
        view.press("choose", target)
        agree(page, view, NAME)
        assert page.evaluate("[model.get('partition'), model.get('offset')]") == [view.partition, view.offset]
    assert page.evaluate("model.saved") == 4


def test_a_press_that_cannot_be_says_why(page: Page) -> None:
    view = LogTape(lab03())
    open_view(page, view)
    for key, why in (("ArrowUp", "This is the first partition."), ("ArrowLeft", "This is the first step.")):
        page.keyboard.press(key)
        expect(page.locator(".now")).to_have_text(why)
    expect(page.locator('[data-action="left"]').first).to_be_disabled()


def test_aborted_open_and_marker_differ_in_text_and_shape(page: Page) -> None:
    view = LogTape(ABORTED)
    view.step = 140
    open_view(page, view)
    expect(page.locator('[data-partition="accounts-0"] .cell .sign')).to_have_text("… open")
    page.keyboard.press("End")
    signs = page.locator('[data-partition="accounts-0"] .cell .sign')
    expect(signs).to_have_text(["✕ aborted", "✕ ABORT"])
    looks = "e => [getComputedStyle(e).borderTopStyle, getComputedStyle(e).clipPath.slice(0, 7)]"
    cells = page.locator('[data-partition="accounts-0"] .cell')
    assert [cells.nth(i).evaluate(looks) for i in (0, 1)] == [["solid", "none"], ["none", "polygon"]]
    expect(page.locator('[data-partition="accounts-0"] .read.skips')).to_have_text("✕ skips")


def test_of_many_batches_only_those_near_the_end_are_drawn_and_the_others_can_be_reached(page: Page) -> None:
    view = LogTape(lab03())
    payload = view.payload
    last = payload["events"][-1]
    batch = {"kind": "data", "pid": -1, "epoch": -1, "seq": -1, "txn": False, "records": [["", "v"]], "decoded": ""}
    last["patch"] = [["batch", "b1", "transfers-0", {**batch, "base": n, "last": n}] for n in range(2, 502)]
    view.journey.payload = payload
    view.press("end")
    open_view(page, view)
    cells = page.locator('[data-partition="transfers-0"] .cell')
    expect(cells).to_have_count(18)
    expect(cells.last).to_have_attribute("data-base", "501")
    page.locator('[data-choose="transfers-0@earlier"]').click()
    expect(cells.last).to_have_attribute("data-base", "483")
    page.locator('[data-choose="transfers-0@later"]').click()
    expect(cells.last).to_have_attribute("data-base", "501")
    for _ in range(30):
        page.keyboard.press("[")
    expect(page.locator(".cell.chosen")).to_have_attribute("data-base", "472")
    assert page.locator(".klab *").count() < 700


def test_the_help_lists_the_keys(page: Page) -> None:
    open_view(page, LogTape(lab03()))
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("Leader and followers side by side")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()


@pytest.mark.parametrize("replicas", [False, True])
def test_on_a_projector_no_text_is_smaller_than_20_pixels_and_none_stands_out(page: Page, replicas: bool) -> None:
    page.set_viewport_size({"width": 1920, "height": 1080})
    view = LogTape(ABORTED, size="projector", replicas=replicas)
    view.press("end")
    view.press("choose", "accounts-0@0")
    open_view(page, view, size="projector")
    assert (too_small(page), outside(page)) == ([], [])
    page.set_viewport_size({"width": 1280, "height": 800})
    open_view(page, view, size="laptop")
    assert outside(page) == []


def test_texts_of_a_run_are_shown_as_text_and_closing_leaves_no_trace(page: Page, console_errors: list[str]) -> None:
    view = LogTape(lab03())
    evil = '<img src=x onerror="document.title=1">'
    payload = view.payload
    for event in payload["events"]:
        event["text"] = evil
        for op in event["patch"]:
            if op[0] == "batch":
                op[3] = {
                    **op[3],
                    "records": [[evil, evil]],
                    "decoded": "",
                    "fields": [[[evil, evil]]],
                    "last": op[3]["base"],
                }
    view.journey.payload = payload
    view.press("end")
    page.set_content(page_of(payload, view.step, ("transaction",), type(view), **traits_of(view)))
    page.wait_for_function("window.ready === true")
    page.locator(".cell").first.click()
    assert page.locator(".klab img").count() == 0
    assert (page.title(), console_errors) == ("kafkalab", [])
    page.evaluate("close_()")
    expect(page.locator(".klab")).to_have_count(0)
    assert page.evaluate("[journey, model].flatMap((m) => Object.values(m.handlers).flat()).length") == 0


def test_a_record_that_holds_up_others_is_in_view_though_newer_ones_are_further_right(page: Page) -> None:
    page.set_viewport_size({"width": 608, "height": 800})
    view = LogTape(lab05("read_committed"))
    view.step = view.cluster.trace.frames["ListOffsetsResponse#1"].sent_step
    open_view(page, view)
    held = page.locator('[data-partition="ledger-0"] .cell.open').first
    assert "slow-1" in held.inner_text()
    inside = "e => e.getBoundingClientRect().left - e.closest('.grid').getBoundingClientRect().left"
    assert held.evaluate(inside) >= 0


HALVES = """() => [...document.querySelectorAll(".grid")].flatMap((grid) => {
  const edge = grid.querySelector(".label").getBoundingClientRect().right;
  return [...grid.querySelectorAll(".cell")].map((e) => e.getBoundingClientRect())
    .filter((box) => box.left < edge - 1 && box.right > edge + 6).map((box) => [edge - box.left, box.right - edge]);
})"""
"""The batches of which a part is below the label of their log."""


def test_at_a_laptop_with_the_file_browser_no_batch_is_half_below_its_label(page: Page) -> None:
    page.set_viewport_size({"width": 848, "height": 800})
    view = LogTape(lab05())
    open_view(page, view)
    scrolled = 0
    for step in view.journey.stops():
        page.evaluate("step => journey.set('step', step)", step)
        assert page.evaluate(HALVES) == [], step
        scrolled += page.evaluate("() => [...document.querySelectorAll('.grid')].filter((e) => e.scrollLeft).length")
    assert scrolled > 10
