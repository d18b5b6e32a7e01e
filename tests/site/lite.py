"""JupyterLite in Chromium: opens a lab of the built site, runs it, and reads what the browser keeps of it."""

from __future__ import annotations

import json
import time
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from http.server import ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, Literal

from playwright.sync_api import Browser, BrowserContext, Page, expect

from kafkalab.grading.builder import SOLUTIONS, WIDGET, read
from kafkalab.site.serve import HOST, Handler
from tests.browser.worked import RAN, choose, complaints

ROOT = Path(__file__).resolve().parents[2]
Way = Literal["link", "first page"]
"""The way to open a lab: by its address alone, or after the site's first page, which isolates the labs' pages."""
READY_MS, LAB_MS = 180_000, 600_000
"""Patience on a busy machine, not a goal."""
ENDED = """() => {
  const cells = jupyterapp.shell.currentWidget.content.widgets.map(one => one.model).filter(one => one.type === "code");
  return cells.some(one => one.executionCount) && cells.every(one => one.executionState !== "running");
}"""
"""True if some cells have run and none waits, also of those that are not drawn yet. After an error none waits."""
ISOLATES = """async () => {
  while ((await navigator.serviceWorker.getRegistration("jupyter/"))?.active?.state !== "activated")
    await new Promise(done => setTimeout(done, 50));
}"""
"""Waits for what isolates the labs' pages. (`wait_for_function` takes a promise for true: not for this.)"""
KEPT = """async () => {
  const all = (await indexedDB.databases()).map(one => one.name);
  const names = all.filter(name => name.startsWith("JupyterLite Storage"));
  const found = {};
  for (const name of names) {
    const database = await new Promise((done, failed) => {
      const asked = indexedDB.open(name);
      asked.onsuccess = () => done(asked.result);
      asked.onerror = () => failed(asked.error);
    });
    if (database.objectStoreNames.contains("files")) {
      const all = database.transaction("files").objectStore("files").getAll();
      await new Promise(done => { all.onsuccess = done; });
      for (const file of all.result) found[file.path] = file.content;
    }
    database.close();
  }
  return found;
}"""


class WithSolutions(Handler):
    """Serves the solutions in the places of the learners' notebooks."""

    def translate_path(self, path: str) -> str:
        """Return the file that answers a request."""
        plain = Path(super().translate_path(path))
        if plain.parent.parts[-2:] == ("files", "labs") and (ROOT / SOLUTIONS / plain.name).is_file():
            return str(ROOT / SOLUTIONS / plain.name)
        return str(plain)


@contextmanager
def serve_solutions(site: Path) -> Iterator[str]:
    """Serve the site with the solutions in it; yield its address."""
    with ThreadingHTTPServer((HOST, 0), partial(WithSolutions, directory=str(site))) as running:
        thread = Thread(target=running.serve_forever, daemon=True)
        thread.start()
        yield f"http://{HOST}:{running.server_port}/"
        running.shutdown()
        thread.join()


