"""What all panels have in common in Chromium: large text on a projector, focus, help, no traces when closed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from kafkalab.sim.programs import lab03
from kafkalab.widgets.compare import Compare
from kafkalab.widgets.fault_panel import FaultPanel
from kafkalab.widgets.journey import Journey
from kafkalab.widgets.predict import Predict
from kafkalab.widgets.share import Share
from kafkalab.widgets.verdict import Verdict
from tests.widgets.live import Live
from tests.widgets.test_predict import BECAUSE, CHOICES
from tests.widgets.test_verdict import duplicated

pytestmark = pytest.mark.browser
SMALL = """() => [...document.querySelectorAll(".klab *")].filter((e) => {
  const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
  return own && e.checkVisibility() && parseFloat(getComputedStyle(e).fontSize) < 19.95;
}).map((e) => e.textContent)"""


@pytest.fixture(autouse=True)
def _no_cards() -> Iterator[None]:
    Predict.cards.clear()
    yield
    Predict.cards.clear()


def every_panel(size: str) -> list[Any]:
    journey = Journey(lab03())
    journey.press("drop", "EndTxn#1")
    card = Predict("What becomes of it?", CHOICES, "a", BECAUSE, size=size)
    card.press("choose", "b")
    views = [FaultPanel(journey, size), Verdict(duplicated(), size), Share(journey, size), Compare(journey, size=size)]
    return [*views, card]


@pytest.mark.parametrize("colours", ["none", "active"])
def test_on_a_projector_no_text_is_smaller_than_20_pixels_and_nothing_is_cut_off(
    page: Page, colours: Any, console_errors: list[str]
):
    page.set_viewport_size({"width": 1920, "height": 1080})
    page.emulate_media(forced_colors=colours)
    Live(page, *every_panel("projector"))
    for summary in page.locator("summary").all():
        summary.click()
    assert page.evaluate(SMALL) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert console_errors == []


def test_each_panel_has_a_name_a_line_that_is_read_aloud_and_a_help(page: Page):
    panels = every_panel("laptop")
    Live(page, *panels)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    for i in range(len(panels)):
        root = page.locator(f"#w{i} .klab")
        expect(root.locator('[role="status"][aria-live="polite"]')).to_have_count(1)
        root.focus()
        assert root.evaluate("(e) => getComputedStyle(e).outlineStyle") == "solid"
        page.keyboard.press("?")
        expect(root.get_by_role("dialog")).to_be_visible()
        page.keyboard.press("Escape")
        expect(root.get_by_role("dialog")).to_be_hidden()
    assert page.evaluate("outside") == []
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map((e) => e.id)")
    assert len(ids) == len(set(ids))


def test_a_closed_panel_leaves_no_trace(page: Page):
    Live(page, *every_panel("laptop"))
    page.evaluate(
        """async () => {
          for (const id of ["w0", "w1", "w2", "w3", "w4"]) {
            const model = models[id], el = document.body.appendChild(document.createElement("div"));
            const before = Object.values(models).flatMap((m) => Object.values(m.handlers).flat()).length;
            const close = await window[id].render({ model, el });
            close();
            window[`left_${id}`] = [el.childElementCount,
              Object.values(models).flatMap((m) => Object.values(m.handlers).flat()).length - before];
          }
        }"""
    )
    assert [page.evaluate(f"left_w{i}") for i in range(5)] == [[0, 0]] * 5
