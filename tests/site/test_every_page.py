"""Every page of the book with its pictures open: axe-core finds nothing, and a phone shows all of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from kafkalab.site.serve import serve_folder
from tests.browser.conftest import browser, console_errors, page
from tests.javascript.tools import TOOLS, node
from tests.site.test_book import pages

__all__ = ["browser", "console_errors", "node", "page"]
pytestmark = [pytest.mark.browser, pytest.mark.site]

PHONE = 390
OPEN = """async () => {
  for (const picture of [...document.querySelectorAll("kafka-run")].slice(0, 12)) await picture.open?.();
  const ends = (one) => one.timeline === document.timeline && one.effect.getComputedTiming().endTime !== Infinity;
  await Promise.all(document.getAnimations().filter(ends).map((one) => one.finished)); // the theme's colours
}"""
# What reaches beyond the window, though nothing around it scrolls.
WIDE = """() => document.documentElement.scrollWidth <= innerWidth ? [] : [...document.body.querySelectorAll("*")]
  .filter((one) => one.getBoundingClientRect().right > innerWidth + 1)
  .map((one) => `${one.tagName}.${one.className}`).slice(-3)"""


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    """The book's address."""
    with serve_folder(site) as address:
        yield address


def test_axe_finds_nothing_on_any_page(site: Path, address: str, page: Page, node: str) -> None:
    """Every other page is dark; the pictures are judged in both by test_axe_in_the_browser.py."""
    found: dict[str, list[str]] = {}
    axe = (TOOLS / "axe-core" / "axe.min.js").read_text(encoding="utf-8")
    for number, path in enumerate(pages(site)):
        name = path.relative_to(site).as_posix()
        page.emulate_media(color_scheme="dark" if number % 2 else "light")
        page.goto(f"{address}{name}")
        page.evaluate(OPEN)
        page.evaluate(axe)
        violations = page.evaluate("axe.run({ resultTypes: ['violations'] }).then((found) => found.violations)")
        found[name] = [f"{one['id']}: {one['nodes'][0]['html'][:200]}" for one in violations]
    assert {name: said for name, said in found.items() if said} == {}


def test_a_phone_shows_every_page_in_its_width(site: Path, address: str, browser: Browser) -> None:
    context = browser.new_context(viewport={"width": PHONE, "height": 844}, has_touch=True, is_mobile=True)
    page = context.new_page()
    found: dict[str, list[str]] = {}
    for path in pages(site):
        name = path.relative_to(site).as_posix()
        page.goto(f"{address}{name}")
        page.evaluate(OPEN)
        found[name] = page.evaluate(WIDE)
    context.close()
    assert {name: wide for name, wide in found.items() if wide} == {}
