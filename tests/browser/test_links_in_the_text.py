"""Links in a notebook's text move the nearest picture that knows what they name; elsewhere they do nothing."""

from __future__ import annotations

from collections.abc import Callable

import nbformat
import pytest
from nbconvert import HTMLExporter
from playwright.sync_api import Locator, Page, expect

from kafkalab import lab01, lab03
from kafkalab.widgets.views.sequence import Sequence
from tests.browser.conftest import Jupyter

pytestmark = pytest.mark.browser

NAME = "90_links"
TEXT = (
    "See [`EndTxn#1`](#EndTxn#1), [the decision](#chapter:decision), [the tea](#Produce#3), "
    "[the answer](#ProduceResponse#1) and [nothing](#EndTxn#77)."
)


def book() -> nbformat.NotebookNode:
    """A notebook with a text between two pictures."""
    cells = [
        nbformat.v4.new_code_cell("from kafkalab import *\nSequence(lab03())"),
        nbformat.v4.new_markdown_cell(TEXT),
        nbformat.v4.new_code_cell("Sequence(lab01())"),
    ]
    metadata = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    made: nbformat.NotebookNode = nbformat.v4.new_notebook(cells=cells, metadata=metadata)
    return made


@pytest.fixture
def pictures(jupyter: Jupyter, open_lab: Callable[[str], Page]) -> Locator:
    """Both pictures of the notebook, opened and run."""
    nbformat.write(book(), jupyter.folder / "labs" / f"{NAME}.ipynb")
    page = open_lab(NAME)
    page.locator(".jp-Notebook .jp-Cell").first.click()
    for _ in range(3):
        page.keyboard.press("Shift+Enter")
    pictures = page.locator(".klab.sequence")
    expect(pictures).to_have_count(2)
    return pictures


def test_a_click_moves_the_nearest_picture_that_has_the_frame_and_brings_it_into_view(
    pictures: Locator, page: Page, console_errors: list[str]
) -> None:
    lab3, lab1 = Sequence(lab03()), Sequence(lab01())
    address, started = page.url, lab3.step

    def click(text: str) -> None:
        page.get_by_role("link", name=text, exact=True).click()

    code = page.get_by_role("link", name="EndTxn#1", exact=True).locator("code")
    assert code.evaluate(
        "e => { const own = getComputedStyle(e), link = getComputedStyle(e.parentElement);"
        " return own.color === link.color && own.textDecorationLine === 'underline'"
        " && own.color !== getComputedStyle(e.closest('p')).color; }"
    )
    click("the tea")
    expect(pictures.nth(1)).to_have_attribute("data-step", str(lab1.payload["frames"]["Produce#3"]["sent"]))
    expect(pictures.nth(1)).to_be_focused()
    expect(pictures.nth(0)).to_have_attribute("data-step", str(started))
    click("EndTxn#1")
    expect(pictures.nth(0)).to_have_attribute("data-step", str(lab3.payload["frames"]["EndTxn#1"]["sent"]))
    expect(pictures.nth(0)).to_be_in_viewport(ratio=0.9)
    page.keyboard.press("ArrowRight")
    lab3.press("find", "EndTxn#1")
    lab3.press("right")
    expect(pictures.nth(0)).to_have_attribute("data-step", str(lab3.step))
    click("the decision")
    lab3.press("find", "chapter:decision")
    expect(pictures.nth(0)).to_have_attribute("data-step", str(lab3.step))
    click("nothing")
    told = page.locator(".klab.sequence .now.wrong")
    expect(told).to_have_text("This run has no EndTxn#77.")
    assert page.url == address
    assert console_errors == []


def test_without_a_picture_a_link_keeps_its_address_and_does_nothing(page: Page) -> None:
    html, _ = HTMLExporter().from_notebook_node(book())
    page.route("**/*", lambda route: route.abort())
    page.set_content(html, wait_until="domcontentloaded")
    link = page.get_by_role("link", name="EndTxn#1", exact=True)
    assert link.get_attribute("href") == "#EndTxn#1"
    link.click()
    expect(page.get_by_role("link", name="the decision", exact=True)).to_be_visible()
