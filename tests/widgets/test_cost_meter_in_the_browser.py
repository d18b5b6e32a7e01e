"""The cost meter in Chromium: the screen has the numbers of the text twin, at every step, and follows the cursor."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page

from kafkalab import lab03, lab13
from kafkalab.faults.frame import Drop
from kafkalab.history.costs import COLUMNS
from kafkalab.run.run import Run
from kafkalab.trace import Frame
from kafkalab.widgets.views.cost_meter import CostMeter, format_cost
from kafkalab.widgets.views.sequence import Sequence
from kafkalab.wire.frame_bytes import frame_bytes
from tests.widgets.live import Live

pytestmark = pytest.mark.browser
SEEN = """() => [...document.querySelectorAll(".klab.cost tbody tr")].map((row) =>
  [...row.children].map((cell) => cell.textContent))"""


def compare(page: Page, meter: CostMeter) -> None:
    """Every row of the text twin is on the screen, with its numbers."""
    assert page.evaluate(SEEN) == [[row["name"], *(format_cost(row[key]) for key in COLUMNS)] for row in meter.rows()]
    assert page.locator(".klab.cost .now").inner_text() == meter.sentence()


@pytest.mark.smoke
@pytest.mark.parametrize("size_of", [frame_bytes, None])
def test_the_screen_says_what_the_text_says_at_every_stop(
    page: Page, console_errors: list[str], size_of: Callable[[Run, Frame], int] | None
) -> None:
    for scenario in (lab13(partitions=4), lab03().with_faults(Drop("EndTxnResponse#1"))):
        meter = CostMeter(scenario, size_of=size_of)
        tried = page.context.new_page()
        live = Live(tried, meter)
        for by in ("api", "phase"):
            meter.by = by
            for step in range(0, len(meter.payload["events"]), 23):
                meter.step = step
                live.push()
                compare(tried, meter)
        tried.close()
    assert console_errors == []


def test_keys_and_buttons_change_the_rows_and_move_the_cursor_of_every_view(
    page: Page, console_errors: list[str]
) -> None:
    meter = CostMeter(lab13(), size_of=frame_bytes)
    live = Live(page, meter, Sequence(meter))
    page.locator(".klab.cost").focus()
    page.keyboard.press("End")
    page.keyboard.press("b")
    page.wait_for_timeout(450)  # longer than the pause after which the kernel is told
    live.settle()
    assert meter.by == "phase"
    assert page.evaluate("new Set([...document.querySelectorAll('.klab')].map((e) => e.dataset.step)).size") == 1
    compare(page, meter)
    page.locator('[data-action="by"][data-target="api"]').click()
    page.locator(".klab.cost").focus()
    page.keyboard.press("ArrowLeft")  # a move tells the kernel all that has changed
    page.wait_for_timeout(450)
    live.settle()
    compare(page, meter)
    assert meter.by == "api"
    assert console_errors == []
