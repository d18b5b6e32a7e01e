"""The page with Python in it, in Chromium: it is quick, a press makes a real run, and a long run can be stopped."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from http.server import ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from playwright.sync_api import Page, Route, expect

from kafkalab import Challenge, Cluster, Crash, Drop, Journey, Scenario, lab00, lab03
from kafkalab.sim.codec import code_of
from kafkalab.site.lite import PYTHON
from kafkalab.site.page.build import PAGE
from kafkalab.site.page.opening import opening, runs
from kafkalab.site.serve import HOST, Handler, served
from tests.browser.conftest import SHOW_WITHIN_MS, browser, console_errors, page

__all__ = ["browser", "console_errors", "page"]
pytestmark = [pytest.mark.browser, pytest.mark.site]

MOST_BYTES = 8_000_000
PICTURE = ".klab.sequence[data-step]"


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    """The page's address, from a server that knows nothing of it."""
    with served(site) as server:
        yield f"{server}page/"


class Isolating(Handler):
    """Serves files so that a page may share memory with its worker."""

    def end_headers(self) -> None:
        """Send the two headers that isolate a page."""
        self.send_header("Cross-Origin-Opener-Policy", "same-origin")
        self.send_header("Cross-Origin-Embedder-Policy", "require-corp")
        super().end_headers()


@contextmanager
def isolated(site: Path) -> Iterator[str]:
    """The page's address, from a server that isolates it."""
    with ThreadingHTTPServer((HOST, 0), partial(Isolating, directory=str(site))) as running:
        thread = Thread(target=running.serve_forever, daemon=True)
        thread.start()
        yield f"http://{HOST}:{running.server_port}/page/"
        running.shutdown()
        thread.join()


def opened(page: Page, url: str) -> None:
    """The page shows the run that its address names."""
    page.goto(url)
    expect(page.locator(PICTURE)).to_be_visible()
    expect(page.locator("#link")).to_be_enabled()


# Asks for the digest of the run that is shown, again after each answer that is not the one that is wanted.
COMPARE = """
async ([wanted, within]) => {
  const until = performance.now() + within, {dataset} = document.documentElement;
  while (dataset.digest !== wanted && performance.now() < until) {
    delete dataset.digest;
    dispatchEvent(new Event("klab-digest"));
    while (!dataset.digest && performance.now() < until) await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return dataset.digest;
}
"""


def shows(page: Page, scenario: Scenario) -> None:
    """The page's run is the one that this Python makes of the scenario."""
    digest = Cluster(scenario).run().digest()
    assert page.evaluate(COMPARE, [digest, SHOW_WITHIN_MS]) == digest


@pytest.mark.smoke
def test_a_run_with_faults_is_that_of_this_python_and_nothing_else_is_asked(
    address: str, page: Page, console_errors: list[str]
) -> None:
    asked: set[str] = set()
    page.on("request", lambda request: asked.add(re.sub(r"^(blob:)?(\w+://[^/]*)/.*", r"\2", request.url)))
    page.context.on("request", lambda request: asked.add(re.sub(r"^(blob:)?(\w+://[^/]*)/.*", r"\2", request.url)))
    broken = replace(lab03(), faults=(Drop("EndTxnResponse#1"), Crash("b3", at_step=120)))
    opened(page, f"{address}#run={code_of(broken)}")
    shows(page, broken)
    assert asked == {address.removesuffix("/page/")}
    assert console_errors == []


def test_a_press_makes_a_run_undo_takes_it_back_and_a_link_opens_it_again(address: str, page: Page) -> None:
    opened(page, f"{address}#lab=lab03&at=EndTxn%231")
    expect(page.locator(".klab .now")).to_contain_text("EndTxn#1")
    page.keyboard.press("d")
    struck = Journey(lab03())
    struck.press("find", "EndTxn#1")
    struck.press("drop")
    shows(page, struck.scenario)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.locator("#link").click()
    expect(page.locator("#said")).to_contain_text("is on the clipboard")
    link = page.evaluate("navigator.clipboard.readText()")
    assert link == f"{address}#run={code_of(struck.scenario)}"
    page.locator('[data-action="undo"]').click()
    shows(page, lab03())
    page.evaluate("link => { location.href = link; }", link)
    shows(page, struck.scenario)


def test_every_run_of_every_lab_is_that_of_this_python(address: str, page: Page, console_errors: list[str]) -> None:
    opened(page, address)
    for name in runs():
        page.evaluate("name => { location.hash = `lab=${name}`; }", name)
        shows(page, opening(f"lab={name}").scenario)
        expect(page.locator("#runs")).to_have_value(name)
    assert console_errors == []


