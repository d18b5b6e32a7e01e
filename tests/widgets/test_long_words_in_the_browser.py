"""The sequence in Chromium where words are long: times of days, chapters of errors, names of internal logs."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, Page

from kafkalab import AdvanceClock, lab01, lab03
from kafkalab.faults.frame import Drop
from kafkalab.widgets.views.sequence import Sequence
from tests.widgets.frames import fit
from tests.widgets.screens import open_view

pytestmark = pytest.mark.browser

NOTEBOOK = 848
"""The width that JupyterLab leaves for an output on a screen of 1280 pixels."""
BOOK = 690
"""The width of an article's column on the same screen."""
DAYS_MS = 691_200_000


def edges(element: Locator) -> tuple[float, float, float, float]:
    """Return left, right, top and bottom of an element on the screen."""
    box = element.bounding_box()
    assert box
    return box["x"], box["x"] + box["width"], box["y"], box["y"] + box["height"]


@pytest.mark.parametrize("ms", [650_000, DAYS_MS])
def test_each_time_of_a_long_run_stands_between_the_edge_and_the_first_lane(page: Page, ms: int) -> None:
    view = Sequence(lab03().with_faults(AdvanceClock(ms, at_step=80)))
    view.press("end")
    open_view(page, view)
    fit(page, NOTEBOOK)
    left, *_ = edges(page.locator(".sheet"))
    times = page.locator(".sheet text.time")
    assert times.count() > 3
    for at in times.all():
        assert edges(at)[0] >= left
    lanes = page.evaluate("getComputedStyle(document.querySelector('.lanes')).gridTemplateColumns.split(' ')[0]")
    assert max(edges(at)[1] for at in times.all()) <= left + float(lanes.removesuffix("px"))
    said = page.locator(".klab .where").inner_text()
    assert ("8 d " in said) == (ms == DAYS_MS), said


@pytest.mark.parametrize("room", [BOOK, NOTEBOOK])
def test_the_high_watermark_fits_beside_the_name_of_an_internal_log(page: Page, room: int) -> None:
    view = Sequence(lab03())
    view.press("end")
    open_view(page, view)
    fit(page, room)
    label = page.locator("[data-partition='__transaction_state-22'] .label")
    name, mark = label.locator("> b span"), label.locator(".hw")
    assert name.evaluate("it => it.scrollWidth <= it.clientWidth") or room == BOOK  # there it ends with "…"
    assert edges(name)[1] <= edges(mark)[0]
    assert edges(mark)[1] <= edges(label)[1]


def test_a_chapter_named_by_an_error_fits_into_its_line(page: Page) -> None:
    orders = ("soup", "bread", "rice", "tea", "cake", "figs")
    view = Sequence(lab01(orders=orders).with_faults(Drop("Produce#2")))
    second = next(c for c in view.payload["chapters"] if c["name"] == "OUT_OF_ORDER_SEQUENCE_NUMBER 2")
    view.press("find", f"chapter:{second['slug']}")
    open_view(page, view)
    fit(page, NOTEBOOK)
    chapter = page.locator(".told .chapter")
    assert chapter.inner_text().replace("\u200b", "").replace("\n", "") == second["name"]
    assert edges(chapter)[2] >= edges(page.locator(".told"))[2]
    assert edges(chapter)[3] <= edges(page.locator(".told"))[3]
