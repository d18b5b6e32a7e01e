"""Presses in the book, in Chromium: answered from what is stored, and by Python, which a press starts."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from kafkalab import Challenge, Cluster, Crash, Drop, Journey, Scenario, lab00, lab03
from kafkalab.course.labs import names
from kafkalab.sim.codec import code_of
from kafkalab.site.lite import PYTHON
from kafkalab.site.serve import serve_folder
from tests.browser.conftest import browser, console_errors, page

__all__ = ["browser", "console_errors", "page"]
pytestmark = [pytest.mark.browser, pytest.mark.site]

MOST_BYTES = 8_000_000
LAB = "labs/03_a_full_commit.html"
WALK = "kafka-run[part=sequence] >> nth=0"
BAR = ".klab-python"


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    """The book's address."""
    with serve_folder(site) as address:
        yield address


def walk_at(page: Page, url: str, frame: str) -> Locator:
    """Open the article, and put its first sequence at a frame; return the picture."""
    page.goto(url)
    walk = page.locator(WALK)
    walk.scroll_into_view_if_needed()
    picture = walk.locator(".klab.sequence[data-step]")
    expect(picture).to_be_visible()
    page.evaluate("place => document.querySelector('kafka-run[part=sequence]').go(place)", frame)
    expect(picture.locator(".now")).to_contain_text(frame)
    picture.focus()
    return picture


def shows(page: Page, walk: Locator, scenario: Scenario) -> None:
    """The picture shows this run, of which it has a link if a press has made it."""
    events = len(Journey(scenario).payload["events"])
    expect(walk).to_have_attribute("data-events", str(events))
    link = page.locator(WALK).locator("a.here")
    link.dispatch_event("pointerenter")
    told = f"run.html#run={code_of(scenario)}&" if scenario.faults else "#walk@"
    expect(link).to_have_attribute("href", re.compile(re.escape(told)))


def test_a_stored_fault_undo_and_redo_need_no_python(address: str, page: Page, console_errors: list[str]) -> None:
    asked: list[str] = []
    page.context.on("request", lambda request: asked.append(request.url))
    walk = walk_at(page, f"{address}{LAB}", "EndTxn#1")
    struck = replace(lab03(), faults=(Drop("EndTxn#1"),))
    for key, scenario in (("d", struck), ("z", lab03()), ("y", struck)):
        page.keyboard.press(key)
        shows(page, walk, scenario)
    expect(walk.locator(".now")).to_contain_text("EndTxn#1 is lost")
    assert [url for url in asked if "futures" in url] != []
    assert [url for url in asked if "python" in url or "pyodide" in url] == []
    assert console_errors == []


@contextmanager
def hold(page: Page, name: str = "library.packed") -> Iterator[None]:
    """While the block runs, one of Python's files does not come."""
    routes: list[Route] = []
    page.context.route(f"**/{name}", lambda route: routes.append(route))
    yield
    for route in routes:
        route.continue_()
    page.context.unroute(f"**/{name}")


def test_while_python_loads_the_picture_steps_and_the_press_is_kept(
    address: str, page: Page, console_errors: list[str]
) -> None:
    walk = walk_at(page, f"{address}{LAB}", "EndTxn#1")
    step = int(walk.get_attribute("data-step") or 0)
    with hold(page):
        page.keyboard.press("3")
        expect(page.locator(BAR)).to_contain_text("Python is loading, once")
        expect(page.locator(f"{BAR} progress")).to_be_visible()
        page.keyboard.press("ArrowLeft")
        expect(walk).not_to_have_attribute("data-step", str(step))
    shows(page, walk, replace(lab03(), faults=(Crash("b3", at_step=step),)))
    expect(page.locator(BAR)).to_be_hidden()
    page.keyboard.press("z")
    shows(page, walk, lab03())
    expect(walk).to_have_attribute("data-place", "0")
    assert console_errors == []


def test_a_second_press_is_made_on_top_of_a_stored_one(address: str, page: Page) -> None:
    walk = walk_at(page, f"{address}{LAB}", "EndTxn#1")
    here = Journey(lab03())
    here.press("find", "EndTxn#1")
    page.keyboard.press("d")
    here.press("drop")
    shows(page, walk, here.scenario)
    page.keyboard.press("1")
    here.press("crash", "b1")
    shows(page, walk, here.scenario)
    page.keyboard.press("z")
    here.press("undo")
    shows(page, walk, here.scenario)


def test_python_is_stopped_and_the_next_press_starts_it_again(address: str, page: Page) -> None:
    walk = walk_at(page, f"{address}{LAB}", "EndTxn#1")
    page.keyboard.press("d")
    walk.locator('[data-action="what_if"]').click()
    expect(page.locator(BAR)).to_contain_text("Python is at work")
    page.locator(BAR).get_by_role("button", name="stop").click()
    expect(walk.locator(".whatif")).to_contain_text("Stopped. The run that was shown before is still there.")
    expect(page.locator(BAR)).to_be_hidden()
    walk.locator('[data-action="what_if"]').click()
    walk.focus()
    struck = replace(lab03(), faults=(Drop("EndTxn#1"),))
    shows(page, walk, struck)
    step = int(walk.get_attribute("data-step") or 0)
    page.keyboard.press("1")
    shows(page, walk, replace(struck, faults=(*struck.faults, Crash("b1", at_step=step))))