def test_another_lab_is_chosen_from_the_list(address: str, page: Page) -> None:
    opened(page, address)
    page.locator("#runs").select_option("lab00")
    shows(page, lab00())
    expect(page).to_have_url(f"{address}#lab=lab00")
    page.go_back()
    shows(page, lab03())
    expect(page.locator("#runs")).to_have_value("lab03")


def test_an_unknown_address_is_told_and_the_run_stays(address: str, page: Page) -> None:
    page.goto(f"{address}#lab=lab99")
    expect(page.locator("#said")).to_contain_text("No lab has a run 'lab99'; there are lab00")
    page.evaluate("location.hash = '#lab=lab00'")
    expect(page.locator(PICTURE)).to_be_visible()
    page.evaluate("location.hash = '#run=K1-NO'")
    expect(page.locator("#said")).to_have_class("wrong")
    shows(page, lab00())


def test_a_challenge_is_solved_and_its_line_copied(address: str, page: Page) -> None:
    find = Challenge(scenario=lab00(), find=("duplicate",), most=2)
    opened(page, f"{address}#challenge={find.code}")
    expect(page.locator("#challenge pre")).to_contain_text("Find duplicate in at most 2 presses")
    page.get_by_label("Your name").fill("Ada")
    page.get_by_role("button", name="count my presses").click()
    expect(page.locator("#challenge output")).to_have_text("There is no press in it.")
    expect(page.locator("#token")).to_be_hidden()
    page.locator("#challenge").evaluate("() => { location.hash += '&at=ProduceResponse%231'; }")
    expect(page.locator(".klab .now")).to_contain_text("ProduceResponse#1")
    page.locator(".klab").press("d")
    shows(page, replace(lab00(), faults=(Drop("ProduceResponse#1"),)))
    page.get_by_role("button", name="count my presses").click()
    expect(page.locator("#challenge output")).to_contain_text("You found duplicate in 1 press")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.locator("#token").click()
    expect(page.locator("#said")).to_contain_text("is on the clipboard")
    assert re.fullmatch(r"T\d-[0-9A-Z-]+", page.evaluate("navigator.clipboard.readText()"))


def wonder_for_long(page: Page) -> None:
    """Python is at work on many futures, the page stays live meanwhile, and offers to stop."""
    page.locator('[data-action="what_if"]').click()
    expect(page.locator("#stop")).to_be_visible()
    page.locator(".klab").focus()
    step = page.locator(PICTURE).get_attribute("data-step") or ""
    page.keyboard.press("ArrowRight")
    expect(page.locator(".klab")).not_to_have_attribute("data-step", step, timeout=2_000)


def test_a_long_run_is_stopped_by_a_new_worker_with_the_run_that_was_shown(address: str, page: Page) -> None:
    opened(page, f"{address}#lab=lab03&at=EndTxn%231")
    page.keyboard.press("d")
    struck = replace(lab03(), faults=(Drop("EndTxn#1"),))
    shows(page, struck)
    wonder_for_long(page)
    step = page.locator(PICTURE).get_attribute("data-step") or ""
    page.locator("#stop").click()
    expect(page.locator("#said")).to_contain_text("Python starts again with the run that was shown")
    expect(page.locator("#said")).to_be_empty()
    expect(page.locator("#stop")).to_be_hidden()
    shows(page, struck)
    expect(page.locator(".klab")).to_have_attribute("data-step", step)
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".klab")).not_to_have_attribute("data-step", step)


def test_where_memory_is_shared_python_is_interrupted_and_goes_on(site: Path, page: Page) -> None:
    with isolated(site) as address:
        opened(page, f"{address}#lab=lab03")
        assert page.evaluate("crossOriginIsolated")
        wonder_for_long(page)
        page.locator("#stop").click()
        expect(page.locator("#said")).to_contain_text("Stopped. The run that was shown before is still there.")
        expect(page.locator("#stop")).to_be_hidden()
        page.locator('.klab [data-action="crash"]').first.click()
        expect(page.locator('[data-action="undo"]')).to_have_attribute("aria-disabled", "false")


@pytest.mark.parametrize(
    ("lacking", "told"),
    [
        ("delete window.WebAssembly", "This browser cannot run Python: it has no WebAssembly"),
        ("delete window.Worker", "This browser cannot run Python"),
    ],
)
def test_a_browser_that_cannot_run_python_is_told(address: str, page: Page, lacking: str, told: str) -> None:
    page.add_init_script(lacking)
    page.goto(address)
    expect(page.locator("#said")).to_contain_text(told)


