"""The views look as their reference pictures do, but for fonts; a picture that shows something else is noticed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from tests.widgets.references import CASES, FOLDER, difference, reference, take_picture

pytestmark = pytest.mark.browser

LIMIT_PERCENT = 3.0


@pytest.fixture(scope="module")
def canvas(browser: Browser) -> Iterator[Page]:
    """One page, on which all pictures are compared."""
    page = browser.new_page()
    yield page
    page.close()


@pytest.mark.smoke
@pytest.mark.parametrize("name", CASES)
def test_a_view_looks_as_its_reference(browser: Browser, canvas: Page, name: str) -> None:
    percent = difference(canvas, take_picture(browser, CASES[name]), reference(name))
    if percent >= LIMIT_PERCENT:
        told = "if it was meant to, run `python -m tests.widgets.references` and look at the pictures"
        pytest.fail(f"{name} has changed by {percent} %; {told}", pytrace=False)


@pytest.mark.smoke
def test_another_view_or_other_colours_are_noticed(browser: Browser, canvas: Page) -> None:
    log = take_picture(browser, CASES["log_tape_light"])
    for other in ("log_tape_dark", "log_tape_projector", "cluster_map_light", "coordinator_light"):
        assert difference(canvas, log, reference(other)) > 2 * LIMIT_PERCENT


@pytest.mark.smoke
def test_the_set_is_small_and_has_no_picture_that_no_case_makes() -> None:
    files = sorted(FOLDER.glob("*.png"))
    mine = [f for f in files if f.stem in CASES]
    assert sorted(f.stem for f in mine) == sorted(CASES)
    assert sum(f.stat().st_size for f in mine) < 400_000
