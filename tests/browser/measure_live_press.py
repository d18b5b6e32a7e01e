"""From → to the arrow on the screen, of a frame of a real client that waits at the gate of a live cluster, in
JupyterLab on localhost. `make bench` runs it; it is no test: no limits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import nbformat
import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Jupyter
from tests.browser.measure_click_to_paint import LONG_MS, PYTHON, spread

PRESSES = 60
CLUSTER = """import threading
from confluent_kafka import Producer
from kafkalab import LiveCluster, Sequence
live = LiveCluster(topics={"out": 2})
client = Producer({"bootstrap.servers": live.bootstrap_servers, "transactional.id": "pay", "client.id": "app",
                   "linger.ms": 0, "log_level": 0, "transaction.timeout.ms": 900000, "request.timeout.ms": 900000,
                   "message.timeout.ms": 900000})
client.init_transactions()
def work(count):
    for number in range(count):
        client.begin_transaction()
        client.produce("out", str(number))
        client.commit_transaction()
work(COUNT)
live.hold()
threading.Thread(target=work, args=(10_000,), daemon=True).start()
live.wait_for("AddPartitionsToTxn")"""
# From the key event to the first task after the frame that shows another step, and whether events have come.
PRESS = """
root => new Promise((resolve, reject) => {
  const before = Number(root.dataset.step), {events} = root.dataset, begin = performance.now();
  const watch = new MutationObserver(() => {
    if (Number(root.dataset.step) === before) return;
    watch.disconnect();
    const told = () => resolve([performance.now() - begin, root.dataset.events !== events]);
    requestAnimationFrame(() => setTimeout(told, 0));
  });
  watch.observe(root, {attributes: true});
  setTimeout(() => resolve([-1, false]), 3000);
  root.dispatchEvent(new KeyboardEvent("keydown", {key: "KEY", bubbles: true}));
})
"""


def one(page: Page, widget: Any, key: str = "ArrowRight") -> tuple[float, bool]:
    """Press once; return the milliseconds until the picture has changed, -1 if it does not, and if events have come."""
    taken, grown = widget.evaluate(PRESS.replace("KEY", key))
    page.wait_for_timeout(150)
    return taken, grown


@pytest.mark.parametrize("transactions", [2, 200])
def test_a_press(open_lab: Callable[[str], Page], jupyter: Jupyter, transactions: int) -> None:
    cells = [nbformat.v4.new_code_cell(c) for c in (CLUSTER.replace("COUNT", str(transactions)), "Sequence(live)")]
    book = nbformat.v4.new_notebook(cells=cells, metadata=PYTHON)
    nbformat.write(book, jupyter.folder / "labs" / f"measure_live_{transactions}.ipynb")
    page = open_lab(f"measure_live_{transactions}")
    page.locator(".jp-Notebook .jp-Cell").first.locator(".jp-InputArea-prompt").click()
    page.keyboard.press("Shift+Enter")
    page.keyboard.press("Shift+Enter")
    widget = page.locator(".klab.sequence").first
    widget.wait_for(timeout=LONG_MS)
    expect(page.locator("#jp-bottom-panel")).to_contain_text("| Idle", timeout=LONG_MS)
    widget.focus()
    page.wait_for_timeout(1_000)
    for _ in range(5):
        one(page, widget)
    taken = [one(page, widget) for _ in range(PRESSES)]
    alone = [one(page, widget, "ArrowLeft") for _ in range(PRESSES // 2)]
    print()
    events = widget.get_attribute("data-events")
    spread(f"→ lets a real client's frame go, {events} events", [t for t, grown in taken if grown], "p95 below 100 ms")
    spread("← in the same picture, without the kernel", [t for t, _ in alone], "what this machine takes anyway")
    idle, near = sum(t < 0 for t, _ in taken), sum(t >= 0 and not grown for t, grown in taken)
    print(f"  of {len(taken)} presses {idle} found no frame, {near} only moved the cursor")
