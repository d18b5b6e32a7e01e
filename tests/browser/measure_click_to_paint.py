"""From a key to the painted picture, in JupyterLab on localhost. `make bench` runs it; it is no test: no limits.

KAFKALAB_VIEWS="^Sequence" measures only the views whose name in VIEWS has this regular expression; `-k 'a_step and 5'`
only the short run.
"""

from __future__ import annotations

import os
import re
import statistics
from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import Jupyter
from tests.browser.test_lab03 import walk_to_picture

PRESSES = 40
PAUSE_MS = 200
WARM_UP = 30
LONG_MS = 600_000
PYTHON = {"kernelspec": {"name": "python3", "display_name": "Python"}}
VIEWS = {
    "Sequence": "Sequence(journey)",
    "Sequence, across": "Sequence(journey, time='across')",
    "StateChart": "StateChart(journey)",
    "LogTape": "LogTape(journey)",
    "LogTape, replicas": "LogTape(journey, replicas=True)",
    "ClusterMap": "ClusterMap(journey)",
    "ClientView": "ClientView(journey)",
    "ClientView, revealed": "ClientView(journey, revealed=True)",
    "FaultPanel": "FaultPanel(journey)",
    "Compare": "Compare(journey, Scenario(topics={'out': 2}, programs=programs, seed=2))",
    "Verdict": "Verdict(journey)",
    "Share": "Share(journey)",
}
"""Every widget that draws itself anew at a step, as a cell's last line. Each is shown alone."""

CHOSEN = {name: source for name, source in VIEWS.items() if re.search(os.environ.get("KAFKALAB_VIEWS", ""), name)}

# From the key event to the first task after the frame that shows its effect.
LISTEN = """
root => {
  window.painted = [];
  if (root.timed) return;
  root.timed = true;
  root.addEventListener("keydown", () => {
    const begin = performance.now();
    requestAnimationFrame(() => {
      const channel = new MessageChannel();
      channel.port1.onmessage = () => window.painted.push(performance.now() - begin);
      channel.port2.postMessage(0);
    });
  }, true);
}
"""
FAULT = """
root => new Promise(resolve => {
  const begin = performance.now(), before = root.dataset.place;
  const watch = new MutationObserver(() => {
    if (root.dataset.place === before) return;
    watch.disconnect();
    requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - begin), 0));
  });
  watch.observe(root, {attributes: true});
  root.querySelector('[data-action=ACTION]').click();
})
"""


# From Shift+Enter to the first task after the frame that shows a sequence which was not there before.
OPENED = """
() => {
  for (const old of document.querySelectorAll(".klab.sequence")) old.dataset.seen = "";
  window.opened = new Promise((resolve) => addEventListener("keydown", ({ key }) => {
    if (key !== "Enter") return;
    const begin = performance.now();
    const look = () => {
      const shown = document.querySelector(".klab.sequence[data-stop-count]:not([data-seen])");
      if (!shown) return requestAnimationFrame(look);
      requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - begin)));
    };
    look();
  }, true));
}
"""


def spread(name: str, taken: list[float], goal: str) -> None:
    order, taken = taken, sorted(taken)
    p95 = taken[int(len(taken) * 0.95) - 1]
    figures = f"median {statistics.median(taken):6.1f} ms, p95 {p95:6.1f} ms, {len(taken)} presses"
    print(f"  {name:<60}{figures}   (goal: {goal})")
    print(f"    in order: {' '.join(f'{one:.0f}' for one in order)}")


def notebook(folder: Path, transactions: int) -> str:
    """The name of a notebook in this folder's labs/: a journey of so many transactions, then each view in a cell."""
    name = f"measure_{transactions}"
    first = (
        "from types import SimpleNamespace\nfrom kafkalab import *\nview = SimpleNamespace(close=lambda: None)\n"
        f"programs = (Program('p0', 'transactions', {{'transactional_id': 't0', 'count': {transactions}}}),)\n"
        "journey = Journey(Scenario(topics={'out': 2}, programs=programs))"
    )
    shows = [f"view.close()\nview = {source}\nview" for source in CHOSEN.values()]
    cells = [nbformat.v4.new_code_cell(source) for source in (first, *shows)]
    book = nbformat.v4.new_notebook(cells=cells, metadata=PYTHON)
    nbformat.write(book, folder / "labs" / f"{name}.ipynb")
    return name


def press(page: Page, key: str, times: int) -> None:
    for _ in range(times):
        page.keyboard.press(key)
        page.wait_for_timeout(PAUSE_MS)


