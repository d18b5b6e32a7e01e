"""The walk in the browser: the same stops as in Python, chapters by mouse and key, changes, folds."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from kafkalab import lab02, lab03, lab05, lab06
from kafkalab.sim.scenario import Scenario
from kafkalab.widgets.views.log_tape import LogTape
from kafkalab.widgets.views.sequence import Sequence
from tests.widgets.live import Live
from tests.widgets.screens import open_view

pytestmark = pytest.mark.browser

NAMES = "() => [...document.querySelectorAll('.contents button')].map((e) => e.title)"


def step(page: Page) -> int:
    return int(page.locator(".klab").get_attribute("data-step") or -1)


@pytest.mark.smoke
@pytest.mark.parametrize("scenario", [lab02(records=0), lab03(), lab05(), lab06()], ids=["02", "03", "05", "06"])
def test_every_press_of_every_key_of_the_walk_goes_where_it_goes_in_python(
    page: Page, scenario: Scenario, console_errors: list[str]
) -> None:
    view = Sequence(scenario)
    if view.payload["title"] == lab02().title:
        view.press("crash", "b3")
        view.press("home")
    open_view(page, view)
    keys = {
        "ArrowRight": "right", "Shift+ArrowRight": "next_change", "]": "next_chapter", ".": "next_frame", "o": "open",
        "Shift+ArrowLeft": "previous_change", "[": "previous_chapter", ",": "previous_frame", "ArrowLeft": "left",
        "PageDown": "next_chapter", "PageUp": "previous_chapter", "e": "every",
    }  # fmt: skip
    walk = [*["ArrowRight"] * 30, "Home", *keys, *["]"] * 9, "o", ",", "ArrowRight", *list(keys)[::-1], *["]"] * 30]
    for key in [*walk, "[", "Shift+ArrowLeft", ",", "End", "o", "ArrowLeft"]:
        page.keyboard.press(key)
        action = {**keys, "Home": "home", "End": "end"}[key]
        if not view.journey.possible(action):
            view.press(action)
        assert step(page) == view.step, key
    places = view.journey.stops()
    expect(page.locator(".klab")).to_have_attribute("data-stop-count", str(len(places)))
    assert console_errors == []


def test_the_list_names_every_chapter_and_a_click_or_key_there_goes_to_it(page: Page) -> None:
    view = Sequence(lab03())
    open_view(page, view)
    names = [chapter["name"] for chapter in view.payload["chapters"]]
    told = page.evaluate(NAMES)
    assert [title.rpartition(": stop ")[0] for title in told] == names
    contents = page.get_by_role("dialog", name="Chapters")
    expect(contents).to_be_hidden()
    page.keyboard.press("c")
    expect(contents).to_be_visible()
    expect(contents.get_by_role("button").first).to_be_focused()
    for _ in range(names.index("decision")):
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(contents).to_be_hidden()
    expect(page.locator(".klab")).to_be_focused()
    view.press("find", "chapter:decision")
    assert step(page) == view.step
    expect(page.locator(".chapter")).to_have_text("decision")
    page.get_by_role("button", name="List of chapters").click()
    contents.get_by_role("button", name="offsets").click()
    view.press("find", "chapter:offsets")
    assert step(page) == view.step
    page.keyboard.press("c")
    page.keyboard.press("Escape")
    expect(contents).to_be_hidden()


def test_each_chapter_has_a_tick_where_it_begins_and_the_slider_says_it_aloud(page: Page) -> None:
    view = Sequence(lab03())
    open_view(page, view)
    ticks = page.locator(".tick")
    assert ticks.all_text_contents() == [chapter["name"] for chapter in view.payload["chapters"]]
    tick = ticks.filter(has_text="commit")
    tick.click()
    view.press("find", "chapter:commit")
    assert step(page) == view.step
    expect(tick).to_have_attribute("aria-current", "step")
    expect(page.locator(".tick[aria-current]")).to_have_count(1)
    place = view.journey.stops().index(view.step) + 1
    slider = page.get_by_role("slider")
    expect(slider).to_have_attribute("aria-valuetext", f"step {place} of {len(view.journey.stops())}, chapter commit")
    thumb = slider.evaluate(
        "e => { const b = e.getBoundingClientRect(); return b.left + 8 + (b.width - 16) * "
        "(e.value - 1) / (e.max - 1); }"
    )
    assert abs(thumb - tick.evaluate("e => e.getBoundingClientRect().left")) < 8


def test_a_fold_says_how_many_steps_it_has_and_opens_by_mouse_and_key(page: Page) -> None:
    view = Sequence(lab02(records=0))
    view.press("crash", "b3")
    view.step = view.payload["folds"][0]["to"]
    open_view(page, view)
    fold = page.locator(".folded")
    count = len(view.journey.fold())
    expect(page.locator(".now")).to_have_text(view.payload["folds"][0]["text"])
    expect(fold).to_have_text(f"+ {count}")
    assert fold.get_attribute("aria-label") == f"Show {count} steps that are folded into this stop (o)"
    stops = len(view.journey.stops())
    fold.click()
    expect(page.locator(".klab")).to_have_attribute("data-stop-count", str(stops + count))
    expect(fold).to_have_attribute("aria-pressed", "true")
    expect(page.locator(".now")).to_have_text(view.payload["events"][view.step]["text"])
    page.keyboard.press("ArrowLeft")
    view.press("open")
    view.press("left")
    assert step(page) == view.step
    page.keyboard.press("o")
    expect(page.locator(".klab")).to_have_attribute("data-stop-count", str(stops))


def test_the_kernel_knows_what_is_folded_and_so_do_the_other_views(page: Page) -> None:
    view = Sequence(lab03())
    Live(page, view)
    page.locator(".klab").focus()
    for key in ("e", "ArrowRight", "ArrowRight"):
        page.keyboard.press(key)
    view.press("every")
    expect(page.locator(".klab")).to_have_attribute("data-step", str(view.journey.stops()[2]))
    view.press("every")
    page.wait_for_timeout(1_000)
    assert view.journey.every
    assert view.step == step(page)
    assert view.journey.stops() == view.journey.every_stop()


def test_another_view_of_the_journey_walks_by_the_same_stops(page: Page) -> None:
    view = LogTape(lab03())
    open_view(page, view)
    expect(page.locator(".klab")).to_have_attribute("data-stop-count", str(len(view.journey.stops())))
    page.keyboard.press("ArrowRight")
    view.press("right")
    assert step(page) == view.step
