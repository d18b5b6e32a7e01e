"""Several views of one journey in JupyterLab: they share one model, so the cursor moves in all without the kernel."""

from __future__ import annotations

from collections.abc import Callable

import nbformat
import pytest
from playwright.sync_api import Locator, Page, expect

from kafkalab import lab03
from kafkalab.widgets.views.client_view import ClientView
from tests.browser.conftest import Jupyter

pytestmark = pytest.mark.browser

CELLS = (
    "from kafkalab import ClientView, Journey, Sequence, lab03\njourney = Journey(lab03())\nSequence(journey)",
    "ClientView(journey)",
    "import time\ntime.sleep(6)",
    "print(journey.step, journey.place)",
)


@pytest.fixture
def views(open_lab: Callable[[str], Page], jupyter: Jupyter) -> tuple[Locator, Locator]:
    """A sequence and a client's-eye view of the same journey, in two cells."""
    cells = [nbformat.v4.new_code_cell(source) for source in CELLS]
    metadata = {"kernelspec": {"name": "python3", "display_name": "Python"}}
    book = nbformat.v4.new_notebook(cells=cells, metadata=metadata)
    nbformat.write(book, jupyter.folder / "labs" / "shared.ipynb")
    page = open_lab("shared")
    page.locator(".jp-Notebook .jp-Cell").first.click()
    for _ in range(2):
        page.keyboard.press("Shift+Enter")
    page.locator(".klab.client-view").wait_for()
    expect(page.locator("#jp-bottom-panel")).to_contain_text("| Idle")
    return page.locator(".klab.sequence"), page.locator(".klab.client-view")


def test_a_step_in_one_view_is_a_step_in_all_also_while_a_cell_runs(
    views: tuple[Locator, Locator], page: Page, console_errors: list[str]
) -> None:
    sequence, client = views
    page.keyboard.press("Shift+Enter")
    expect(page.locator("#jp-bottom-panel")).to_contain_text("| Busy")
    sequence.focus()
    page.keyboard.press("End")
    expect(client).to_have_attribute("data-step", sequence.get_attribute("data-step") or "", timeout=2_000)
    client.focus()
    page.keyboard.press("ArrowLeft")
    expect(sequence).to_have_attribute("data-step", client.get_attribute("data-step") or "", timeout=2_000)
    expect(page.locator("#jp-bottom-panel")).to_contain_text("| Idle")
    last = str(ClientView(lab03()).moments()[-1])
    assert sequence.get_attribute("data-step") == client.get_attribute("data-step") == last
    assert console_errors == []


@pytest.mark.smoke
def test_a_press_in_one_view_gives_all_the_new_run_and_the_kernel_knows(
    views: tuple[Locator, Locator], page: Page
) -> None:
    sequence, client = views
    client.focus()
    page.keyboard.press("End")
    before = int(client.get_attribute("data-step") or 0)
    sequence.locator('[data-action="crash"][data-target="app"]').click()
    expect(client.locator(".now")).to_have_text("app is gone: it knows nothing any more.")
    expect(sequence).to_have_attribute("data-step", str(before + 1))
    page.locator(".jp-Notebook .jp-Cell").last.click()
    page.keyboard.press("Shift+Enter")
    expect(page.locator(".jp-OutputArea-output").last).to_have_text(f"{before + 1} 1")