@pytest.mark.parametrize("lacking", ["WebAssembly", "Worker"])
def test_a_browser_that_cannot_run_python_is_told_and_steps(address: str, page: Page, lacking: str) -> None:
    page.add_init_script(f"delete window.{lacking}")
    walk = walk_at(page, f"{address}{LAB}", "EndTxn#1")
    page.keyboard.press("1")
    expect(walk.locator(".now")).to_contain_text("This browser cannot run Python")
    page.keyboard.press("d")
    shows(page, walk, replace(lab03(), faults=(Drop("EndTxn#1"),)))


def test_where_python_does_not_come_it_is_said_and_the_next_press_tries_again(address: str, page: Page) -> None:
    walk = walk_at(page, f"{address}{LAB}", "EndTxn#1")
    step = int(walk.get_attribute("data-step") or 0)
    page.context.route("**/kafkalab.packed", lambda route: route.abort())
    page.keyboard.press("1")
    expect(walk.locator(".now")).to_contain_text("The picture goes on stepping; the next press tries again.")
    page.context.unroute("**/kafkalab.packed")
    page.keyboard.press("1")
    shows(page, walk, replace(lab03(), faults=(Crash("b1", at_step=step),)))


def expect_opened(page: Page, scenario: Scenario) -> None:
    """The page that opens runs shows this one, which is that of this Python."""
    digest = Cluster(scenario).run().digest()
    expect(page.locator("kafka-opened .klab.share")).to_contain_text(f"digest {digest}")
    expect(page.locator("kafka-opened .klab.sequence")).to_be_visible()


@pytest.mark.smoke
def test_a_code_opens_the_run_of_this_python_and_nobody_else_is_asked(
    address: str, page: Page, console_errors: list[str]
) -> None:
    asked: set[str] = set()
    page.context.on("request", lambda request: asked.add(re.sub(r"^(blob:)?(\w+://[^/]*/).*", r"\2", request.url)))
    broken = replace(lab03(), faults=(Drop("EndTxnResponse#1"), Crash("b3", at_step=120)))
    page.goto(f"{address}run.html#run={code_of(broken)}&step=130")
    expect_opened(page, broken)
    expect(page.locator(".klab.sequence")).to_have_attribute("data-step", "130")
    assert asked == {address}
    for name in ("Logs", "States", "Cluster", "Client", "Costs"):
        page.get_by_role("button", name=name, exact=True).click()
    expect(page.locator("kafka-opened .klab")).to_have_count(7)
    assert console_errors == []


def test_every_run_of_every_lab_is_that_of_this_python(address: str, page: Page, console_errors: list[str]) -> None:
    page.goto(f"{address}run.html")
    for make in names().values():
        try:
            scenario = make()
            code = code_of(scenario)
        except (TypeError, ValueError, AttributeError):
            continue
        page.evaluate("code => { location.hash = `run=${code}`; }", code)
        expect_opened(page, scenario)
    assert console_errors == []


def test_an_address_that_names_nothing_is_told_and_the_run_stays(address: str, page: Page) -> None:
    page.goto(f"{address}run.html#lab=lab00&at=ProduceResponse%231")
    expect_opened(page, lab00())
    expect(page.locator(".klab.sequence .now")).to_contain_text("ProduceResponse#1")
    page.locator("kafka-opened .open input").fill("K1-NO")
    page.keyboard.press("Enter")
    expect(page.locator("kafka-opened > .told")).to_contain_text("K1")
    expect_opened(page, lab00())


def test_a_challenge_counts_presses_and_gives_the_line_to_hand_in(address: str, page: Page) -> None:
    find = Challenge(scenario=lab00(), find=("duplicate",), most=2)
    page.goto(f"{address}run.html")
    page.locator("kafka-opened .open input").fill(find.code)
    page.keyboard.press("Enter")
    expect(page.locator(".challenge pre")).to_contain_text("Find duplicate in at most 2 presses")
    page.get_by_label("Your name").fill("Ada")
    page.get_by_role("button", name="Hand in").click()
    expect(page.locator(".challenge output")).to_have_text("There is no press in it.")
    page.evaluate("document.querySelector('kafka-run[part=sequence]').go('ProduceResponse#1')")
    page.locator(".klab.sequence").press("d")
    expect(page.locator(".klab.sequence")).to_have_attribute("data-place", "1")
    page.get_by_role("button", name="Hand in").click()
    expect(page.locator(".challenge output")).to_contain_text("You found duplicate in 1 press")
    assert re.search(r"^\s*T\d-[0-9A-Z-]+$", page.locator(".challenge output").inner_text(), re.M)


def test_it_needs_no_storage(address: str, page: Page, console_errors: list[str]) -> None:
    deny = "Object.defineProperty(window, '{}', {{ get() {{ throw new DOMException('denied', 'SecurityError'); }} }});"
    page.add_init_script("".join(deny.format(name) for name in ("indexedDB", "caches")))
    page.goto(f"{address}run.html#lab=lab03")
    expect_opened(page, lab03())
    assert console_errors == []


def test_what_python_loads_is_below_8_mb_compressed(site: Path, address: str, page: Page) -> None:
    loaded: set[str] = set()
    walk = walk_at(page, f"{address}{LAB}", "EndTxn#1")
    page.context.on("request", lambda request: loaded.add(request.url.partition("#")[0]))
    page.keyboard.press("1")
    expect(walk).to_have_attribute("data-place", "1")
    named = {url.removeprefix(address) for url in loaded if url.startswith("http")}
    assert {"_static/python/library.packed", f"{PYTHON.as_posix()}/pyodide.asm.wasm"} <= named
    assert sum(len(gzip.compress((site / name).read_bytes(), 6)) for name in named) < MOST_BYTES
