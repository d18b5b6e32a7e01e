"""A notebook that was saved with its widgets, opened again: its pictures are there, before a kernel has run a cell."""

from __future__ import annotations

from collections.abc import Callable

import nbformat
import pytest
from nbclient import NotebookClient
from nbformat.sign import NotebookNotary
from playwright.sync_api import Page, expect

from tests.browser.conftest import Jupyter

pytestmark = pytest.mark.browser

CELLS = ("from kafkalab import Sequence, Verdict, lab00\nview = Sequence(lab00())\nview", "Verdict(view)")
STYLES = "[...document.querySelectorAll('head > style')].map((e) => e.textContent)"


def test_saved_pictures_step_without_the_kernel_that_made_them_and_each_part_is_there_once(
    open_lab: Callable[[str], Page], jupyter: Jupyter, page: Page
) -> None:
    cells = [nbformat.v4.new_code_cell(source) for source in CELLS]
    metadata = {"kernelspec": {"name": "python3", "display_name": "Python"}}
    book = nbformat.v4.new_notebook(cells=cells, metadata=metadata)
    NotebookClient(book, store_widget_state=True).execute()
    (saved,) = book.metadata.widgets.values()
    parts = [one["state"] for one in saved["state"].values() if "code" in one["state"]]
    assert len({part["code"] for part in parts}) == len(parts) == 3  # the common part, and each picture's own
    path = jupyter.folder / "labs" / "saved.ipynb"
    nbformat.write(book, path)
    NotebookNotary(data_dir=str(jupyter.folder / "jupyter_data_dir")).sign(nbformat.read(path, 4))
    open_lab("saved")
    picture = page.locator(".klab.sequence")
    expect(page.locator(".klab.verdict")).to_be_visible()
    before = str(picture.get_attribute("data-step"))
    picture.focus()
    page.keyboard.press("ArrowRight")
    expect(picture).not_to_have_attribute("data-step", before)
    styles = page.evaluate(STYLES)
    assert [styles.count(part["css"]) for part in parts] == [1, 1, 1]
