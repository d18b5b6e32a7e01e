"""The kernel of the site's notebooks: a cell that runs on and on is stopped, and pictures wait on a busy computer."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, expect

from kafkalab.site.kernel.build import IMPATIENT
from tests.browser.worked import choose
from tests.site.lite import READY_MS, LiteLab, lab

pytestmark = [pytest.mark.browser, pytest.mark.site]
FOREVER = """open("kept.txt", "w").write("what was solved")
n = 0
while True:
    n += 1
    if n == 10:
        print("on")"""


@pytest.fixture
def start(browser: Browser, address: str) -> Iterator[LiteLab]:
    """The labs' start page, in a browser that has never seen the site."""
    with lab(browser, address, "00_start") as opened:
        yield opened


def run(opened: LiteLab, code: str) -> Locator:
    """Run the code in the first code cell whose source is shown; return what it prints."""
    cell = opened.page.locator(".jp-Notebook .jp-CodeCell:has(.cm-content)").first
    cell.locator(".cm-content").click()
    opened.page.keyboard.press("Control+a")
    opened.page.keyboard.insert_text(code)
    opened.page.keyboard.press("Control+Enter")
    return cell.locator(".jp-OutputArea-output")


def on_and_on(opened: LiteLab) -> Locator:
    """Run a loop without an end, and press Interrupt while it runs; return what the cell prints."""
    said = run(opened, FOREVER)
    expect(said.first).to_contain_text("on", timeout=READY_MS)
    opened.page.get_by_role("button", name=re.compile("Interrupt the kernel")).click()
    return said


def test_a_running_cell_is_interrupted_and_the_kernel_keeps_what_it_has(start: LiteLab) -> None:
    start.open("first page")
    assert start.page.evaluate("crossOriginIsolated")
    expect(on_and_on(start).last).to_contain_text("KeyboardInterrupt", timeout=READY_MS)
    expect(run(start, "n > 10")).to_have_text("True", timeout=READY_MS)
    expect(start.page.locator(".klab-notice")).to_have_count(0)
    assert start.errors == []


def test_where_it_cannot_be_interrupted_the_page_says_so_and_a_restart_keeps_what_was_solved(start: LiteLab) -> None:
    start.open()
    assert not start.page.evaluate("crossOriginIsolated")
    on_and_on(start)
    expect(start.page.locator("[data-notice=interrupt]")).to_contain_text("Kernel → Restart Kernel")
    choose(start.page, "Kernel", re.compile("^Restart Kernel…"))
    start.page.get_by_role("button", name="Confirm Kernel Restart").click()
    expect(run(start, 'open("kept.txt").read()')).to_have_text("'what was solved'", timeout=READY_MS)
    start.page.reload()
    start.page.wait_for_function("crossOriginIsolated", timeout=READY_MS)
    assert start.errors == []


BUSY = """() => {
  const make = URL.createObjectURL;
  URL.createObjectURL = (content) => {
    const until = performance.now() + (content.type.includes("javascript") ? 2500 : 0);
    while (performance.now() < until);
    return make(content);
  };
}"""


def test_a_picture_waits_for_its_module_on_a_busy_computer(start: LiteLab, site: Path) -> None:
    scripts = (site / "jupyter" / "extensions" / "anywidget" / "static").glob("*.js")
    assert [path.name for path in scripts if IMPATIENT in path.read_text(encoding="utf-8")] == []
    start.open()
    start.page.evaluate(BUSY)
    run(start, "from kafkalab import Sequence, lab03\nview = Sequence(lab03())\nview")
    expect(start.page.locator("[data-step]").first).to_be_visible(timeout=READY_MS)
    start.page.wait_for_timeout(1000)
    assert start.errors == []