@dataclass(slots=True)
class LiteLab:
    """A lab in JupyterLite. `elsewhere` collects requests to other addresses, `errors` what the page threw."""

    page: Page
    address: str
    name: str
    elsewhere: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    shown_s: float = 0
    ready_s: float = 0

    def __post_init__(self) -> None:
        self.page.context.on("request", lambda request: self._note(request.url))
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))

    def _note(self, url: str) -> None:
        if not url.startswith((self.address, "data:", "blob:")):
            self.elsewhere.append(url)

    def open(self, way: Way = "link") -> LiteLab:
        """Show the lab and wait until its kernel is idle; by way of the site's first page, its page is isolated."""
        if way == "first page":
            self.page.goto(self.address)
            self.page.evaluate(ISOLATES)
        begun = time.monotonic()
        self.page.goto(f"{self.address}jupyter/notebooks/index.html?path=labs/{self.name}.ipynb")
        self.page.locator(".jp-Notebook .jp-Cell").first.wait_for(timeout=READY_MS)
        self.shown_s = time.monotonic() - begun
        # It says "idle" before there is a kernel.
        self.page.wait_for_function(
            "() => document.querySelector('.jp-Toolbar-kernelName')?.textContent.includes('Pyodide')"
            " && document.querySelector('.jp-Notebook-ExecutionIndicator')?.dataset.status === 'idle'",
            timeout=READY_MS,
        )
        self.ready_s = time.monotonic() - begun
        return self

    @property
    def cells(self) -> list[dict[str, Any]]:
        """The solution's cells, as they are in the file."""
        return list(read(ROOT / SOLUTIONS / f"{self.name}.ipynb")["cells"])

    def run_all(self) -> float:
        """Clear what the file has, run every cell from the menu; return how many seconds that took."""
        choose(self.page, "Edit", "Clear Outputs of All Cells")
        begun = time.monotonic()
        choose(self.page, "Run", "Run All Cells")
        last = max(i for i, cell in enumerate(self.cells) if cell["cell_type"] == "code")
        self.page.wait_for_function(ENDED, timeout=LAB_MS)
        prompt = self.page.locator(".jp-Notebook .jp-Cell").nth(last).locator(".jp-InputPrompt").first
        expect(prompt, f"the last cell did not run: {complaints(self.page)}").to_have_text(RAN, timeout=1000)
        return time.monotonic() - begun

    def save(self) -> dict[str, Any]:
        """Save the notebook; return it as the browser's storage has it then.

        JupyterLab overhears the keys while it still starts; so they are pressed until the file is there.
        """
        self.page.keyboard.press("Control+s")
        until = time.monotonic() + READY_MS / 1000
        while f"labs/{self.name}.ipynb" not in self.page.evaluate(KEPT) and time.monotonic() < until:
            self.page.wait_for_timeout(500)
            self.page.keyboard.press("Control+s")
        return self.read_saved(f"labs/{self.name}.ipynb")

    def read_solved(self) -> set[str]:
        """Return the exercises that the progress in the browser's storage says are solved."""
        kept = self.page.evaluate(KEPT)
        if "labs/progress.json" not in kept:
            return set()
        return {name for name, one in self.read_saved("labs/progress.json")["exercises"].items() if one["solved"]}

    def read_saved(self, path: str) -> dict[str, Any]:
        """Return what the browser's storage has under the path."""
        found = self.page.evaluate(KEPT)[path]
        kept: dict[str, Any] = json.loads(b64decode(found)) if isinstance(found, str) else found
        return kept


@contextmanager
def lab(
    browser: Browser, address: str, name: str, context: BrowserContext | None = None
) -> Iterator[LiteLab]:
    """A lab in a browser that has never seen the site, or in one more tab of the one that is given."""
    own = context or browser.new_context(viewport={"width": 1280, "height": 800})
    try:
        yield LiteLab(own.new_page(), address, name)
    finally:
        if context is None:
            own.close()


def plain(output: dict[str, Any]) -> dict[str, Any]:
    """Return an output without what differs from run to run: counts, ids of widgets, metadata."""
    kept = {key: value for key, value in output.items() if key not in ("execution_count", "metadata")}
    if "data" in kept:
        kept["data"] = {kind: text(value) for kind, value in kept["data"].items() if kind != WIDGET}
    if "text" in kept:
        kept["text"] = text(kept["text"])
    return kept


def text(value: Any) -> Any:
    """Return a text that is one string or a list of lines as one string."""
    return "".join(value) if isinstance(value, list) and all(isinstance(line, str) for line in value) else value


def differences(solution: list[dict[str, Any]], ran: list[dict[str, Any]]) -> dict[str, tuple[Any, Any]]:
    """Return by cell id what the file has and the browser made, where they differ and nbval would compare them."""
    made = {cell["id"]: cell for cell in ran}
    found = {}
    for cell in solution:
        if cell["cell_type"] != "code" or "nbval-ignore-output" in cell["metadata"].get("tags", ()):
            continue
        want, got = [plain(one) for one in cell["outputs"]], [plain(one) for one in made[cell["id"]]["outputs"]]
        if want != got:
            found[cell["id"]] = (want, got)
    return found


