"""The strips over the slider in a real browser: opened by a key, told by the kernel, clicked, and read aloud."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page

from kafkalab import lab00
from kafkalab.sim.scenario import Program, Scenario
from kafkalab.widgets.model.what_if_strips import at_stops, fate_words
from kafkalab.widgets.views.sequence import Sequence
from tests.widgets.frames import fit
from tests.widgets.live import Live
from tests.widgets.screens import open_view
from tests.widgets.test_one_screen_in_the_browser import MEASURE, PARTS, SIZES

pytestmark = pytest.mark.browser


def first_transaction() -> Scenario:
    return Scenario(title="one transaction", topics={"accounts": 1}, programs=(Program("app", "first_transaction"),))


ONE = first_transaction()
WORDS = "() => [...document.querySelectorAll('.whatif em')].map((e) => e.textContent)"
CUT = """() => [...document.querySelectorAll('.whatif em')].filter((e) =>
  e.scrollWidth > e.clientWidth || e.scrollHeight > e.clientHeight + 1).map((e) => e.textContent)"""
TURNS = ["nothing", "aborted", "committed"]


def with_strips(scenario: Scenario) -> Sequence:
    known = Sequence(scenario, what_if=True)
    known.futures()
    return known


@pytest.fixture(scope="module")
def view() -> Sequence:
    return with_strips(ONE)


@pytest.mark.smoke
def test_w_opens_the_strips_the_kernel_fills_them_and_w_closes_them(page: Page) -> None:
    view = Sequence(ONE)
    live = Live(page, view)
    root = page.locator(".klab")
    root.focus()
    assert page.locator(".whatif").is_hidden()
    page.keyboard.press("w")
    assert "What if it broke here?" in page.locator(".whatif").inner_text()
    for _ in range(300):
        live.push()
        if "rows" in view.strips:
            break
        page.wait_for_timeout(200)
    live.push()
    assert page.evaluate("() => document.querySelectorAll('.whatif .bars').length") == 4
    assert page.locator(".whatif .fate").nth(0).evaluate("e => e.className") == "fate nothing"
    page.keyboard.press("w")
    assert page.locator(".whatif").is_hidden()
    assert page.evaluate("outside") == []


@pytest.mark.parametrize("make", [first_transaction, lab00])
def test_the_words_beside_a_row_are_those_of_the_text_twin_and_whole_at_every_stop(
    page: Page, make: Callable[[], Scenario]
) -> None:
    view = with_strips(make())
    open_view(page, view)
    fit(page, 848)
    places = view.journey.stops()
    page.keyboard.press("Home")
    for i in range(len(places)):
        assert page.evaluate(WORDS) == [fate_words(at_stops(row, places)[i]) for row in view.futures()]
        assert page.evaluate(CUT) == []
        page.keyboard.press("ArrowRight")


def test_a_greater_sign_goes_to_the_next_turn_and_a_click_on_a_row_to_the_stop_below(
    page: Page, view: Sequence
) -> None:
    open_view(page, view)
    places, client = view.journey.stops(), view.futures()[0]
    fates = [entry[1] for entry in at_stops(client, places)]
    page.keyboard.press("Home")
    turns = [places.index(int(at)) for at in _steps_of(page, ">", 8)]
    assert {fates.index(fate) for fate in TURNS[1:]} <= set(turns)
    box = page.locator(".whatif .bars").nth(0).bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + box["width"] * (fates.index("committed") + 0.5) / len(places), box["y"] + 4)
    assert page.locator(".klab").get_attribute("data-step") == str(places[fates.index("committed")])


def _steps_of(page: Page, key: str, presses: int) -> list[str]:
    found = []
    for _ in range(presses):
        page.keyboard.press(key)
        found.append(page.locator(".klab").get_attribute("data-step") or "")
    return found


def test_each_row_is_told_in_words_and_each_fate_differs_in_more_than_its_colour(page: Page, view: Sequence) -> None:
    open_view(page, view)
    told = page.locator(".whatif .bars").nth(0).get_attribute("aria-label") or ""
    assert [told.find(fate) for fate in TURNS] == sorted(told.find(fate) for fate in TURNS)
    assert told.startswith("client crashes: stops 1–")
    look = "e => [getComputedStyle(e).backgroundImage !== 'none', getComputedStyle(e).borderStyle, e.textContent]"
    looks = [page.locator(f".whatif .fate.{fate}").first.evaluate(look) for fate in TURNS]
    assert len({str(one) for one in looks}) == 3


def test_strips_that_are_closed_cost_nothing(page: Page) -> None:
    open_view(page, Sequence(ONE))
    page.keyboard.press("ArrowRight")
    assert page.locator(".whatif").evaluate("e => e.innerHTML") == ""
    assert page.evaluate("model.sent.filter((one) => one.kind === 'what_if').length") == 0


@pytest.mark.parametrize("size", SIZES)
def test_with_its_strips_a_sequence_still_fits_the_screen(page: Page, view: Sequence, size: str) -> None:
    wide, high, room, tall, kind = SIZES[size]
    page.set_viewport_size({"width": wide, "height": high})
    open_view(page, view, size=kind)
    fit(page, room)
    seen = page.evaluate(MEASURE, [*PARTS, ".whatif", ".bars", ".whatif em", ".travel"])
    assert seen["outside"] == []
    assert seen["height"] <= tall
    assert seen["diagram"] > 140


def test_on_a_phone_the_bars_and_the_slider_are_as_wide_as_the_picture(page: Page, view: Sequence) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    open_view(page, view, what_if=True, strips=view.strips)
    fit(page, 342)
    boxes = [one.bounding_box() for one in [*page.locator(".bars").all(), page.locator(".ticks")]]
    assert len(boxes) == len(view.strips["rows"]) + 1
    assert {box and (round(box["x"]), round(box["width"])) for box in boxes} == {
        box and (round(box["x"]), round(box["width"])) for box in boxes[-1:]
    }
    assert all(box and box["width"] > 300 for box in boxes)
    assert page.evaluate(CUT) == []
