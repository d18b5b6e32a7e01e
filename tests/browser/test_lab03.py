"""Lab 03 as a learner works it: opened in JupyterLab, run, walked by keyboard, broken by a press, undone."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from kafkalab import lab03
from kafkalab.faults.fault import Fault
from kafkalab.faults.frame import Drop
from kafkalab.faults.node import Crash
from kafkalab.sim.cluster import Cluster
from kafkalab.widgets.payload.payload import payload_of
from kafkalab.widgets.payload.text import Payload, batch_outcome, replay, stops
from kafkalab.widgets.payload.tour import walk, with_walk
from tests.browser.conftest import empty_page

pytestmark = pytest.mark.browser

SHOWN = ("transaction", "verification")
CELLS_AT_MOST = 30
SHOTS = Path(__file__).parent / "screenshots"
SCRIPTS = Path(__file__).parents[2] / "pictures" / "src"


def payload_with(*faults: Fault) -> Payload:
    cluster = Cluster(lab03().with_faults(*faults))
    cluster.run()
    return with_walk(payload_of(cluster))


def walk_to_picture(page: Page) -> Locator:
    """Run cells with Shift+Enter until the first picture is there; it stands in view."""
    widget = page.locator(".klab.sequence[data-step]")
    page.locator(".jp-Notebook .jp-Cell h1").first.click()  # not on a link below it
    for _ in range(CELLS_AT_MOST):
        page.keyboard.press("Shift+Enter")
        page.wait_for_timeout(300)
        if widget.count():
            break
    widget.first.wait_for()
    expect(page.locator("#jp-bottom-panel")).to_contain_text("| Idle")
    widget.first.scroll_into_view_if_needed()
    return widget.first


@pytest.fixture(scope="module")
def console_errors() -> list[str]:
    """The errors of the page that all tests here share."""
    return []


@pytest.fixture(scope="module")
def page(browser: Browser, console_errors: list[str]) -> Iterator[Page]:
    """One page for all tests: to open the lab takes longer than most of them."""
    with empty_page(browser, console_errors) as page:
        yield page


@pytest.fixture
def widget(page: Page, open_lab: Callable[[str], Page], console_errors: list[str]) -> Locator:
    """The first picture of lab 03, as a learner gets it: cell by cell from the top.

    A test that leaves the lab's own run in it, whatever the cursor's place, leaves it to the next one.
    """
    console_errors.clear()
    there = page.locator(".klab.sequence[data-step]").first
    if there.count() and there.get_attribute("data-stop-count") == str(len(walk(payload_with(), SHOWN))):
        return there
    return walk_to_picture(open_lab("03_a_full_commit"))


def screen(widget: Locator) -> dict[str, object]:
    """Return what stands on the screen, read from the page."""
    return dict(
        widget.evaluate(
            """root => {
              const text = (selector) => Object.fromEntries([...root.querySelectorAll(selector)].map(
                (e) => [e.dataset.hw ?? e.dataset.lso, Number(e.textContent)]));
              const strips = [...root.querySelectorAll("[data-partition]")].map((strip) => [strip.dataset.partition,
                [...strip.querySelectorAll("[data-batch]")].map((b) =>
                  [Number(b.dataset.batch), Number(b.dataset.last), b.dataset.kind, b.dataset.fate])]);
              return {step: Number(root.dataset.step), stops: Number(root.dataset.stopCount),
                state: root.querySelector("[data-txn-state]")?.dataset.txnState ?? "",
                hw: text("[data-hw]"), lso: text("[data-lso]"), logs: Object.fromEntries(strips),
                down: [...root.querySelectorAll("[data-life=down]")].map((e) => e.dataset.node)};
            }"""
        )
    )


def twin(payload: Payload, step: int) -> dict[str, object]:
    """The same, from the text twin's fold."""
    shown = replay(payload, step)
    strips = {p: shown.strip(p) for p in payload["partitions"]}
    states = [t["state"] for t in shown.transactions.values()]
    return {
        "step": step,
        "stops": len(walk(payload, SHOWN)),
        "state": states[0] if states else "",
        "hw": {p: mark for p, (_, _, mark, _) in strips.items()},
        "lso": {p: stable for p, (_, _, _, stable) in strips.items()},
        "logs": {
            p: [[b["base"], b["last"], b["kind"], batch_outcome(batches, i)] for i, b in enumerate(batches)]
            for p, (_, batches, _, _) in strips.items()
        },
        "down": [n for n, state in shown.nodes.items() if state == "down"],
    }


def go_to(page: Page, widget: Locator, payload: Payload, step: int) -> None:
    """Home, then as many frames forward as it takes."""
    places = stops(payload, SHOWN)
    page.keyboard.press("Home")
    for _ in range(places.index(step)):
        page.keyboard.press(".")
    expect(widget).to_have_attribute("data-step", str(step))


def test_the_screen_equals_the_text_twin_on_the_whole_walk_and_back(
    widget: Locator, page: Page, console_errors: list[str]
) -> None:
    payload = payload_with()
    places = walk(payload, SHOWN)
    widget.focus()
    page.keyboard.press("Home")
    for step in places:
        expect(widget).to_have_attribute("data-step", str(step))
        assert screen(widget) == twin(payload, step)
        page.keyboard.press("ArrowRight")
    expect(widget.locator("[data-txn-state]").first).to_have_text("CompleteCommit")
    for step in reversed(places):
        expect(widget).to_have_attribute("data-step", str(step))
        page.keyboard.press("ArrowLeft")
    assert screen(widget) == twin(payload, places[0])
    page.keyboard.press("End")
    assert screen(widget) == twin(payload, places[-1])
    assert console_errors == []


