"""What all panels have in common in Chromium: large text on a projector, focus, help, no traces when closed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from kafkalab import lab03
from kafkalab.faults.frame import Drop
from kafkalab.widgets.model.journey import Journey
from kafkalab.widgets.views.client_view import ClientView
from kafkalab.widgets.views.cluster_map import ClusterMap
from kafkalab.widgets.views.compare import Compare
from kafkalab.widgets.views.cost_meter import CostMeter
from kafkalab.widgets.views.fault_panel import FaultPanel
from kafkalab.widgets.views.log_tape import LogTape
from kafkalab.widgets.views.predict import Predict
from kafkalab.widgets.views.sequence import Sequence
from kafkalab.widgets.views.share import Share
from kafkalab.widgets.views.state_chart import StateChart
from kafkalab.widgets.views.verdict import Verdict
from tests.widgets.live import Live
from tests.widgets.test_predict import BECAUSE, CHOICES
from tests.widgets.test_verdict import load_duplicate

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
    card.press("tell")
    views = [
        FaultPanel(journey, size),
        Verdict(load_duplicate(), size),
        Share(journey, size),
        Compare(journey, size=size),
    ]
    return [*views, CostMeter(journey, size=size), card]


@pytest.mark.smoke
@pytest.mark.parametrize("colours", ["none", "active"])
def test_on_a_projector_no_text_is_smaller_than_20_pixels_and_nothing_is_cut_off(
    page: Page, colours: Any, console_errors: list[str]
) -> None:
    page.set_viewport_size({"width": 1920, "height": 1080})
    page.emulate_media(forced_colors=colours)
    Live(page, *every_panel("projector"))
    for summary in page.locator("summary").all():
        summary.click()
    assert page.evaluate(SMALL) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert console_errors == []


def test_each_panel_has_a_name_a_line_that_is_read_aloud_and_a_help(page: Page) -> None:
    panels = every_panel("laptop")
    Live(page, *panels)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    for i in range(len(panels)):
        root = page.locator(f"#w{i} .klab")
        expect(root.locator('.now[role="status"]')).to_have_count(1)
        root.focus()
        expect(root.locator(".now")).to_have_attribute("aria-live", "polite")
        expect(root).to_have_attribute("aria-label", f"{root.locator('h3').inner_text()}. Question mark for help.")
        assert root.evaluate("(e) => getComputedStyle(e).outlineStyle") == "solid"
        page.keyboard.press("?")
        expect(root.get_by_role("dialog")).to_be_visible()
        page.keyboard.press("Escape")
        expect(root.get_by_role("dialog")).to_be_hidden()
    assert page.evaluate("outside") == []
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map((e) => e.id)")
    assert len(ids) == len(set(ids))


def test_a_closed_panel_leaves_no_trace(page: Page) -> None:
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


REACHED = "button, input, select, textarea, [tabindex='0']"
NAMES = """(reached) => [...document.querySelectorAll(".klab")].map((root) =>
  [...root.querySelectorAll(reached)].filter((e) => e !== root && e.checkVisibility())
    .map((e) => e.getAttribute("aria-label") ?? (e.labels?.[0] ?? e).textContent.trim()))"""


def test_everything_that_can_be_reached_has_a_name_of_its_own(page: Page) -> None:
    journey = Journey(lab03())
    journey.press("drop", "EndTxn#1")
    views = [Sequence(journey), LogTape(journey), StateChart(journey), ClusterMap(journey), ClientView(journey)]
    Live(page, *views, *every_panel("laptop"))
    for summary in page.locator("summary").all():
        summary.click()
    for names in page.evaluate(NAMES, REACHED):
        assert names
        assert [name for name in names if len(name) < 2 and name != "?"] == []
        assert sorted({name for name in names if names.count(name) > 1}) == []


def test_of_several_views_the_one_with_the_keyboard_reads_its_line_aloud(page: Page) -> None:
    journey = Journey(lab03())
    Live(page, Sequence(journey), LogTape(journey), ClientView(journey), FaultPanel(journey))
    for i in range(4):
        page.locator(f"#w{i} .klab").focus()
        page.keyboard.press("Home" if i % 2 else "End")
        spoken = page.locator('.now[aria-live="polite"]')
        expect(spoken).to_have_count(1)
        expect(page.locator(f"#w{i} .now")).to_have_attribute("aria-live", "polite")


def test_a_row_of_compare_and_a_chosen_batch_are_read_aloud(page: Page) -> None:
    compare, log = Compare(lab03(), lab03().with_faults(Drop("EndTxn#1"))), LogTape(lab03())
    Live(page, compare, log)
    page.locator(".compare").focus()
    page.keyboard.press("d")
    told = page.locator('.compare .where[aria-live="polite"]')
    expect(told).to_contain_text("Drop('EndTxn#1'): EndTxn#1 is lost on its way.")
    page.locator(".log-tape").focus()
    page.keyboard.press("End")
    expect(page.locator(".log-tape .logs")).to_contain_text("COMMIT")
    for key in ("ArrowDown", "["):
        page.keyboard.press(key)
    chosen = page.locator('.log-tape .aloud[aria-live="polite"]')
    expect(chosen).to_have_text("accounts-0, 2 COMMIT marker · pid 2000 e1")
