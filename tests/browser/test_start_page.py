"""The first thing a learner sees: the start page, with nothing in front of it, and the way to the first lab."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser

NEWS_WITHIN_MS = 1500
FIRST_LAB = "03_a_full_commit"


def test_make_lab_opens_the_start_page_with_nothing_in_front_of_it(jupyter, page: Page, console_errors: list[str]):
    page.goto(jupyter.url(""))
    expect(page.get_by_role("heading", name="what exactly-once really promises")).to_be_visible()
    expect(page).to_have_url(f"{jupyter.address}lab/tree/labs/00_start.ipynb")
    page.wait_for_timeout(NEWS_WITHIN_MS)  # JupyterLab's question about news comes after the page
    assert page.locator(".jp-toast-message, .Toastify__toast, .jp-Dialog").count() == 0
    assert console_errors == []


def test_the_start_page_links_the_labs_that_are_ready_and_no_others(open_lab: Callable[[str], Page]):
    page = open_lab("00_start")
    rows = page.locator("table", has_text="The idempotent producer").locator("tbody tr")
    expect(rows).to_have_count(15)
    expect(rows.filter(has_text="ready").get_by_role("link")).to_have_count(1)
    expect(rows.filter(has_text="planned").get_by_role("link")).to_have_count(0)


@pytest.mark.skipif(
    not (Path(__file__).parents[2] / "labs" / f"{FIRST_LAB}.ipynb").is_file(), reason=f"{FIRST_LAB} is not there yet"
)
def test_the_link_on_the_start_page_leads_to_the_first_lab(open_lab: Callable[[str], Page]):
    page = open_lab("00_start")
    page.get_by_role("link", name="Start here").click()
    expect(page.get_by_role("tab", name=f"{FIRST_LAB}.ipynb")).to_be_visible()
