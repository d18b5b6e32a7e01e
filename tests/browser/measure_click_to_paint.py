"""From a key to the painted picture, in JupyterLab on localhost. `make bench` runs it; it is no test: no limits."""

from __future__ import annotations

import statistics
from collections.abc import Callable

from playwright.sync_api import Page

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
  const begin = performance.now(), before = root.dataset.stopCount;
  const watch = new MutationObserver(() => {
    if (root.dataset.stopCount === before) return;
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
    print(f"  {name:<46}{figures}   (goal: {goal})")


def test_measure(open_lab: Callable[[str], Page]) -> None:
    page = open_lab("03_a_full_commit")
    widget = walk_to_picture(page)
    widget.focus()
    page.keyboard.press("Home")
    page.wait_for_timeout(500)
    widget.evaluate(LISTEN)
    for _ in range(PRESSES):
        page.keyboard.press("ArrowRight")
        page.wait_for_timeout(400)
    print()
    spread("a step, key to paint", page.evaluate("window.painted"), "p95 below 50 ms")
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    faults = []
    for _ in range(15):
        for action in ("drop", "undo"):
            faults.append(widget.evaluate(FAULT.replace("ACTION", action)))
            page.wait_for_timeout(200)
    spread("a fault or its undo, with a run in the kernel", faults, "p95 below 250 ms")
