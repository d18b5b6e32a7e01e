"""Four machines in Chromium: the rows on the screen are those up to the moment, and a press changes all four."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from kafkalab.widgets.payload.alternatives import END, PLACES
from kafkalab.widgets.views.alternatives import NAMES, Alternatives
from tests.widgets.frames import fit
from tests.widgets.live import Live

pytestmark = pytest.mark.browser
SEEN = """() => [...document.querySelectorAll(".alternatives section")].map((s) => ({
  model: s.getAttribute("aria-label"),
  steps: [...s.querySelectorAll("[data-step]")].map((g) => Number(g.dataset.step)).sort((a, b) => a - b),
  logs: [...s.querySelectorAll(".log")].map((l) => [l.querySelector("b").textContent,
    [...l.querySelectorAll(".cell")].map((c) => [c.textContent, c.className.slice(5)])]),
  ends: [...s.querySelectorAll(".part")].map((e) => e.textContent.slice(2)),
}))"""


def drawn_as(text: str, kind: str) -> str:
    """As which of the cells of a LogTape an entry is drawn."""
    if text.endswith(("✓", "✕")):
        return {"commit": "committed", "abort": "aborted"}[kind]
    if text.split()[0].lower() in ("commit", "abort"):
        return f"marker {kind.upper()}"
    return "open" if kind == "open" else ""


def same(page: Page, view: Alternatives) -> None:
    """Assert that the screen shows what the panels say at the moment."""
    expect(page.locator(".alternatives")).to_have_attribute("data-place", view.place)
    expect(page.locator(".alternatives")).to_have_attribute("data-pressed", view.pressed)
    expect(page.locator(".alternatives .now")).to_have_text(view.head())
    for seen, panel in zip(page.evaluate(SEEN), view.panels, strict=True):
        step, _ = panel["places"][view.place]
        assert seen["model"] == panel["model"]
        assert seen["steps"] == [row["step"] for row in panel["rows"] if row["step"] <= step]
        assert seen["logs"] == [
            [name, [[text, drawn_as(text, kind)] for text, kind in cells]] for name, cells in panel["logs"][view.place]
        ]
        assert seen["ends"] == ([text for text, _ in panel["parts"]] if view.place == END else [])


@pytest.mark.smoke
@pytest.mark.parametrize("size", ["laptop", "projector"])
def test_keys_walk_through_the_moments_and_press_on_all_four(
    page: Page, size: str, console_errors: list[str]
) -> None:
    view = Alternatives(size=size)
    Live(page, view)
    page.locator(".alternatives").focus()
    same(page, view)
    for _ in PLACES[1:]:
        page.keyboard.press("ArrowRight")
        view.press("right")
        same(page, view)
    assert view.place == END
    for number, name in enumerate(NAMES, 1):
        page.keyboard.press(str(number))
        expect(page.locator(".alternatives")).to_have_attribute("data-pressed", name)
        same(page, view)
    page.keyboard.press("2")
    page.get_by_role("button", name="restart").click()
    expect(page.get_by_role("button", name="restart")).to_have_attribute("aria-pressed", "true")
    assert view.again
    page.get_by_role("button", name="told", exact=True).click()
    view.press("goto", "told")
    same(page, view)
    assert console_errors == []


ROWS = """() => ({
  scrolls: [...document.querySelectorAll(".alternatives *")].filter((e) =>
    /auto|scroll/.test(getComputedStyle(e).overflow) &&
    (e.scrollHeight > e.clientHeight + 1 || e.scrollWidth > e.clientWidth + 1)).map((e) => e.className),
  whole: [...document.querySelectorAll(".alternatives .rows")].map((rows) => {
    const room = rows.getBoundingClientRect(), boxes = [...rows.children].map((row) => row.getBoundingClientRect());
    return boxes.filter((b) => b.left < room.right && b.top >= room.top - 1 && b.bottom <= room.bottom + 1).length;
  }),
})"""
"""The elements with a scroll bar, and the number of rows of each machine that are seen whole."""


@pytest.mark.parametrize("press", NAMES)
@pytest.mark.parametrize("again", [False, True])
def test_at_1280_by_800_no_scroll_bar_and_the_newest_frames_of_each_machine(
    page: Page, press: str, again: bool
) -> None:
    page.set_viewport_size({"width": 1280, "height": 800})
    view = Alternatives(press, again)
    Live(page, view)
    fit(page, 848, "#w0")
    for place in PLACES:
        page.get_by_role("button", name=place, exact=True).click()
        expect(page.locator(".alternatives")).to_have_attribute("data-place", place)
        seen = page.evaluate(ROWS)
        assert seen["scrolls"] == []
        shown = [sum(row["step"] <= panel["places"][place][0] for row in panel["rows"]) for panel in view.panels]
        assert all(some >= min(3, rows) for some, rows in zip(seen["whole"], shown, strict=True)), seen


def test_all_frames_of_one_machine_are_shown_on_demand(page: Page) -> None:
    page.set_viewport_size({"width": 1280, "height": 800})
    view = Alternatives("coordinator", place=END)
    Live(page, view)
    fit(page, 848, "#w0")
    page.locator(".alternatives").focus()
    page.keyboard.press("f")
    expect(page.locator(".alternatives section:visible")).to_have_attribute("aria-label", view.panels[0]["model"])
    assert page.evaluate(ROWS)["whole"][0] == len(view.panels[0]["rows"])
    same(page, view)
    page.get_by_role("button", name="all four").click()
    expect(page.locator(".alternatives section:visible")).to_have_count(4)


def test_a_lost_message_is_drawn_as_lost_and_a_dead_process_is_crossed_out(page: Page) -> None:
    Live(page, Alternatives("coordinator", place=END))
    two = page.locator('[aria-label="two-phase commit"]')
    expect(two.locator(".lane.down")).to_contain_text("✕tc")
    assert two.locator(".cross").count() > 0


@pytest.mark.parametrize("room", [342, 690, 848])
def test_the_name_of_each_node_stands_on_one_line(page: Page, room: int) -> None:
    Live(page, Alternatives(place=END))
    fit(page, room, "#w0")
    page.evaluate("document.body.style.overflowWrap = 'anywhere'")  # the book breaks long words
    heights = page.evaluate("[...document.querySelectorAll('.lane')].map((lane) => lane.clientHeight)")
    assert len(heights) > 10
    assert len(set(heights)) == 1
