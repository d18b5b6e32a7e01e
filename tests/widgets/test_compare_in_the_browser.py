"""Two runs side by side in Chromium: rows and states on the screen are those of the text twin, at each row."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from kafkalab import lab01, lab03
from kafkalab.faults.frame import Drop
from kafkalab.protocol.rules import DEDUPLICATION, EPOCH_PER_TRANSACTION
from kafkalab.sim.scenario import Scenario
from kafkalab.widgets.model.findings import ALL_KEPT
from kafkalab.widgets.views.compare import Compare
from tests.widgets.frames import fit
from tests.widgets.live import Live
from tests.widgets.test_compare import long_run
from tests.widgets.test_one_screen_in_the_browser import SIZES

pytestmark = pytest.mark.browser
DATA = Path(__file__).parents[2] / "data"
SEEN = """() => {
  const pair = (e) => [e.querySelector("i").textContent, e.dataset.left, e.dataset.right];
  return {
    rows: [...document.querySelectorAll(".columns .pair")].map((e) => [Number(e.dataset.row), ...pair(e)]),
    state: [...document.querySelectorAll(".below .pair")].map(pair),
    current: Number(document.querySelector('.columns [aria-current="true"]').dataset.row),
    names: [...document.querySelectorAll(".names .run")].map((e) => e.textContent),
    verdicts: [...document.querySelectorAll(".names .verdict")].map((e) => [e.textContent, e.title]),
  };
}"""


def same(page: Page, compare: Compare) -> None:
    """Rows, states and cursor on the screen are those of the text twin."""
    seen = page.evaluate(SEEN)
    assert (seen["current"], seen["names"]) == (compare.row, compare.names)
    columns = {i: [i, sign, a.strip(), b.strip()] for i, sign, a, b in compare.columns()}
    assert seen["rows"]
    assert all(row == columns[row[0]] for row in seen["rows"])
    wanted = [["=" if a == b else "≠", a, b] for a, b in compare.state()]
    assert seen["state"] == wanted
    told = [
        f"{name}: {words}. {more.removeprefix(ALL_KEPT).strip()}"
        for name, (words, more) in zip(seen["names"], seen["verdicts"], strict=True)
    ]
    assert told == compare.verdict_lines()
    first = compare.first_difference()[0]
    expect(page.locator(".compare .now")).to_have_text(first)


@pytest.mark.smoke
@pytest.mark.parametrize("which", ["fault", "rule", "profile", "same", "long"])
def test_each_row_shows_what_the_text_says(page: Page, which: str, console_errors: list[str]) -> None:
    compare = {
        "fault": lambda: Compare(lab03(), lab03().with_faults(Drop("EndTxn#1"))),
        "rule": lambda: Compare.rule(lab03(), EPOCH_PER_TRANSACTION),
        "profile": lambda: Compare.profiles(lab03(), size="projector"),
        "long": lambda: Compare(long_run(1), long_run(2)),
        "same": lambda: Compare(lab03(), lab03()),
    }[which]()
    Live(page, compare)
    page.locator(".compare").focus()
    page.wait_for_function("!document.querySelector('.verdict').textContent.includes('looking')")
    same(page, compare)
    page.keyboard.press("Home")
    compare.press("home")
    for _ in range(min(len(compare.rows), 30)):
        same(page, compare)
        page.keyboard.press("ArrowRight")
        compare.press("right")
    same(page, compare)
    assert console_errors == []


ON_SCREEN = """() => {
  const frame = document.querySelector(".klab").getBoundingClientRect(), box = (e) => e.getBoundingClientRect();
  const list = box(document.querySelector(".columns"));
  const inside = (e, room) => box(e).top >= room.top - 1 && box(e).bottom <= room.bottom + 1 && box(e).right <= room.right + 1;
  const cut = (e) => e.scrollWidth > e.clientWidth + 1;
  return {
    height: frame.height,
    current: inside(document.querySelector(".columns [aria-current=true]"), list),
    differs: [...document.querySelectorAll(".columns .differs")].some((e) => inside(e, list)),
    verdicts: [...document.querySelectorAll(".verdict")].every((e) => inside(e, frame) && !cut(e)),
    logs: [...document.querySelectorAll(".below .strip, .below .held")].every((e) => inside(e, frame)),
    wrong: document.querySelectorAll(".below .wrong").length,
  };
}"""  # noqa: E501


@pytest.mark.parametrize("size", SIZES)
def test_the_point_of_difference_both_verdicts_and_the_logs_are_on_one_screen(page: Page, size: str) -> None:
    wide, high, room, most, kind = SIZES[size]
    page.set_viewport_size({"width": wide, "height": high})
    stored = Scenario.load(DATA / "rules" / "deduplication.klab")
    Live(page, Compare.rule(stored, DEDUPLICATION, size=kind))
    fit(page, room, "#w0")
    page.wait_for_function("!document.querySelector('.verdict').textContent.includes('looking')")
    texts = page.locator(".verdict").all_inner_texts()
    assert texts[0] == "✓ no promise is broken"
    assert "✕ duplicate" in texts[1]
    seen = page.evaluate(ON_SCREEN)
    assert seen.pop("height") <= min(most, 600 if size.startswith("1280") else 10_000)
    assert seen == {"current": True, "differs": True, "verdicts": True, "logs": True, "wrong": 2}
    page.keyboard.press("Home")
    page.evaluate("models.w0.set('row', 0)")
    assert page.evaluate(ON_SCREEN)["wrong"] == 0, "a finding is shown from the step on that proves it"


def test_on_a_phone_the_rows_and_the_logs_of_both_runs_are_there(page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    Live(page, Compare(lab03(), lab03().with_faults(Drop("EndTxn#1"))))
    assert page.locator(".columns").evaluate("e => e.clientHeight") > 100
    frame, below = (page.locator(name).bounding_box() for name in (".compare", ".below"))
    assert frame
    assert below
    assert below["y"] + below["height"] <= frame["y"] + frame["height"]


def test_buttons_and_clicks_move_the_cursor(page: Page) -> None:
    compare = Compare(lab03(), lab03().with_faults(Drop("EndTxn#1")))
    Live(page, compare)
    page.wait_for_function("!document.querySelector('.verdict').textContent.includes('looking')")
    for action in ("end", "left", "home", "right", "difference"):
        page.locator(f'.compare [data-action="{action}"]').click()
        compare.press(action)
        same(page, compare)
    page.locator('.columns [data-row="2"]').click()
    compare.press("goto", "2")
    same(page, compare)
    assert page.evaluate("models.w0.get('row')") == 2
    page.keyboard.press("d")
    compare.press("difference")
    same(page, compare)


def test_equal_runs_have_no_difference_to_go_to(page: Page) -> None:
    Live(page, Compare(lab03(), lab03()))
    button = page.locator('[data-action="difference"]')
    expect(button).to_have_attribute("aria-disabled", "true")
    button.click(force=True)
    expect(page.locator(".now")).to_have_text("The runs are the same to their end.")


@pytest.mark.parametrize("room", [576, 832])
def test_a_narrow_comparison_hides_no_entry_of_either_log(page: Page, room: int) -> None:
    page.set_viewport_size({"width": room + 16, "height": 800})
    Live(page, Compare.rule(lab01().with_faults(Drop("ProduceResponse#2")), DEDUPLICATION.name))
    page.locator(".klab").focus()
    page.keyboard.press("End")
    cells = page.locator(".below .differs .cell")
    assert cells.count() == 3 + 4
    hidden = """e => {
      const cell = e.getBoundingClientRect(), grid = e.closest(".grid").getBoundingClientRect();
      return cell.left < grid.left || cell.right > grid.right || cell.bottom > grid.bottom;
    }"""
    assert not any(cells.nth(i).evaluate(hidden) for i in range(cells.count()))
