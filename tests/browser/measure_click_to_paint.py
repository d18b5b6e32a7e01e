"""From a key to the painted picture, in JupyterLab on localhost. `make bench` runs it; it is no test: no limits."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import Page

from tests.browser.conftest import Jupyter
from tests.browser.test_lab03 import walk_to_picture

PRESSES = 60

# From the key event to the first task after the frame that shows its effect.
LISTEN = """
root => {
  window.painted = [];
  document.addEventListener("keydown", () => {
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


def spread(name: str, taken: list[float], goal: str) -> None:
    taken = sorted(taken)
    p95 = taken[int(len(taken) * 0.95) - 1]
    figures = f"median {statistics.median(taken):6.1f} ms, p95 {p95:6.1f} ms, {len(taken)} presses"
    print(f"  {name:<60}{figures}   (goal: {goal})")


def notebook(folder: Path, transactions: int) -> str:
    """The name of a notebook in this folder's labs/ that shows so many transactions of one producer."""
    name = f"measure_{transactions}"
    cell = nbformat.v4.new_code_cell(
        "from kafkalab import Program, Scenario, Sequence\n"
        f"args = {{'transactional_id': 't0', 'count': {transactions}}}\n"
        "Sequence(Scenario(topics={'out': 2}, programs=(Program('p0', 'transactions', args),)))"
    )
    book = nbformat.v4.new_notebook(
        cells=[cell], metadata={"kernelspec": {"name": "python3", "display_name": "Python"}}
    )
    nbformat.write(book, folder / "labs" / f"{name}.ipynb")
    return name


@pytest.mark.parametrize(("transactions", "goal"), [(5, "p95 below 50 ms"), (198, "p95 below 100 ms")])
def test_measure(open_lab: Callable[[str], Page], jupyter: Jupyter, transactions: int, goal: str) -> None:
    page = open_lab(notebook(jupyter.folder, transactions))
    widget = walk_to_picture(page)
    events = int(widget.get_attribute("data-events") or 0)
    widget.focus()
    page.keyboard.press("End")
    page.wait_for_timeout(500)
    for _ in range(30):
        page.keyboard.press("ArrowLeft")
    widget.evaluate(LISTEN)
    for key in ("ArrowRight", "ArrowLeft"):
        for _ in range(PRESSES // 2):
            page.keyboard.press(key)
            page.wait_for_timeout(400)
    print()
    spread(f"a step in {events} events, key to paint", page.evaluate("window.painted"), goal)
    if transactions > 10:
        return
    page.keyboard.press("Home")
    while widget.locator('[data-action="drop"]').get_attribute("aria-disabled") == "true":
        page.keyboard.press("ArrowRight")
    faults = []
    for _ in range(15):
        for action in ("drop", "undo"):
            faults.append(widget.evaluate(FAULT.replace("ACTION", action)))
            page.wait_for_timeout(200)
    spread(f"a fault or its undo in {events} events, run in the kernel", faults, "p95 below 250 ms")