def test_dropping_a_frame_gives_a_new_future_and_undo_the_old_one(
    widget: Locator, page: Page, console_errors: list[str]
) -> None:
    before, after = payload_with(), payload_with(Drop("EndTxn#1"))
    step = before["frames"]["EndTxn#1"]["sent"]
    widget.focus()
    go_to(page, widget, before, step)
    widget.locator('[data-action="drop"]').click()
    expect(widget).to_have_attribute("data-stop-count", str(len(walk(after, SHOWN))))
    assert payload_matches(widget, after)
    page.keyboard.press("End")
    assert screen(widget) == twin(after, stops(after, SHOWN)[-1])
    SHOTS.mkdir(exist_ok=True)
    page.screenshot(path=SHOTS / "lab03_dropped.png")
    widget.locator('[data-action="undo"]').click()
    expect(widget).to_have_attribute("data-stop-count", str(len(walk(before, SHOWN))))
    assert console_errors == []


def payload_matches(widget: Locator, payload: Payload) -> bool:
    """Return True if the screen shows this run at the step at which it stands."""
    step = int(widget.get_attribute("data-step") or -1)
    return screen(widget) == twin(payload, step)


def test_crashing_the_coordinator_moves_its_role_and_the_transaction_still_commits(
    widget: Locator, page: Page, console_errors: list[str]
) -> None:
    before = payload_with()
    step = before["frames"]["EndTxnResponse#1"]["sent"]
    after = payload_with(Crash("b3", at_step=step))
    widget.focus()
    go_to(page, widget, before, step)
    widget.locator('[data-action="crash"][data-target="b3"]').click()
    expect(widget).to_have_attribute("data-stop-count", str(len(walk(after, SHOWN))))
    widget.focus()
    page.keyboard.press("End")
    assert screen(widget) == twin(after, stops(after, SHOWN)[-1])
    expect(widget.locator('[data-node="b1"]')).to_contain_text("TC")
    expect(widget.locator("[data-txn-state]").first).to_have_text("CompleteCommit")
    page.screenshot(path=SHOTS / "lab03_crashed.png")
    widget.locator('[data-action="undo"]').click()
    expect(widget).to_have_attribute("data-stop-count", str(len(walk(before, SHOWN))))
    assert console_errors == []


def test_a_frame_that_has_arrived_cannot_be_dropped_and_the_button_says_why(widget: Locator, page: Page) -> None:
    payload = payload_with()
    widget.focus()
    go_to(page, widget, payload, stops(payload, SHOWN)[0])
    drop = widget.locator('[data-action="drop"]')
    assert drop.get_attribute("aria-disabled") == "true" or drop.is_disabled()
    assert drop.get_attribute("title")


def test_stepping_goes_on_while_a_cell_runs_and_nothing_moves_the_cursor_back_afterwards(
    open_lab: Callable[[str], Page], page: Page
) -> None:
    widget = walk_to_picture(open_lab("03_a_full_commit"))  # anew, with the keyboard at the cell below it
    places = walk(payload_with(), SHOWN)
    for key in ("Escape", "a", "Enter"):
        page.keyboard.press(key)
    page.keyboard.type("import time; time.sleep(4)")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#jp-bottom-panel")).to_contain_text("| Busy")
    widget.focus()
    page.keyboard.press("Home")
    for place in range(1, 9):
        page.keyboard.press("ArrowRight")
        page.wait_for_timeout(450)  # longer than the pause after which the kernel is told
        expect(widget).to_have_attribute("data-step", str(places[place]), timeout=1_000)
    expect(page.locator("#jp-bottom-panel")).to_contain_text("| Idle")
    page.wait_for_timeout(1_000)
    expect(widget).to_have_attribute("data-step", str(places[8]))


# Press the key so many times; give back each step that the picture shows meanwhile and until the kernel's last answers.
PRESS_EVERY = """
(root, [times, pause]) => new Promise(resolve => {
  const shown = [], watch = new MutationObserver(() => {
    const step = Number(root.dataset.step);
    if (step !== shown.at(-1)) shown.push(step);
  });
  watch.observe(root, {attributeFilter: ["data-step"]});
  const timer = setInterval(() => {
    if (!times--) { clearInterval(timer); setTimeout(() => { watch.disconnect(); resolve(shown); }, 1000); return; }
    root.dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowRight", bubbles: true, cancelable: true}));
  }, pause);
})
"""


@pytest.mark.parametrize("later_ms", [4, 15])
def test_what_the_kernel_says_of_an_earlier_step_never_moves_the_cursor_back(widget: Locator, later_ms: int) -> None:
    """The kernel is told of a step after a pause; the next key comes just before its answer does."""
    scripts = "".join(path.read_text(encoding="utf-8") for path in SCRIPTS.glob("*.[jt]s"))
    (save_ms,) = map(int, re.findall(r"\bSAVE_MS = (\d+)", scripts))
    places = stops(payload_with(), SHOWN)
    widget.focus()
    widget.press("e")
    widget.press("Home")
    expect(widget).to_have_attribute("data-step", str(places[0]))
    shown = widget.evaluate(PRESS_EVERY, [20, save_ms + later_ms])
    expect(widget).to_have_attribute("data-step", str(places[20]))
    assert shown == places[1:21]
    widget.press("e")  # as before
