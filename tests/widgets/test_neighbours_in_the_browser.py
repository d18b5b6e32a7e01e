"""Four machines in Chromium: the rows on the screen are those up to the moment, and a press changes all four."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from kafkalab.widgets.payload.neighbours import END, PLACES
from kafkalab.widgets.views.neighbours import NAMES, Neighbours
from tests.widgets.live import Live

pytestmark = pytest.mark.browser
SEEN = """() => [...document.querySelectorAll(".neighbours section")].map((s) => ({
  model: s.getAttribute("aria-label"),
  steps: [...s.querySelectorAll("[data-step]")].map((g) => Number(g.dataset.step)),
  logs: [...s.querySelectorAll(".log")].map((l) => [l.querySelector("b").textContent,
    [...l.querySelectorAll(".cell")].map((c) => c.textContent)]),
  ends: [...s.querySelectorAll(".part")].map((e) => e.textContent.slice(2)),
}))"""


def same(page: Page, view: Neighbours) -> None:
    """What is on the screen is what the panels say at the moment."""
    expect(page.locator(".neighbours")).to_have_attribute("data-place", view.place)
    expect(page.locator(".neighbours")).to_have_attribute("data-pressed", view.pressed)
    expect(page.locator(".neighbours .now")).to_have_text(view.head())
    for seen, panel in zip(page.evaluate(SEEN), view.panels, strict=True):
        step, _ = panel["places"][view.place]
        assert seen["model"] == panel["model"]
        assert seen["steps"] == [row["step"] for row in panel["rows"] if row["step"] <= step]
        assert seen["logs"] == [[name, [text for text, _ in cells]] for name, cells in panel["logs"][view.place]]
        assert seen["ends"] == ([text for text, _ in panel["parts"]] if view.place == END else [])


@pytest.mark.smoke
@pytest.mark.parametrize("size", ["laptop", "projector"])
def test_keys_walk_through_the_moments_and_press_on_all_four(
    page: Page, size: str, console_errors: list[str]
) -> None:
    view = Neighbours(size=size)
    Live(page, view)
    page.locator(".neighbours").focus()
    same(page, view)
    for _ in PLACES[1:]:
        page.keyboard.press("ArrowRight")
        view.press("right")
        same(page, view)
    assert view.place == END
    for number, name in enumerate(NAMES, 1):
        page.keyboard.press(str(number))
        expect(page.locator(".neighbours")).to_have_attribute("data-pressed", name)
        same(page, view)
    page.keyboard.press("2")
    page.get_by_role("button", name="start again").click()
    expect(page.get_by_role("button", name="start again")).to_have_attribute("aria-pressed", "true")
    assert view.again
    page.get_by_role("button", name="told", exact=True).click()
    view.press("goto", "told")
    same(page, view)
    assert console_errors == []


def test_a_lost_message_is_drawn_as_lost_and_a_dead_process_is_crossed_out(page: Page) -> None:
    Live(page, Neighbours("coordinator", place=END))
    two = page.locator('[aria-label="two-phase commit"]')
    expect(two.locator(".lane.down")).to_contain_text("✕tc")
    assert two.locator(".cross").count() > 0
