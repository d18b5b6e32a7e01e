"""Measure the book as a reader meets it: the first words, a picture that steps, each step; what is loaded and moves.

`make bench` runs it; it is no test: no limits. `python -m tests.browser.measure_book BOOK` measures a built book; one
of two labs is built where none is named. The link is slowed down to `LINK` megabits per second, the processor is made
`SLOWER` times slower.
"""

from __future__ import annotations

import gzip
import os
import statistics
import sys
from functools import partial
from http.server import ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

from kafkalab.site.book.build import build_book
from kafkalab.site.serve import HOST, Handler
from tests.browser.conftest import CHROMIUM_ARGS, LAPTOP, SHOW_WITHIN_MS
from tests.browser.measure_click_to_paint import LISTEN
from tests.programs_found import find_program

ROOT = Path(__file__).resolve().parents[2]
LABS = ("00_meet_the_machine", "03_a_full_commit")
LINK, LATENCY_MS, SLOWER = 10, 40, 4
OPENINGS, STEPS, PAUSE_MS = 5, 40, 120
TEXT = (".html", ".js", ".css", ".svg", ".json")
# The first picture that steps, the first words, and what has moved without the reader.
WATCH = """
window.moved = 0;
new PerformanceObserver((list) => {
  for (const one of list.getEntries()) window.moved += one.hadRecentInput ? 0 : one.value;
}).observe({type: "layout-shift", buffered: true});
const look = () => {
  if (document.querySelector("kafka-run.live")) window.live ??= performance.now();
  else requestAnimationFrame(look);
};
look();
"""
SEEN = """() => [
  performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? -1, window.live ?? -1, window.moved
]"""


class PackedHandler(Handler):
    """Serves texts compressed, as web servers do."""

    def send_head(self) -> Any:
        """Send a text as gzip, anything else as it is."""
        path = Path(self.translate_path(self.path))
        if path.suffix not in TEXT or not path.is_file():
            return super().send_head()
        packed = gzip.compress(path.read_bytes(), 6)
        self.send_response(200)
        self.send_header("Content-Type", self.guess_type(str(path)))
        self.send_header("Content-Encoding", "gzip")
        self.send_header("Cache-Control", "max-age=600")  # as on code hosts
        self.send_header("Content-Length", str(len(packed)))
        self.end_headers()
        self.wfile.write(packed)
        return None


def slow_page(browser: Browser) -> tuple[Page, list[float]]:
    """Return a page with a slow link and processor, in a browser that has never seen the book, and what it loads."""
    context = browser.new_context(viewport=LAPTOP)
    context.set_default_timeout(10 * SHOW_WITHIN_MS)
    page = context.new_page()
    page.add_init_script(WATCH)
    loaded: list[float] = []
    tools = context.new_cdp_session(page)
    tools.on("Network.loadingFinished", lambda event: loaded.append(event["encodedDataLength"]))
    tools.send("Network.enable")
    speed = LINK * 1e6 / 8
    limits = {"offline": False, "latency": LATENCY_MS, "downloadThroughput": speed, "uploadThroughput": speed}
    tools.send("Network.emulateNetworkConditions", limits)
    tools.send("Emulation.setCPUThrottlingRate", {"rate": SLOWER})
    return page, loaded


def openings(browser: Browser, address: str) -> None:
    """Measure the first article that somebody opens, and the next one."""
    for number, lab in enumerate(LABS):
        words, lives, moves, weights = [], [], [], []
        for _ in range(OPENINGS):
            page, loaded = slow_page(browser)
            for before in LABS[:number]:
                page.goto(f"{address}labs/{before}.html", wait_until="networkidle")
            loaded.clear()
            page.goto(f"{address}labs/{lab}.html", wait_until="networkidle")
            page.wait_for_function("window.live")
            first, live, moved = page.evaluate(SEEN)
            words.append(first)
            lives.append(live)
            moves.append(moved)
            weights.append(sum(loaded) / 1000)
            page.context.close()
        goals = ("below 300 kB" if number else "below 600 kB", "below 1 s", "below 2 s", "below 0.1")
        print(f"  {lab}, {'the next' if number else 'the first'} article")
        for what, taken, unit, goal in zip(
            ("loaded before a press, compressed", "first words", "a picture steps", "moved without the reader"),
            (weights, words, lives, moves), ("kB", "ms", "ms", ""), goals, strict=True,
        ):  # fmt: skip
            figures = f"median {statistics.median(taken):8.3g} {unit}, most {max(taken):8.3g} {unit}"
            print(f"    {what:<44}{figures}   (goal: {goal})", flush=True)


def steps(browser: Browser, address: str) -> None:
    """Measure from a key that steps to the painted picture, without a slow link or processor."""
    page = browser.new_context(viewport=LAPTOP).new_page()
    page.goto(f"{address}labs/{LABS[-1]}.html#walk")
    picture = page.locator("#walk .klab")
    picture.press("End")
    picture.evaluate(LISTEN)
    for key in ("ArrowLeft", "ArrowRight"):
        for _ in range(STEPS // 2):
            picture.press(key)
            page.wait_for_timeout(PAUSE_MS)
    taken = sorted(page.evaluate("window.painted"))
    p95 = taken[len(taken) * 95 // 100 - 1]
    figures = f"median {statistics.median(taken):.0f} ms, p95 {p95:.0f} ms"
    print(f"  a step, key to paint: {figures}   (goal: p95 below 50 ms)")
    page.context.close()


def measure(book: Path) -> None:
    """Measure a built book."""
    with ThreadingHTTPServer((HOST, 0), partial(PackedHandler, directory=str(book))) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=find_program("browser"), args=CHROMIUM_ARGS)
            address = f"http://{HOST}:{server.server_port}/"
            print(f"  at {LINK} Mbit/s and {LATENCY_MS} ms, with a processor {SLOWER} times slower:")
            openings(browser, address)
            steps(browser, address)
            print(f"  load of this machine at the end: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
            browser.close()
        server.shutdown()


def main(named: list[str]) -> None:
    """Measure the book that is named, or one of two labs."""
    if not find_program("browser"):
        return print("  not measured: there is no Chromium")
    if named:
        return measure(Path(named[0]))
    with TemporaryDirectory() as book, TemporaryDirectory() as sources:
        build_book(ROOT, Path(book), Path(sources), LABS)
        measure(Path(book))
    return None


if __name__ == "__main__":
    main(sys.argv[1:])
