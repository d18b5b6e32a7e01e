"""What a learner waits for on the page with Python in it: the first picture, a step, and every kind of press.

`make bench` runs it; it is no test: no limits. `python -m tests.browser.measure_page [SITE]` measures a built site; one
that has only the page is built where none is named.
"""

from __future__ import annotations

import gzip
import os
import statistics
import sys
from collections.abc import Iterable
from http.server import ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock, Thread
from time import sleep
from typing import Any, ClassVar

from playwright.sync_api import Browser, BrowserContext, Locator, Page, sync_playwright

from kafkalab.site.lite import PYTHON
from kafkalab.site.page.build import ARCHIVES, KINDS, LARGE, PAGE, SHELL, write_page
from kafkalab.site.page.build import RUNS as RECORDED
from kafkalab.site.page.opening import FIRST
from kafkalab.site.runtime import CACHE, CannotBuildError, lay_out, node
from kafkalab.site.serve import HOST, Handler, served
from tests.browser.conftest import CHROMIUM_ARGS, LAPTOP, SHOW_WITHIN_MS
from tests.browser.measure_click_to_paint import LISTEN
from tests.programs_found import found

ROOT = Path(__file__).resolve().parents[2]
OPENINGS, STEPS, STOPS = 5, 40, 4
PAUSE_MS = 120
LINK, PIECE = 10, 12_500
"""A slow link's megabits per second, and the bytes of a piece."""
FILES = ("index.html", *(name + kind for name in SHELL for kind in KINDS), "python_worker.js")
PARTS = (*FILES, f"{RECORDED}/{FIRST}.packed", *ARCHIVES)
RUNS = ("lab03", "lab06", "commit_interval")
"""Runs of 281, 733 and 2712 events: the longest of all labs."""
BESIDE = (("lab03", "logs"), ("lab03", "states"), ("commit_interval", "logs"))
"""Runs that are measured with another picture open, too, and which."""
PICTURE = ".klab.sequence[data-step]"
OPEN = "#place .klab[data-step]"
"""Another picture of the run that is open beside it."""
KEYS = {"drop": "d", "duplicate": "u", "crash": "1", "crash of a client": "0"}
PANEL_KEYS = {"delay": "l", "hold": "h", "advance the clock": "a"}
PANEL_BUTTONS = {"pause": '[data-action="pause"][data-target="b1"]', "isolate": '[data-action="cut"][data-target="b2"]'}
"""Those that are pressed in the fault panel, the drawer of the picture."""

# Count what Python has been asked and has not answered, and note when it posts a run.
WATCH = """
window.Worker = class extends Worker {
  constructor(...given) {
    super(...given);
    window.undone = 0;
    this.addEventListener("message", ({data}) => {
      if (data.startsWith('{"kind":"idle"')) window.undone -= 1;
      if (data.startsWith('{"kind":"update"')) window.posted = performance.now();
    });
  }
  postMessage(...given) {
    window.undone += 1;
    super.postMessage(...given);
  }
};
"""
STARTED = "(name) => performance.getEntriesByName(name)[0]?.startTime"
# From a press to the first task after the frame that shows another run, and until Python has posted the run; [] for a
# press that changes nothing. `press` is a key, or a button's selector.
PRESS = """
([press, panel]) => new Promise((resolve) => {
  const root = document.querySelector(".klab.sequence"), before = root.dataset.place, begin = performance.now(),
    on = panel ? document.querySelector(".klab.fault-panel") : root;
  const watch = new MutationObserver(() => {
    if (root.dataset.place === before) return;
    watch.disconnect();
    const {posted} = window;
    requestAnimationFrame(() => setTimeout(() => resolve([performance.now() - begin, posted - begin])));
  });
  watch.observe(root, {attributes: true});
  if (press.length > 1) on.querySelector(press).click();
  else on.dispatchEvent(new KeyboardEvent("keydown", {key: press, bubbles: true}));
  setTimeout(() => window.undone || root.dataset.place !== before || resolve([]), 50);
})
"""
# From the click on a tab to the first task after the frame with its picture.
OPENED = """
([tab, picture]) => new Promise((resolve) => {
  const begin = performance.now();
  const look = () => document.querySelector(picture)
    ? requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - begin)))
    : requestAnimationFrame(look);
  document.getElementById(tab).click();
  look();
})
"""


class Taken:
    """Milliseconds, by what they were taken for."""

    def __init__(self) -> None:
        self.all: list[float] = []
        self.python: list[float] = []

    def add(self, whole: float, python: float) -> None:
        """Note one press: until the picture is there, and until Python has posted the run."""
        self.all.append(whole)
        self.python.append(python)


