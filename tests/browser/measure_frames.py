"""Frames a second while something moves in a view, in Chromium. `make bench` runs it; it is no test: no limits."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page

from kafkalab import lab03
from kafkalab.widgets.model.journey import Journey
from kafkalab.widgets.views.log_tape import LogTape
from kafkalab.widgets.views.sequence import Sequence
from kafkalab.widgets.views.state_chart import StateChart
from tests.widgets.live import Live

STEPS = 40
AFTER_MS = 520
"""The time after a press in which frames are counted: the longest motion."""

# The times between frames from a press until what it moved stands still; without a key all of them up to the limit.
GAPS = """
async ([key, limit]) => {
  const root = document.querySelector(".klab"), frame = () => new Promise(requestAnimationFrame);
  let before = await frame();
  const begin = before, gaps = [];
  if (key) root.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
  const moves = () => !key || document.getAnimations().some((one) => one.playState === "running");
  do {
    const now = await frame();
    gaps.push(now - before);
    before = now;
  } while (before - begin < limit && moves());
  return gaps.slice(1);
}
"""


def print_rate(name: str, gaps: list[float]) -> None:
    """Print the frames a second and the time between frames."""
    gaps = sorted(gaps)
    p95 = gaps[int(len(gaps) * 0.95) - 1]
    mean = statistics.fmean(gaps)
    print(f"  {name:<30}{1000 / mean:5.1f} frames a second, gaps median {statistics.median(gaps):5.1f} ms, "
          f"p95 {p95:5.1f} ms, {len(gaps)} frames   (goal: 60 a second)")  # fmt: skip


@pytest.mark.parametrize("make", [Sequence, LogTape, StateChart])
def test_frames(page: Page, make: Callable[[Any], Any]) -> None:
    """Steps through lab 3, one after the other."""
    view = make(Journey(lab03()))
    view.press("home")
    Live(page, view)
    page.locator(".klab").focus()
    idle: list[float] = page.evaluate(GAPS, ["", 1000])
    gaps: list[float] = []
    for _ in range(STEPS):
        gaps += page.evaluate(GAPS, ["ArrowRight", AFTER_MS])
    print()
    print_rate("nothing moves", idle)
    print_rate(f"{make.__name__}, lab 3", gaps)
