"""A picture whose cell was run by Shift+Enter stands in view as a whole; Run All and a reload leave the page alone."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

pytestmark = pytest.mark.browser

SHIFT_ENTERS = 40
ALONE_MS = 2_000
IN_VIEW = """e => {
  const box = e.getBoundingClientRect(), room = e.closest(".jp-WindowedPanel-outer").getBoundingClientRect();
  return Math.min(box.bottom, room.bottom) - Math.max(box.top, room.top) >= Math.min(box.height, room.height) - 1;
}"""
NOTE = """window.revealed = [];
const own = Element.prototype.scrollIntoView;
Element.prototype.scrollIntoView = function (...given) {
  if (this.style.scrollMargin) revealed.push(this);
  return own.apply(this, given);
};"""
"""Notes the pictures that scroll themselves into view."""


def idle(page: Page) -> None:
    expect(page.locator("#jp-bottom-panel")).to_contain_text("| Idle")
    expect(page.locator(".jp-InputPrompt", has_text="*")).to_have_count(0)


def run_to_picture(page: Page, number: int) -> Locator:
    """Press Shift+Enter until there are so many sequences, and wait until the page stands still."""
    pictures = page.locator(".klab.sequence")
    for _ in range(SHIFT_ENTERS):
        page.keyboard.press("Shift+Enter")
        page.wait_for_timeout(300)
        idle(page)
        if pictures.count() == number:
            page.wait_for_timeout(ALONE_MS)
            return pictures.nth(number - 1)
    raise AssertionError(f"there are {pictures.count()} pictures")


def test_shift_enter_leaves_the_whole_picture_in_view_and_a_reload_or_run_all_scrolls_to_none(
    open_lab: Callable[[str], Page], page: Page
) -> None:
    page.add_init_script(NOTE)
    open_lab("00_meet_the_machine")
    page.locator(".jp-Notebook .jp-Cell h1").first.click()  # not on a link below it
    for number in (1, 2):
        assert run_to_picture(page, number).evaluate(IN_VIEW)
        assert page.evaluate("revealed.splice(0).length") > 0
    page.keyboard.press("Control+s")
    page.reload()
    page.locator(".klab.sequence").first.wait_for()
    page.wait_for_timeout(ALONE_MS)
    assert page.evaluate("revealed.length") == 0
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_text("Run All Cells", exact=True).click()
    page.wait_for_timeout(ALONE_MS)
    idle(page)
    expect(page.locator(".klab.sequence").nth(2)).to_be_attached()
    page.wait_for_timeout(ALONE_MS)
    assert page.evaluate("revealed.length") == 0
