"""axe-core, with all of its rules, on one page with every widget."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page

from tests.javascript.tools import TOOLS, node
from tests.widgets.frames import wait_until_drawn
from tests.widgets.live import Live
from tests.widgets.references import MADE, THEMES

__all__ = ["node"]
pytestmark = pytest.mark.browser

OF_THE_PAGE = {"page-has-heading-one"}
COMPUTED = {"color-contrast", "label-content-name-mismatch"}
"""The rules that axe-core cannot judge: contrast on patterns, which test_palette.py computes, and labels of signs."""
CLICK_HELP = "() => document.querySelectorAll('.klab').forEach((e) => e.querySelector('[data-action=help]').click())"
KEYS = {"#w0": "fwinp", "#w3": "i", "#w4": "w", "#w5": "n"}
"""The keys that open parts of some widgets: filter, what if, fields, menus, faults; a batch; questions; a node."""


def complaints(page: Page) -> list[str]:
    """Return the rules that the page breaks, or may break, each with the first place."""
    found = page.evaluate("axe.run({ resultTypes: ['violations', 'incomplete'] })")
    broken = [rule for rule in found["violations"] if rule["id"] not in OF_THE_PAGE]
    broken += [rule for rule in found["incomplete"] if rule["id"] not in COMPUTED]
    return [f"{rule['id']}: {rule['nodes'][0]['target']}" for rule in broken]


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_axe_finds_nothing_in_any_widget_with_its_help_and_its_parts_open(page: Page, node: str, mode: str) -> None:
    Live(page, *[make() for make in MADE.values()])
    page.evaluate("style => { document.body.style = style; }", THEMES[mode])
    page.evaluate((TOOLS / "axe-core" / "axe.min.js").read_text(encoding="utf-8"))
    page.evaluate(CLICK_HELP)
    wait_until_drawn(page)
    assert complaints(page) == []
    page.keyboard.press("Escape")
    for widget, keys in KEYS.items():
        page.locator(f"{widget} .klab").first.focus()
        for key in keys:
            page.keyboard.press(key)
            wait_until_drawn(page)
    assert complaints(page) == []


def test_axe_complains_of_a_button_without_a_name(page: Page, node: str) -> None:
    page.set_content('<html lang="en"><title>A page</title><main><h1>A page</h1><button></button></main></html>')
    page.evaluate((TOOLS / "axe-core" / "axe.min.js").read_text(encoding="utf-8"))
    assert complaints(page) == ["button-name: ['button']"]