@contextmanager
def loading(page: Page, name: str = "library.packed") -> Iterator[None]:
    """While the block runs, one of Python's files does not come."""
    held: list[Route] = []
    page.context.route(f"**/{name}", lambda route: held.append(route))
    yield
    for route in held:
        route.continue_()
    page.context.unroute(f"**/{name}")


def test_while_python_loads_a_recording_is_stepped_through_and_presses_are_kept(
    address: str, page: Page, console_errors: list[str]
) -> None:
    with loading(page):
        page.goto(address)
        expect(page.locator(PICTURE)).to_be_visible()
        expect(page.locator("#said")).to_contain_text("what you press is done when Python is there")
        expect(page.locator("#link")).to_be_disabled()
        page.locator(".klab").evaluate("(klab) => { klab.own = 'kept'; }")
        struck = Journey(lab03())
        while not (why := struck.possible("right")) and struck.possible("drop"):
            page.keyboard.press("ArrowRight")
            struck.press("right")
        assert why == ""
        struck.press("drop")
        expect(page.locator('[data-action="drop"]').first).to_have_attribute("aria-disabled", "false")
        page.keyboard.press("d")
        expect(page.locator(".klab")).to_have_attribute("data-place", "0")
    expect(page.locator(".klab")).to_have_attribute("data-place", "1")
    shows(page, struck.scenario)
    assert page.locator(".klab").evaluate("(klab) => klab.own") == "kept"
    page.locator('[data-action="undo"]').click()
    shows(page, lab03())
    expect(page.locator("#loading")).to_be_hidden()
    assert console_errors == []


def test_the_cursor_stays_where_it_was_moved_and_else_goes_where_the_address_says(address: str, page: Page) -> None:
    for moved in (False, True):
        with loading(page):
            page.goto(f"{address}?{moved}#lab=lab03&at=EndTxn%231")
            first = page.locator(PICTURE).get_attribute("data-step")
            if moved:
                page.keyboard.press("ArrowRight")
                expect(page.locator(".klab")).not_to_have_attribute("data-step", first or "")
        expect(page.locator("#link")).to_be_enabled()
        there = page.locator(".klab .now")
        (expect(there).not_to_contain_text if moved else expect(there).to_contain_text)("EndTxn#1")


def test_a_recording_of_another_run_is_replaced(site: Path, address: str, page: Page) -> None:
    other = (site / PAGE / "runs" / "lab00.packed").read_bytes()
    page.route("**/runs/lab03.packed", lambda route: route.fulfill(body=other))
    opened(page, address)
    shows(page, lab03())
    expect(page.locator(".klab")).to_have_attribute("aria-label", re.compile(re.escape(lab03().title)))


def test_where_python_never_comes_the_recording_says_so(address: str, page: Page) -> None:
    page.route("**/kafkalab.packed", lambda route: route.fulfill(status=404))
    page.goto(address)
    expect(page.locator("#said")).to_contain_text("kafkalab.packed is not there (404)")
    page.locator('.klab [data-action="crash"]').first.click()
    expect(page.locator(".klab .now")).to_contain_text("this run can only be looked at")


def test_it_needs_no_storage(address: str, page: Page, console_errors: list[str]) -> None:
    deny = "Object.defineProperty(window, '{}', {{ get() {{ throw new DOMException('denied', 'SecurityError'); }} }});"
    page.add_init_script(
        "".join(deny.format(name) for name in ("localStorage", "sessionStorage", "indexedDB", "caches"))
    )
    opened(page, address)
    shows(page, lab03())
    assert console_errors == []


def test_opened_as_a_file_it_says_what_to_do(site: Path, page: Page) -> None:
    page.goto(f"file://{site}/page/index.html")
    expect(page.locator("#said")).to_contain_text("open this page from a web server")


def test_what_is_loaded_is_below_8_mb_compressed(site: Path, address: str, page: Page) -> None:
    loaded: set[str] = set()
    page.context.on("request", lambda request: loaded.add(request.url.partition("#")[0]))
    opened(page, address)
    names = {url.removeprefix(address.removesuffix("page/")) for url in loaded if url.startswith("http")}
    files = [site / name / "index.html" if name.endswith("/") else site / name for name in names]
    assert {"page/library.packed", "page/kafkalab.packed", f"{PYTHON.as_posix()}/pyodide.asm.wasm"} <= names
    assert sum(len(gzip.compress(file.read_bytes(), 6)) for file in files) < MOST_BYTES
