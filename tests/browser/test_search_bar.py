"""A search in a notebook shows how far it is; interrupting the kernel ends it, and what it covered is kept."""

from __future__ import annotations

import re
from collections.abc import Callable

import nbformat
import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Jupyter

pytestmark = pytest.mark.browser

NAME = "91_search"
CELL = """\
from kafkalab import *
from kafkalab.explore.programs import two_workers
explore(two_workers(), most_faults=2)"""


def test_a_search_shows_a_bar_and_an_interrupt_keeps_what_it_covered(
    jupyter: Jupyter, open_lab: Callable[[str], Page]
) -> None:
    metadata = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(CELL)], metadata=metadata)
    nbformat.write(book, jupyter.folder / "labs" / f"{NAME}.ipynb")
    page = open_lab(NAME)
    page.locator(".jp-Notebook .jp-Cell").first.click()
    page.keyboard.press("Shift+Enter")
    output = page.locator(".jp-OutputArea").first
    expect(output).to_contain_text(re.compile(r"runs [1-9]\d* of 2,000, distinct futures .* stops the search"))
    expect(output.locator(".progress-bar")).to_have_count(1)
    page.locator("[data-command='notebook:interrupt-kernel']").click()
    expect(output).to_contain_text("unknown: it was interrupted before all of at most 2 faults")
    expect(output).to_contain_text("distinct futures")
    expect(output.locator(".progress-bar")).to_have_count(0)
