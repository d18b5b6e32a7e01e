"""The client's-eye view in Chromium: the screen says what the text twin says, and each button does what it says."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from kafkalab import lab03, lab06
from kafkalab.faults.node import Crash
from kafkalab.sim.cluster import Cluster
from kafkalab.widgets.views.client_view import ClientView
from tests.widgets.frames import fit
from tests.widgets.harness import show

pytestmark = pytest.mark.browser


@pytest.fixture
def view() -> ClientView:
    return ClientView(lab03())


def put(page: Page, view: ClientView, **values: Any) -> None:
    show(
        page, view.payload, view.step, tuple(view.groups), ClientView, node=view.node, revealed=view.revealed, **values
    )


def screen(page: Page) -> list[str]:
    """The lines on the screen: clock, moments, present."""
    read = "all => all.map((e) => e.dataset.words.replace(' ms', ' ms|'))"
    rows = page.locator(".klab li[data-moment]").evaluate_all(read)
    clock, now = (page.locator(f".client-view {name}").inner_text() for name in (".clock", ".now"))
    return [clock, *rows, now]


def twin(view: ClientView) -> list[str]:
    """The same lines of the text twin."""
    heading, *rows, present = view.text().split("\n")
    told = []
    for row in rows:
        time, _, words = row.strip().strip("()").partition(" ms:" if row.startswith("        ") else " ms  ")
        told.append(f"{time} ms|{words.strip()}")
    return [heading, *told, present.strip()]


def bare(lines: list[str]) -> list[str]:
    return [line.replace("(", "").replace(")", "") for line in lines]


def test_on_a_phone_a_call_is_told_in_few_lines(page: Page, view: ClientView) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    view.press("end")
    put(page, view)
    fit(page, 258)  # what JupyterLab leaves
    assert page.locator(".says").evaluate_all("all => Math.max(...all.map((e) => e.clientHeight))") < 130


@pytest.mark.smoke
def test_the_screen_equals_the_text_twin_moment_by_moment_and_back(
    page: Page, view: ClientView, console_errors: list[str]
) -> None:
    view.press("home")
    put(page, view)
    for key, action in [("ArrowRight", "right")] * 8 + [("ArrowLeft", "left")] * 8 + [("End", "end"), ("Home", "home")]:
        assert bare(screen(page)) == bare(twin(view))
        assert page.locator(".klab").get_attribute("data-step") == str(view.step)
        page.keyboard.press(key)
        view.press(action)
    assert bare(screen(page)) == bare(twin(view))
    assert console_errors == []


@pytest.mark.parametrize("action", ["home", "left", "right", "end"])
def test_each_button_moves_as_the_press_does(page: Page, view: ClientView, action: str) -> None:
    view.step = view.moments()[3]
    put(page, view)
    page.locator(f'[data-action="{action}"]').click()
    view.press(action)
    assert bare(screen(page)) == bare(twin(view))


def test_between_moments_only_the_clock_goes_on(page: Page, view: ClientView) -> None:
    first, later = (view.payload["frames"]["EndTxn#1"][when] for when in ("sent", "received"))
    view.step = first
    put(page, view)
    before = screen(page)
    page.evaluate("step => journey.set('step', step)", later)
    view.step = later
    assert bare(screen(page)) == bare(twin(view))
    assert screen(page)[1:-1] == before[1:-1]
    assert screen(page)[0] != before[0]


def test_reveal_shows_what_it_cannot_know_and_hides_it_again(page: Page, view: ClientView) -> None:
    view.step = view.payload["frames"]["EndTxn#1"]["received"] + 1
    put(page, view)
    assert "broker" not in page.locator(".klab").inner_text()
    page.keyboard.press("r")
    view.press("reveal")
    expect(page.locator('[data-action="reveal"]')).to_have_attribute("aria-pressed", "true")
    assert bare(screen(page)) == bare(twin(view))
    assert page.evaluate("[model.get('revealed'), model.saved]") == [True, 1]
    page.locator('[data-action="reveal"]').click()
    view.press("reveal")
    assert bare(screen(page)) == bare(twin(view))


def test_a_crashed_client_is_gone(page: Page) -> None:
    cluster = Cluster(lab03().with_faults(Crash("app", at_step=150)))
    view = ClientView(cluster)
    view.step = 400
    put(page, view)
    expect(page.locator(".now")).to_have_text("app is gone: it knows nothing any more.")
    assert bare(screen(page)) == bare(twin(view))


def test_a_button_that_leads_nowhere_says_so(page: Page, view: ClientView) -> None:
    view.press("home")
    put(page, view)
    left = page.locator('[data-action="left"]')
    expect(left).to_have_attribute("aria-disabled", "true")
    expect(left).to_have_attribute("title", "There is no such moment.")
    page.keyboard.press("ArrowLeft")
    assert page.locator(".klab").get_attribute("data-step") == str(view.step)


def test_the_help_opens_and_closes(page: Page, view: ClientView) -> None:
    put(page, view)
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("Show what it cannot know, or hide it again")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()


def test_on_a_projector_no_text_is_smaller_than_20_pixels(page: Page, view: ClientView) -> None:
    page.set_viewport_size({"width": 1920, "height": 1080})
    view.press("end")
    put(page, view, size="projector")
    small = page.locator(".klab *").evaluate_all(
        "all => all.filter((e) => e.checkVisibility()"
        " && [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim())"
        " && parseFloat(getComputedStyle(e).fontSize) < 19.95).map((e) => e.textContent)"
    )
    assert small == []


def test_a_long_call_is_told_whole_beside_an_open_file_browser(page: Page) -> None:
    page.set_viewport_size({"width": 848, "height": 800})
    view = ClientView(lab06(), node="till-1")
    view.press("end")
    put(page, view)
    cut = "all => all.filter((e) => e.scrollWidth > e.clientWidth + 1).map((e) => e.textContent)"
    assert page.locator(".says").count() > 3
    assert page.locator(".says").evaluate_all(cut) == []
