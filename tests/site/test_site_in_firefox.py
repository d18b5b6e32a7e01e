"""The built site in Debian's Firefox: the tests of Chromium that are about the site and not about a browser, and real
lacks, which Firefox has when its preferences say so."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Playwright, expect, sync_playwright

from kafkalab import lab03
from kafkalab.site.serve import serve_folder
from tests.browser.conftest import SHOW_WITHIN_MS, console_errors, page
from tests.browser.firefox import firefox
from tests.site.test_book import test_a_run_opens_at_the_step_that_decides
from tests.site.test_python_in_the_browser import (
    expect_opened,
    test_a_code_opens_the_run_of_this_python_and_nobody_else_is_asked,
    test_python_is_stopped_and_the_next_press_starts_it_again,
    test_while_python_loads_the_picture_steps_and_the_press_is_kept,
)
from tests.site.test_site import (
    LACKS,
    NAME,
    lab3,
    test_a_wrong_answer_is_told_and_a_right_one_passes,
    test_all_cells_of_a_solved_lab_run_with_the_saved_outputs,
    test_dropping_a_frame_gives_a_new_run_and_undo_the_old_one,
    test_links_of_a_notebook_open_our_pages_and_other_labs,
    test_nothing_was_asked_of_another_address,
    test_what_was_solved_survives_a_reload_and_can_be_downloaded,
)

__all__ = [
    "console_errors",
    "lab3",
    "page",
    "test_a_code_opens_the_run_of_this_python_and_nobody_else_is_asked",
    "test_a_run_opens_at_the_step_that_decides",
    "test_a_wrong_answer_is_told_and_a_right_one_passes",
    "test_all_cells_of_a_solved_lab_run_with_the_saved_outputs",
    "test_dropping_a_frame_gives_a_new_run_and_undo_the_old_one",
    "test_links_of_a_notebook_open_our_pages_and_other_labs",
    "test_nothing_was_asked_of_another_address",
    "test_python_is_stopped_and_the_next_press_starts_it_again",
    "test_what_was_solved_survives_a_reload_and_can_be_downloaded",
    "test_while_python_loads_the_picture_steps_and_the_press_is_kept",
]
pytestmark = [pytest.mark.browser, pytest.mark.firefox, pytest.mark.site]
PREFERENCES: dict[str, dict[str, str | float | bool]] = {
    "wasm": {"javascript.options.wasm": False},
    "storage": {"network.cookie.cookieBehavior": 2},  # what "block all cookies" sets: no storage of any kind
    "full": {"dom.quotaManager.temporaryStorage.fixedLimit": 4096},  # kibibytes for all pages
}


@pytest.fixture(scope="session", autouse=True)
def program_there(program: Callable[[str], str]) -> str:
    """Firefox, looked for before the site is built."""
    return program("firefox")


@pytest.fixture(scope="module")
def playwright() -> Iterator[Playwright]:
    """Playwright, for as long as these tests take."""
    with sync_playwright() as playwright:
        yield playwright


@pytest.fixture(scope="module")
def browser(playwright: Playwright, program_there: str) -> Iterator[Browser]:
    """The system's Firefox, without a window."""
    with firefox(playwright, program_there) as browser:
        yield browser


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    """The address of the site."""
    with serve_folder(site) as server:
        yield server


@pytest.mark.parametrize("lack", PREFERENCES)
def test_what_firefox_lacks_is_said_and_without_storage_all_opens_nevertheless(
    playwright: Playwright, program_there: str, address: str, lack: str
) -> None:
    with firefox(playwright, program_there, PREFERENCES[lack]) as browser:
        page = browser.new_page()
        page.set_default_timeout(SHOW_WITHIN_MS)
        for place in ("index.html", f"jupyter/notebooks/index.html?path=labs/{NAME}.ipynb"):
            page.goto(address + place, wait_until="commit")
            expect(page.locator(f"[data-notice={lack}]")).to_contain_text(LACKS[lack][1])
        if lack == "storage":
            expect(page.locator(".jp-Notebook .jp-Cell").first).to_contain_text("A full commit")
            page.goto(f"{address}run.html#lab=lab03")
            expect_opened(page, lab03())
        if lack == "wasm":
            page.goto(f"{address}run.html#lab=lab03")
            expect(page.locator("kafka-opened > .told")).to_contain_text("it has no WebAssembly")
