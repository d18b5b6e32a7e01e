"""The first thing a learner sees: the start page, with nothing in front of it, and the way to the first lab."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from kafkalab.course.labs import COURSE
from tests.browser.conftest import Jupyter
from tests.browser.worked import choose_theme

LABS = Path(__file__).parents[2] / "labs"
SHOTS = Path(__file__).parent / "screenshots"
pytestmark = pytest.mark.browser

NEWS_WITHIN_MS = 1500
FIRST_LAB = "00_meet_the_machine"


def test_make_lab_opens_the_start_page_with_nothing_in_front_of_it(
    jupyter: Jupyter, page: Page, console_errors: list[str]
) -> None:
    page.goto(jupyter.url(""))
    expect(page.get_by_role("heading", name="what exactly-once really promises")).to_be_visible()
    expect(page).to_have_url(f"{jupyter.address}lab/tree/labs/00_start.ipynb")
    page.wait_for_timeout(NEWS_WITHIN_MS)  # JupyterLab's question about news comes after the page
    assert page.locator(".jp-toast-message, .Toastify__toast, .jp-Dialog").count() == 0
    assert console_errors == []


def test_the_start_page_links_the_labs_that_are_ready_and_no_others(open_lab: Callable[[str], Page]) -> None:
    page = open_lab("00_start")
    rows = page.locator("table", has_text="how a partition tells a retry").locator("tbody tr")
    ready = sum((LABS / f"{lab.name}.ipynb").is_file() for lab in COURSE)
    expect(rows).to_have_count(ready)
    expect(rows.get_by_role("link")).to_have_count(ready)
    planned = page.locator("p", has_text="Planned:")
    expect(planned).to_have_count(int(ready < len(COURSE)))
    expect(planned.get_by_role("link")).to_have_count(0)


@pytest.mark.smoke
def test_two_clicks_lead_to_the_first_step_of_the_first_lab(open_lab: Callable[[str], Page]) -> None:
    page = open_lab("00_start")
    link = page.get_by_role("link", name="Start here")
    expect(link).to_be_in_viewport(ratio=1)
    link.click()
    expect(page.get_by_role("tab", name=f"{FIRST_LAB}.ipynb")).to_be_visible()
    lab = page.locator(".jp-NotebookPanel:not(.lm-mod-hidden) .jp-Notebook")
    expect(lab.get_by_role("heading", level=1)).to_be_in_viewport()
    lab.get_by_role("heading", level=1).click()
    page.keyboard.press("Shift+Enter")
    expect(lab.locator(".jp-Cell").nth(1)).to_be_in_viewport()


@pytest.mark.parametrize(
    ("link", "title"), [("From a symptom to its cause", "From a symptom"), ("All errors on one page", "rror")]
)
def test_the_pages_open_as_pages_and_not_as_source(open_lab: Callable[[str], Page], link: str, title: str) -> None:
    page = open_lab("00_start")
    page.get_by_role("link", name=link).click()
    shown = page.locator(".jp-MarkdownViewer")
    expect(shown.get_by_role("heading", level=1)).to_contain_text(title)
    expect(page.locator(".jp-FileEditor")).to_have_count(0)


# JupyterLab attaches the cells of a notebook one after the other, and now and then it scrolls before the cell is there.
@pytest.mark.flaky(reruns=4)
@pytest.mark.parametrize(
    ("notebook", "link", "heading"),
    [
        ("04_markers_and_lag", "lab 8", "The old coordinator is still talking"),
        ("93_old_articles", "lab 9", "What version 2 has changed"),
    ],
)
def test_a_link_into_a_notebook_that_is_not_open_lands_at_the_first_click(
    open_lab: Callable[[str], Page], notebook: str, link: str, heading: str
) -> None:
    page = open_lab(notebook)
    page.locator(".jp-Notebook").get_by_role("link", name=link, exact=True).first.click()
    shown = page.locator(".jp-NotebookPanel:not(.lm-mod-hidden) .jp-Notebook").get_by_role("heading", name=heading)
    expect(shown.first).to_be_in_viewport()
    page.wait_for_timeout(1000)  # nothing scrolls away again
    expect(shown.first).to_be_in_viewport()


def test_a_link_to_a_term_lands_at_its_sentence_at_the_first_click(open_lab: Callable[[str], Page]) -> None:
    page = open_lab("09_torn_transaction")
    page.locator(".jp-Notebook").get_by_role("link", name="in doubt", exact=True).first.click()
    shown = page.locator(".jp-MarkdownViewer").get_by_role("heading", name="in doubt")
    expect(shown).to_be_in_viewport()
    page.wait_for_timeout(1000)  # nothing scrolls away again
    expect(shown).to_be_in_viewport()


def test_one_click_leads_to_the_museum_and_one_more_to_the_run_of_a_bug(
    open_lab: Callable[[str], Page], console_errors: list[str]
) -> None:
    page = open_lab("00_start")
    page.get_by_role("link", name="Bugs that Kafka had").first.click()
    book = page.locator(".jp-NotebookPanel:not(.lm-mod-hidden)")
    expect(book.get_by_role("heading", level=1)).to_have_text(re.compile("Bugs that Kafka had"))
    expect(page.locator("#jp-bottom-panel")).to_contain_text("| Idle", timeout=120_000)
    book.locator(".jp-CodeCell .cm-content").first.click()
    page.keyboard.press("Shift+Enter")
    expect(book.locator(".klab.compare .now")).to_contain_text("at step 49 they part")
    book.locator(".klab.chooser").evaluate("e => e.scrollIntoView({block: 'start'})")
    expect(book.locator(".klab.compare .pair[aria-current=true]")).to_be_in_viewport(ratio=0.9)
    book.get_by_role("link", name="KAFKA-5494").click()
    expect(book.locator(".klab.chooser")).to_have_attribute("data-chosen", "KAFKA-5494")
    expect(book.locator(".klab.compare .now")).to_have_text(
        "The runs are the same up to step 23; at step 24 they part."
    )
    expect(book.locator(".klab.compare .names .verdict").first).to_be_in_viewport()
    assert console_errors == []


@pytest.fixture
def theme(request: pytest.FixtureRequest, jupyter: Jupyter, page: Page) -> Iterator[str]:
    """JupyterLab in this theme; afterwards in the light one again."""
    choose_theme(jupyter, page, request.param)
    yield request.param
    choose_theme(jupyter, page, "Light")


@pytest.mark.parametrize("theme", ["Light", "Dark"], indirect=True)
def test_the_picture_of_the_course_is_drawn_in_the_colours_of_the_theme(
    open_lab: Callable[[str], Page], theme: str
) -> None:
    page = open_lab("00_start")
    page.screenshot(path=SHOTS / f"start_{theme.lower()}_first.png")
    page.locator(".jp-CodeCell .cm-content").first.click()
    page.keyboard.press("Shift+Enter")
    picture = page.locator(".jp-OutputArea-output svg[role=img]").first
    expect(picture).to_be_visible()
    colour = picture.locator("text").first.evaluate("element => getComputedStyle(element).fill")
    light = sum(map(int, re.findall(r"\d+", colour)[:3])) > 3 * 128
    assert light is (theme == "Dark")
    picture.scroll_into_view_if_needed()
    page.screenshot(path=SHOTS / f"start_{theme.lower()}.png")
