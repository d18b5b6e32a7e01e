"""What is on the screen only when the browser has drawn: a view that has another width draws itself anew."""

from __future__ import annotations

from playwright.sync_api import Page

DRAWN = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
FIT = "([place, room]) => { document.querySelector(place).style.maxWidth = `${room}px`; }"


def wait_until_drawn(page: Page) -> None:
    """Wait until the browser has drawn: it tells views their new width after a first frame's layout."""
    page.evaluate(DRAWN)


def fit(page: Page, room: int, place: str = "#here") -> None:
    """Leave a place on the page so many CSS pixels of width, and wait until the view in it is drawn for them."""
    page.evaluate(FIT, [place, room])
    wait_until_drawn(page)
