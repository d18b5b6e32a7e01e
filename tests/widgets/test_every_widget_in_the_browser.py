"""What holds for every widget: keys, help, focus rings, less motion, nothing from elsewhere, a static picture."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.widgets.live import Live
from tests.widgets.references import MADE

pytestmark = pytest.mark.browser

HELP_ROWS = '() => [...document.querySelectorAll(".help small")].map((e) => e.textContent.trim())'


def open_widget(page: Page, name: str) -> tuple[Any, list[str]]:
    """The widget, shown, and the addresses that the page asks for from now on."""
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    widget = MADE[name]()
    Live(page, widget)
    page.locator(".klab").focus()
    return widget, asked


@pytest.mark.smoke
@pytest.mark.parametrize("name", MADE)
def test_the_keys_are_told_on_a_question_mark_and_nothing_is_asked_of_the_world(
    page: Page, name: str, console_errors: list[str]
) -> None:
    _, asked = open_widget(page, name)
    root = page.locator(".klab")
    assert root.evaluate("e => getComputedStyle(e).outlineStyle") == "solid"
    assert root.evaluate("e => parseFloat(getComputedStyle(e).outlineWidth)") >= 2
    expect(page.get_by_role("dialog")).to_be_hidden()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    assert page.evaluate("document.activeElement.textContent") == "Close"
    told = page.evaluate(HELP_ROWS)
    assert len(told) > 2
    assert "?" in told
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()
    assert page.evaluate("document.activeElement.matches('.klab')")
    for key in ("End", "ArrowLeft", "Home", "ArrowRight"):
        page.keyboard.press(key)
    assert page.evaluate("outside") == []
    page.keyboard.press("Tab")
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    assert [url for url in asked if not url.startswith(("data:", "blob:", "about:"))] == []
    assert console_errors == []


@pytest.mark.parametrize("name", MADE)
def test_nothing_moves_for_those_who_asked_for_less_motion(page: Page, name: str) -> None:
    page.emulate_media(reduced_motion="reduce")
    open_widget(page, name)
    for key in ("Home", "ArrowRight", "ArrowRight", "End"):
        page.keyboard.press(key)
        assert page.evaluate("document.getAnimations().length") == 0


@pytest.mark.parametrize("name", MADE)
def test_the_static_picture_has_literal_colours_and_needs_nothing(name: str) -> None:
    widget = MADE[name]()
    picture, text = widget.svg(), widget.text()
    assert ET.fromstring(picture).tag.endswith("svg")
    assert re.findall(r"var\(|currentColor|<script|<style|https?://(?!www\.w3\.org)", picture) == []
    assert len(text.splitlines()) > 1
    assert str(widget) == text
    data = widget._repr_mimebundle_()[0]
    assert (data["image/svg+xml"], data["text/plain"]) == (picture, text)