def measure(page: Page, widget: Locator, keys: tuple[str, ...] = ("ArrowRight", "ArrowLeft")) -> list[float]:
    """Presses near the end of the run: steps, back and forth."""
    widget.focus()
    page.keyboard.press("End")
    page.wait_for_timeout(500)
    for _ in range(WARM_UP):
        page.keyboard.press("ArrowLeft")
    widget.evaluate(LISTEN)
    for key in keys:
        press(page, key, PRESSES // len(keys))
    taken: list[float] = page.evaluate("window.painted")
    return taken


def show_view(page: Page, cell: int) -> Locator:
    """The view that this cell of the notebook makes; those of the cells before it are gone."""
    page.evaluate("() => document.activeElement.blur()")
    page.locator(".jp-Notebook .jp-Cell").nth(cell).locator(".jp-InputArea-prompt").click()
    page.keyboard.press("Shift+Enter")
    widget = page.locator(".jp-Notebook .jp-Cell").nth(cell).locator(".klab")
    widget.wait_for(timeout=LONG_MS)
    expect(page.locator(".klab")).to_have_count(1)
    expect(page.locator("#jp-bottom-panel")).to_contain_text("| Idle", timeout=LONG_MS)
    widget.scroll_into_view_if_needed()
    return widget


@pytest.mark.parametrize(("transactions", "goal"), [(5, "p95 below 50 ms"), (198, "p95 below 100 ms")])
def test_a_step(open_lab: Callable[[str], Page], jupyter: Jupyter, transactions: int, goal: str) -> None:
    page = open_lab(notebook(jupyter.folder, transactions))
    page.locator(".jp-Notebook .jp-Cell").first.click()
    page.keyboard.press("Shift+Enter")
    prompt = page.locator(".jp-Notebook .jp-Cell").first.locator(".jp-InputArea-prompt")
    expect(prompt).to_have_text("[1]:", timeout=LONG_MS)
    print()
    for cell, name in enumerate(CHOSEN, 1):
        widget = show_view(page, cell)
        if cell == 1:
            idle = measure(page, widget, ("Shift",))
            spread("a key that does nothing: what this machine takes anyway", idle, goal)
        spread(f"{name}, a step in a run of {transactions} transactions", measure(page, widget), goal)


def test_a_fault(open_lab: Callable[[str], Page], jupyter: Jupyter) -> None:
    folder = jupyter.folder / "labs"
    cell = nbformat.v4.new_code_cell(
        "from kafkalab import Program, Scenario, Sequence\nargs = {'transactional_id': 't0', 'count': 5}\n"
        "Sequence(Scenario(topics={'out': 2}, programs=(Program('p0', 'transactions', args),)))"
    )
    book = nbformat.v4.new_notebook(cells=[cell], metadata=PYTHON)
    nbformat.write(book, folder / "measure_fault.ipynb")
    page = open_lab("measure_fault")
    widget = walk_to_picture(page)
    events = widget.get_attribute("data-events")
    page.keyboard.press("Home")
    widget.focus()
    while widget.locator('[data-action="drop"]').get_attribute("aria-disabled") == "true":
        page.keyboard.press("ArrowRight")
    faults = []
    for _ in range(15):
        for action in ("drop", "undo"):
            faults.append(widget.evaluate(FAULT.replace("ACTION", action)))
            page.wait_for_timeout(PAUSE_MS)
    print()
    spread(f"a fault or its undo in {events} events, run in the kernel", faults, "p95 below 250 ms")


OPENINGS = 5


@pytest.mark.parametrize(("transactions", "goal"), [(5, "below 1 s"), (198, "below 5 s")])
def test_an_opening(open_lab: Callable[[str], Page], jupyter: Jupyter, transactions: int, goal: str) -> None:
    """A cell that runs a scenario and shows it, in a kernel that has imported kafkalab."""
    args = f"{{'transactional_id': 't0', 'count': {transactions}}}"
    first = (
        "from time import perf_counter\nfrom kafkalab import Journey, Program, Scenario, Sequence\n"
        f"programs = (Program('p0', 'transactions', {args}),)\nmade = []"
    )
    show = (
        "begin = perf_counter()\nview = Sequence(Journey(Scenario(topics={'out': 2}, programs=programs)))\n"
        "made.append(1000 * (perf_counter() - begin))\nview"
    )
    closed = "view.close()\nview.journey.close()\nprint('made', made[-1])"
    cells = [first, *[show, closed] * OPENINGS]
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells], metadata=PYTHON)
    nbformat.write(book, jupyter.folder / "labs" / f"measure_opening_{transactions}.ipynb")
    page = open_lab(f"measure_opening_{transactions}")
    page.locator(".jp-Notebook .jp-Cell").first.locator(".jp-InputArea-prompt").click()
    page.keyboard.press("Shift+Enter")
    taken, made = [], []
    for cell in range(1, len(cells), 2):
        expect(page.locator("#jp-bottom-panel")).to_contain_text("| Idle", timeout=LONG_MS)
        page.evaluate(OPENED)
        page.keyboard.press("Shift+Enter")
        taken.append(page.evaluate("opened"))
        page.wait_for_timeout(PAUSE_MS)
        page.keyboard.press("Shift+Enter")
        output = page.locator(".jp-Notebook .jp-Cell").nth(cell + 1).locator(".jp-OutputArea-output")
        expect(output).to_contain_text("made", timeout=LONG_MS)
        made.append(float(output.inner_text().split()[1]))
    print()
    name = f"opening {transactions} transactions"
    spread(f"{name}: run and payload in Python", made, "a part of the next line")
    spread(f"{name}, from Shift+Enter to the picture", taken, goal)
