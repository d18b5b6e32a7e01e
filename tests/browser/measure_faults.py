"""Measure the wait of a reader who breaks something in the book: a stored fault, Python, and a fault through Python.

`make bench` runs it for the site that `make site` has built; it is no test: no limits.
`python -m tests.browser.measure_faults [SITE]` measures another one.
"""

from __future__ import annotations

import gzip
import os
import statistics
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache, partial
from http.server import ThreadingHTTPServer
from pathlib import Path
from threading import Lock, Thread
from time import sleep
from typing import ClassVar

from playwright.sync_api import Browser, Locator, Page, sync_playwright

from kafkalab.site.build import SITE
from kafkalab.site.serve import HOST, Handler, serve_folder
from tests.browser.conftest import CHROMIUM_ARGS, LAPTOP, SHOW_WITHIN_MS
from tests.programs_found import find_program

ROOT = Path(__file__).resolve().parents[2]
LABS = ("00_meet_the_machine", "03_a_full_commit", "06_fencing_and_zombies")
LINK, PIECE = 10, 12_500
"""A slow link's megabits per second, and the bytes of a piece."""
PAUSE_MS = 120
STORED = {"d": '[data-action="drop"]', "u": '[data-action="duplicate"]'}
MADE = {"1": '[data-action="crash"]'}
"""Presses by their key, with the button that has to be enabled."""
PICTURE = "kafka-run[part=sequence] .klab.sequence[data-step]"
# From a key to the first task after the frame that shows another run.
PRESS = """
key => new Promise((resolve) => {
  const root = document.querySelector("kafka-run[part=sequence] .klab.sequence"), before = root.dataset.place,
    begin = performance.now();
  const watch = new MutationObserver(() => {
    if (root.dataset.place === before) return;
    watch.disconnect();
    requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - begin)));
  });
  watch.observe(root, {attributes: true});
  root.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true}));
})
"""


class SlowHandler(Handler):
    """Serves files, compressed, to all who ask together no faster than a link of `LINK` megabits per second."""

    turn: ClassVar[Lock] = Lock()

    def do_GET(self) -> None:
        """Send a file piece by piece."""
        path = Path(self.translate_path(self.path))
        if not path.is_file():
            return self.send_error(404)
        content = pack(path)
        self.send_response(200)
        self.send_header("Content-Type", self.guess_type(path))
        self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        for begin in range(0, len(content), PIECE):
            with self.turn:
                sleep(len(content[begin : begin + PIECE]) * 8 / (LINK * 1e6))
            with suppress(ConnectionError):  # who asked has gone
                self.wfile.write(content[begin : begin + PIECE])
        return None


@cache
def pack(path: Path) -> bytes:
    """Return a file as a web server sends it."""
    return gzip.compress(path.read_bytes(), 6)


@contextmanager
def slow(site: Path) -> Iterator[str]:
    """Serve the site over a slow link while the block runs."""
    with ThreadingHTTPServer((HOST, 0), partial(SlowHandler, directory=str(site))) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://{HOST}:{server.server_port}/"
        server.shutdown()


def spread(what: str, taken: Iterable[float], goal: str) -> None:
    """Print median and 95th percentile of the milliseconds."""
    all_ = sorted(taken)
    p95 = all_[max(0, -(-len(all_) * 95 // 100) - 1)] if all_ else 0
    told = f"median {statistics.median(all_):6.0f} ms, p95 {p95:6.0f} ms, {len(all_)} times" if all_ else "never"
    print(f"  {what:<46}{told}   (goal: {goal})", flush=True)


def open_article(page: Page, url: str) -> Locator:
    """Open an article; return its first sequence."""
    page.set_default_timeout(10 * SHOW_WITHIN_MS)
    page.goto(url)
    page.locator("kafka-run[part=sequence]").first.scroll_into_view_if_needed()
    picture = page.locator(PICTURE).first
    picture.wait_for()
    picture.focus()
    return picture


def press(page: Page, key: str) -> float:
    """Press a key; return the milliseconds until the picture shows another run."""
    taken = float(page.evaluate(PRESS, key))
    page.wait_for_timeout(PAUSE_MS)
    return taken


def presses(page: Page, keys: dict[str, str]) -> list[float]:
    """Press each key at each stop, and undo it; return what the presses took that made a run."""
    taken, stops = [], int(page.locator(PICTURE).first.get_attribute("data-stop-count") or 0)
    page.keyboard.press("Home")
    for _ in range(stops):
        for key, button in keys.items():
            if page.locator(f"{PICTURE} {button}").first.get_attribute("aria-disabled") != "true":
                taken.append(press(page, key))
                press(page, "z")
        page.keyboard.press("ArrowRight")
        page.wait_for_timeout(PAUSE_MS)
    return taken


def measure_article(browser: Browser, address: str, lab: str) -> None:
    """Measure presses in a lab's first sequence."""
    page = browser.new_page(viewport=LAPTOP)
    picture = open_article(page, f"{address}labs/{lab}.html")
    print(f"  lab {lab}, {picture.get_attribute('data-events')} events", flush=True)
    spread("a stored fault, key to paint", presses(page, STORED), "below 100 ms")
    page.keyboard.press("Home")
    press(page, "1")  # which starts Python
    press(page, "z")
    spread("a fault through Python, key to paint", presses(page, MADE), "p95 below 250 ms")
    page.close()


def measure_python(browser: Browser, site: Path) -> None:
    """Measure from the press that starts Python to the run that it makes, over a slow link."""
    with slow(site) as address:
        context = browser.new_context(viewport=LAPTOP)
        page = context.new_page()
        open_article(page, f"{address}labs/{LABS[1]}.html")
        page.wait_for_load_state("networkidle")
        spread(f"Python there at {LINK} Mbit/s, never seen before", [press(page, "1")], "below 8 s")
        context.close()


def main(named: list[str]) -> None:
    """Measure the site that is named, or the one that is built."""
    site = Path(named[0]) if named else ROOT / SITE
    if not find_program("browser") or not (site / "labs").is_dir():
        return print("  not measured: there is no Chromium, or no site; run `make site`")
    with serve_folder(site) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_program("browser"), args=CHROMIUM_ARGS)
        measure_python(browser, site)
        for lab in LABS:
            if (site / "labs" / f"{lab}.html").is_file():
                measure_article(browser, address, lab)
        print(f"  load of this machine at the end: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1:])
