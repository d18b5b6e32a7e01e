"""A page that is busy, as while all cells of a lab run: its pictures still hear what the kernel says."""

from __future__ import annotations

from collections.abc import Callable

import nbformat
import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Jupyter

pytestmark = pytest.mark.browser

CELLS = (
    "from kafkalab import Predict, Sequence, lab00\n"
    "view = Sequence(lab00())\nview.press('drop', 'ProduceResponse#1')\nview",
    "Predict('Who knows?', choices={'A': 'The client.', 'B': 'Nobody.'}, answer='B')",
    "view.press('undo')",
)
NO_PATIENCE = """
const timeout = AbortSignal.timeout;
AbortSignal.timeout = (ms) => timeout.call(AbortSignal, ms === 2000 ? 0 : ms);
"""
"""anywidget waits two seconds until a model's module is loaded. A page that is busy for longer has no time for it."""


def test_pictures_and_cards_hear_the_kernel_although_the_page_was_too_busy_to_load_them(
    open_lab: Callable[[str], Page], jupyter: Jupyter, page: Page
) -> None:
    cells = [nbformat.v4.new_code_cell(source) for source in CELLS]
    metadata = {"kernelspec": {"name": "python3", "display_name": "Python"}}
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=metadata), jupyter.folder / "labs" / "busy.ipynb")
    page.add_init_script(NO_PATIENCE)
    open_lab("busy")
    page.locator(".jp-Notebook .jp-Cell").first.click()
    for _ in range(2):
        page.keyboard.press("Shift+Enter")
    picture, card = page.locator(".klab.sequence"), page.locator(".klab.predict")
    expect(picture.locator(".chips code")).to_have_text("Drop(frame='ProduceResponse#1')")
    expect(picture.locator(".quiet")).to_contain_text("no promise is broken so far")
    card.get_by_text("The client.").click()
    card.get_by_role("button", name="What happened?").click()
    expect(card.get_by_role("button", name="ask me again")).to_be_visible()
    page.locator(".jp-Notebook .jp-Cell").last.click()
    page.keyboard.press("Shift+Enter")
    expect(picture.locator(".chips code")).to_have_count(0)