def spread(what: str, taken: Iterable[float], goal: str = "", more: str = "") -> None:
    """Print median, 95th percentile and most of the milliseconds."""
    found = sorted(taken)
    if not found:
        return print(f"  {what:<46}nothing to press")
    p95 = found[max(0, -(-len(found) * 95 // 100) - 1)]
    figures = f"median {statistics.median(found):6.0f} ms, p95 {p95:6.0f} ms, {len(found)} times"
    print(f"  {what:<46}{figures}{more}" + (f"   (goal: {goal})" if goal else ""), flush=True)
    return None


def shown(page: Page) -> Locator:
    """Wait for the picture, and until Python has nothing left to do; return the picture."""
    picture = page.locator(PICTURE)
    picture.wait_for()
    quiet(page)
    return picture


def patient(browser: Browser) -> BrowserContext:
    """Return a browser that has never seen the page, and waits for long on a busy machine."""
    context = browser.new_context(viewport=LAPTOP)
    context.set_default_timeout(10 * SHOW_WITHIN_MS)
    return context


def quiet(page: Page) -> None:
    """Wait until Python has answered all that it was asked, and the page has had a moment for itself."""
    page.wait_for_timeout(PAUSE_MS)
    page.wait_for_function("window.undone === 0")


def openings(browser: Browser, address: str) -> None:
    """Measure from the click on a link to the picture, in a browser that has never seen the page, and once more."""
    took: dict[str, list[float]] = {"cold": [], "warm": []}
    first: dict[str, list[float]] = {"cold": [], "warm": []}
    for _ in range(OPENINGS):
        context = patient(browser)
        for kind in took:
            page = context.new_page()
            page.add_init_script(WATCH)
            page.goto(f"{address}#lab=lab03")
            shown(page)
            took[kind].append(page.evaluate(STARTED, "klab-shown"))
            first[kind].append(page.evaluate(STARTED, "klab-recorded"))
            page.close()
        context.close()
    spread("steps can be made, never seen before", first["cold"])
    spread("presses, too", took["cold"], "below 12 s")
    spread("steps can be made, seen before", first["warm"])
    spread("presses, too", took["warm"], "below 8 s")


def opening_a_picture(page: Page, name: str) -> None:
    """Measure from the click on its tab to the picture, the first time and when it has been shown before."""
    tab, again = page.locator(f'[role="tab"][data-name="{name}"]'), []
    for _ in range(OPENINGS):
        again.append(page.evaluate(OPENED, [tab.get_attribute("id"), OPEN]))
        quiet(page)
        tab.click()
    spread(f"  {name} opens the first time", again[:1])
    spread(f"  {name} opens again", again[1:])
    tab.click()
    page.locator(OPEN).wait_for()
    quiet(page)


def steps(page: Page) -> None:
    """Measure from a key that steps to the painted picture."""
    picture = shown(page)
    picture.focus()
    page.keyboard.press("End")
    picture.evaluate(LISTEN)
    for key in ("ArrowLeft", "ArrowRight"):
        for _ in range(STEPS // 2):
            page.keyboard.press(key)
            page.wait_for_timeout(PAUSE_MS)
    spread("a step, key to paint", page.evaluate("window.painted"), "p95 below 50 ms")


def presses(page: Page) -> dict[str, Taken]:
    """Press each kind of fault at several stops, undo it and redo one of two; return what each took."""
    taken: dict[str, Taken] = {}

    def press(kind: str, what: str, panel: bool = False) -> bool:
        found: list[Any] = page.evaluate(PRESS, [what, panel])
        if found:
            taken.setdefault(kind, Taken()).add(*found)
        quiet(page)
        return bool(found)

    for panel, kinds in ((False, KEYS), (True, PANEL_KEYS | PANEL_BUTTONS)):
        picture = shown(page)
        picture.focus()
        stops = int(picture.get_attribute("data-stop-count") or 0)
        if panel:
            page.keyboard.press("p")
            page.locator(".klab.fault-panel").wait_for()
        for stop in range(STOPS):
            picture.focus()
            page.keyboard.press("Home")
            for _ in range((2 * stop + 1) * stops // (2 * STOPS)):
                page.keyboard.press("ArrowRight")
            drop = picture.locator('[data-action="drop"]')
            for key in ["ArrowRight"] * stops + ["ArrowLeft"] * stops:  # to the nearest stop with a frame under way
                if drop.get_attribute("aria-disabled") != "true":
                    break
                page.keyboard.press(key)
            quiet(page)
            for number, (kind, what) in enumerate(kinds.items()):
                if press(kind, what, panel) and press("undo", "z") and (number + stop) % 2:
                    press("redo", "y")
                    press("undo", "z")
    return taken


def all_presses(browser: Browser, address: str) -> None:
    """Measure steps and presses in a short, a longer and the longest run of the labs, also with a picture open."""
    for run, other in (*((run, "") for run in RUNS), *BESIDE):
        context = patient(browser)
        page = context.new_page()
        page.add_init_script(WATCH)
        page.goto(f"{address}#lab={run}")
        events = shown(page).get_attribute("data-events")
        print(f"  {run}, {events} events{other and f', with {other}'}", flush=True)
        if other:
            opening_a_picture(page, other)
        steps(page)
        taken = presses(page)
        for kind, one in taken.items():
            spread(f"  {kind}", one.all, more=f", of it Python {statistics.median(one.python):4.0f} ms")
        every = [whole for one in taken.values() for whole in one.all]
        python = statistics.median(p for one in taken.values() for p in one.python)
        spread("every press", every, "p95 below 250 ms", f", of it Python {python:4.0f} ms")
        context.close()


def loaded(site: Path) -> dict[str, bytes]:
    """Return the files that the first picture needs, by path, compressed as a web server does."""
    paths = [site / PAGE / name for name in PARTS] + [site / PYTHON / name for name in ("pyodide.mjs", *LARGE)]
    return {f"/{path.relative_to(site).as_posix()}": gzip.compress(path.read_bytes(), 6) for path in paths}


class SlowHandler(Handler):
    """Serves files, compressed, to all who ask together no faster than a link of `LINK` megabits per second."""

    files: ClassVar[dict[str, bytes]] = {}
    turn = Lock()

    def do_GET(self) -> None:
        """Send a file piece by piece."""
        path = self.path.partition("?")[0]
        content = self.files.get(path + "index.html" if path.endswith("/") else path)
        if content is None:
            return self.send_error(404)
        self.send_response(200)
        self.send_header("Content-Type", self.guess_type(path if "." in path else "index.html"))
        self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        for begin in range(0, len(content), PIECE):
            with self.turn:
                sleep(len(content[begin : begin + PIECE]) * 8 / (LINK * 1e6))
            self.wfile.write(content[begin : begin + PIECE])
        return None


def slow_link(browser: Browser, files: dict[str, bytes]) -> None:
    """Measure what a learner with a slow link sees, and when, who has never seen the page."""
    SlowHandler.files = files
    with ThreadingHTTPServer((HOST, 0), SlowHandler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        context = patient(browser)
        page = context.new_page()
        page.add_init_script(WATCH)
        page.goto(f"http://{HOST}:{server.server_port}/{PAGE.as_posix()}/")
        shown(page)
        marks = [page.evaluate(STARTED, name) for name in ("klab-recorded", "klab-shown")]
        context.close()
        server.shutdown()
    begins, presses = (f"{ms / 1000:.1f} s" if ms else "never" for ms in marks)
    what = f"at {LINK} Mbit/s, never seen before"
    print(f"  {what:<46}steps from {begins} on, presses from {presses} on   (goal: inside below 10 s)", flush=True)


def measure(site: Path) -> None:
    """Measure the page of a built site."""
    with served(site) as server, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found("browser"), args=CHROMIUM_ARGS)
        address = f"{server}{PAGE.as_posix()}/"
        files = loaded(site)
        weight = sum(map(len, files.values())) / 1e6
        print(f"  {'what is loaded, compressed':<46}{weight:6.2f} MB in {len(files)} files   (goal: below 8 MB)")
        slow_link(browser, files)
        openings(browser, address)
        all_presses(browser, address)
        print(f"  load of this machine at the end: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
        browser.close()


def main(named: list[str]) -> None:
    """Measure the site that is named, or one that has Python and the page alone."""
    if not found("browser"):
        return print("  not measured: there is no Chromium")
    if named:
        return measure(Path(named[0]))
    with TemporaryDirectory() as folder:
        site = Path(folder)
        try:
            lay_out(ROOT, site / PYTHON)
            write_page(site / PAGE, site / PYTHON, node(ROOT / CACHE))
        except CannotBuildError as error:
            return print(f"  not measured: {error}")
        measure(site)
    return None


if __name__ == "__main__":
    main(sys.argv[1:])
