"""The incident room in the book, in Chromium: the page's own Python reads, and nothing leaves the browser."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, Request, expect

from kafkalab.site.serve import serve_folder
from tests.browser.conftest import browser, console_errors, page
from tests.diagnose.test_hanging import ABORT, DUMP, HANGING

__all__ = ["browser", "console_errors", "page"]
pytestmark = [pytest.mark.browser, pytest.mark.site]

ROOM = "labs/95_incident_room.html"
TOPIC = "patients-of-room-7"
"""A name that must not leave the browser."""


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    """The book's address."""
    with serve_folder(site) as address:
        yield address


def open_room(page: Page, address: str) -> None:
    """Open the room; it shows its sample before Python is there."""
    page.goto(f"{address}{ROOM}")
    room = page.locator("kafka-run[part=incident_room]")
    room.scroll_into_view_if_needed()
    expect(room.locator(".finding .act")).to_contain_text("--topic shipments --partition 1 --start-offset 12")


def paste(page: Page, text: str) -> None:
    """Paste over the lines that are there, and ask."""
    page.locator(".pasted").fill(text)
    page.locator('[data-action="read"]').click()


def test_from_a_pasted_find_hanging_to_the_command_in_a_minute_and_nothing_leaves_the_browser(
    address: str, page: Page, console_errors: list[str]
) -> None:
    asked: list[Request] = []
    page.context.on("request", lambda request: asked.append(request))
    begun = time.monotonic()
    open_room(page, address)
    paste(page, HANGING.replace("out", TOPIC))
    act = page.locator(".finding .act")
    expect(act).to_have_text(ABORT.replace("--topic out", f"--topic {TOPIC}"))
    assert time.monotonic() - begun < 60
    expect(page.locator(".incident_room .where")).to_have_text("what you paste stays here")
    expect(page.locator(".pasted")).to_have_value(HANGING.replace("out", TOPIC))
    assert [one.url for one in asked if not one.url.startswith((address, "data:", "blob:"))] == []
    assert [one.url for one in asked if TOPIC in one.url or one.method != "GET" or one.post_data] == []
    expect(page.locator(".klab-python")).to_be_hidden()
    before = len(asked)
    paste(page, "\n".join([HANGING, DUMP]).replace("out", TOPIC))
    expect(page.locator(".strip figcaption")).to_have_text(f"{TOPIC}-3, as far as the lines show it")
    page.locator('[data-action="sample"][data-target="lag"]').click()
    expect(page.locator(".finding .mark").first).to_have_text("harmless, certain")
    assert [one.url for one in asked[before:]] == [], "reading asks nobody for anything"
    stored = page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie])")
    assert TOPIC not in stored
    assert console_errors == []


def test_the_nearest_run_is_shown_below_and_can_be_stepped(address: str, page: Page) -> None:
    open_room(page, address)
    shown = page.locator("kafka-run[part=sequence]")
    shown.scroll_into_view_if_needed()
    picture = shown.locator(".klab.sequence[data-step]")
    expect(picture).to_be_visible()
    title = str(picture.get_attribute("aria-label"))
    paste(
        page,
        "[Producer clientId=p, transactionalId=t] ERROR org.apache.kafka.common.errors.InvalidPidMappingException: x",
    )
    expect(page.locator(".nearest h4")).to_contain_text("INVALID_PRODUCER_ID_MAPPING")
    expect(picture).not_to_have_attribute("aria-label", title)
    step = str(picture.get_attribute("data-step"))
    picture.focus()
    page.keyboard.press("ArrowLeft")
    expect(picture).not_to_have_attribute("data-step", step)


def test_the_room_fits_a_phone(address: str, page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    open_room(page, address)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
