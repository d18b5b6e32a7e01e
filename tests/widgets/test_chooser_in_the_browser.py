"""The chooser in Chromium: list, arrows and links choose, and the words on the screen are those of the text twin."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from kafkalab.widgets.views.chooser import Chooser
from tests.widgets.live import Live

pytestmark = pytest.mark.browser
ENTRIES = [("Atomicity", f"KAFKA-{n}", f"bug <{n}>") for n in range(9)] + [("Order & more", "KIP-1", "")]


def same(page: Page, view: Chooser, key: str) -> None:
    """This entry is chosen, on the screen too."""
    root = page.locator(".klab.chooser")
    expect(root).to_have_attribute("data-chosen", key)
    assert view.chosen == key
    expect(root.locator("select")).to_have_value(key)
    place = [k for _, k, _ in ENTRIES].index(key) + 1
    expect(root.locator(".where")).to_have_text(f"{place} of {len(ENTRIES)}")
    terms = zip(root.locator("dt").all_text_contents(), root.locator("dd").all_text_contents(), strict=True)
    assert [list(pair) for pair in terms] == view.words


@pytest.mark.smoke
@pytest.mark.parametrize("size", ["laptop", "projector"])
def test_the_list_the_arrows_and_links_choose(page: Page, size: str, console_errors: list[str]) -> None:
    view = Chooser("A bug", ENTRIES, lambda key: [("It is", f"<{key}>."), ("Look at", "nothing & more.")], size=size)
    Live(page, view)
    same(page, view, "KAFKA-0")
    assert page.locator("optgroup").count() == 2
    page.locator(".klab.chooser").focus()
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".klab.chooser .now")).to_have_text("This is the first entry.")
    page.keyboard.press("ArrowRight")
    same(page, view, "KAFKA-1")
    page.locator("select").select_option("KIP-1")
    same(page, view, "KIP-1")
    page.get_by_role("button", name="The one before").click()
    same(page, view, "KAFKA-8")
    page.keyboard.press("b")
    other = {"laptop": "projector", "projector": "laptop"}[size]
    expect(page.locator(".klab.chooser")).to_have_attribute("data-size", other)
    page.get_by_role("button", name="Large pictures").click()
    expect(page.locator(".klab.chooser")).to_have_attribute("data-size", size)
    links = "".join(f'<a href="#show:{key}">{key}</a> ' for key in ("KAFKA-3", "KAFKA-99", "KAFKA-8", "%zz"))
    page.evaluate("html => document.body.insertAdjacentHTML('beforeend', html)", links)
    page.get_by_role("link", name="KAFKA-3").click()
    same(page, view, "KAFKA-3")
    for name in ("KAFKA-99", "%zz"):
        page.get_by_role("link", name=name).click()
        same(page, view, "KAFKA-3")
    assert console_errors == []
