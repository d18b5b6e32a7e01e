"""The labs where there is no JupyterLab: exported to HTML, where no kernel runs, and as pages that Voila serves."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import nbformat
import pytest
from nbconvert import HTMLExporter
from playwright.sync_api import Page, Route, expect

from kafkalab import lab03
from kafkalab.faults.frame import Drop
from kafkalab.sim.cluster import Cluster
from kafkalab.widgets.payload.payload import payload_of
from kafkalab.widgets.payload.text import stops
from kafkalab.widgets.payload.tour import walk, with_walk
from tests.jupyter_server import START_WITHIN_S, stop

pytestmark = pytest.mark.browser

SHOWN = ("transaction", "verification")
WIDTHS = """all => Promise.all(all.map(async (e) => {
  await e.decode();
  return e.checkVisibility() ? e.getBoundingClientRect().width : 0;
}))"""


def without_the_world(page: Page, address: str = "") -> list[str]:
    """Requests to anywhere else are refused; the list of those that there were."""
    refused: list[str] = []

    def judge(route: Route) -> None:
        if address and route.request.url.startswith(address):
            route.continue_()
        else:
            refused.append(route.request.url)
            route.abort()

    page.route("**/*", judge)
    return refused


VIEW = "application/vnd.jupyter.widget-view+json"


def figures_of(book: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    """The outputs of a notebook that are pictures."""
    return [o for cell in book.cells for o in cell.get("outputs", []) if "image/svg+xml" in o.get("data", {})]


@pytest.mark.parametrize("saved", ["as committed", "after a run"])
def test_exported_without_widget_state_every_figure_is_shown(page: Page, root: Path, saved: str) -> None:
    without_the_world(page)
    shown = 0
    for path in sorted((root / "labs" / "solutions").glob("*.ipynb")):
        book = nbformat.read(path, as_version=4)
        assert "widgets" not in book.metadata
        figures = figures_of(book)
        for figure in figures:
            if saved == "after a run":
                figure["data"][VIEW] = {"version_major": 2, "version_minor": 0, "model_id": "gone"}
        html, _ = HTMLExporter().from_notebook_node(book)
        page.set_content(html, wait_until="domcontentloaded")
        widths = page.locator('img[src^="data:image/svg+xml"]').evaluate_all(WIDTHS)
        assert [width > 200 for width in widths] == [True] * len(figures), path.name
        shown += len(figures)
    assert shown >= 4


@pytest.fixture(scope="module")
def voila(program: Callable[[str], str], root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of lab 03, served by Voila on this machine."""
    program("browser")
    folder = tmp_path_factory.mktemp("voila")
    shutil.copy(root / "labs" / "03_a_full_commit.ipynb", folder)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR"):
        environment[name] = str(folder / name.lower())
    command = [sys.executable, "-m", "voila", "03_a_full_commit.ipynb", "--no-browser", f"--port={port}"]
    with (folder / "server.log").open("wb") as out:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        yield _answering(process, f"http://127.0.0.1:{port}/", folder / "server.log")
    finally:
        stop(process)


def _answering(process: subprocess.Popen[bytes], address: str, log: Path) -> str:
    """The address once it answers; an error with the server's last words if it does not."""
    until = time.monotonic() + START_WITHIN_S
    while time.monotonic() < until and process.poll() is None:
        try:
            with urllib.request.urlopen(f"{address}voila/static/", timeout=20):
                return address
        except urllib.error.HTTPError as error:
            error.close()
            return address
        except OSError:
            time.sleep(0.1)
    raise RuntimeError(f"Voila did not start within {START_WITHIN_S} s:\n{log.read_text()[-3000:]}")


def test_voila_shows_lab_03_and_a_press_there_makes_a_new_run(page: Page, voila: str) -> None:
    refused = without_the_world(page, voila)
    before, after = Cluster(lab03()), Cluster(lab03().with_faults(Drop("EndTxn#1")))
    step = before.run().frames["EndTxn#1"].sent_step
    after.run()
    page.goto(voila)
    widget = page.locator(".klab.sequence[data-step]").first
    widget.wait_for(timeout=180_000)
    widget.focus()
    page.keyboard.press("Home")
    for _ in range(sum(1 for s in stops(payload_of(before), SHOWN) if s < step)):
        page.keyboard.press(".")
    page.keyboard.press("d")
    expect(widget).to_have_attribute("data-stop-count", str(len(walk(with_walk(payload_of(after)), SHOWN))))
    expect(widget.locator(".chips code")).to_have_text([repr(Drop("EndTxn#1"))])
    assert not [url for url in refused if "fontawesome" not in url]  # Voila's own page asks for that
