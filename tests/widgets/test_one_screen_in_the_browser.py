"""Each lab's sequence is on one screen: diagram, every log, states, sentence and controls, at the sizes of a lab."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from playwright.sync_api import Page, expect

import kafkalab
from kafkalab.widgets.views.sequence import Sequence
from tests.widgets.frames import fit, wait_until_drawn
from tests.widgets.live import Live
from tests.widgets.screens import open_view

pytestmark = pytest.mark.browser

LABS = ("lab00", "lab01", "lab02", "lab03", "lab05", "lab06")
SIZES = {
    "1280x800, file browser open": (1280, 800, 848, 679, "laptop"),
    "1280x800": (1280, 800, 1100, 679, "laptop"),
    "1920x1080, projector": (1920, 1080, 1740, 940, "projector"),
    "1024x768, file browser open": (1024, 768, 592, 647, "laptop"),
}
"""Of each screen: its width and height, the width of a notebook's output there, the height that JupyterLab leaves."""
PARTS = (".bar", ".told", ".lanes", ".scroll", ".frame", ".states", ".logs", ".strip", ".pins", ".held", ".rail svg")
MEASURE = """parts => {
  const root = document.querySelector(".klab"), frame = root.getBoundingClientRect(), found = { height: frame.height };
  found.outside = parts.flatMap((part) => [...root.querySelectorAll(part)].flatMap((e) => {
    if (!e.checkVisibility()) return [];
    const box = e.getBoundingClientRect();
    const inside = box.top >= frame.top && box.bottom <= frame.bottom && box.right <= frame.right + 1;
    return inside && box.width >= 0 ? [] : [[part, e.textContent.slice(0, 30), box.bottom - frame.bottom]];
  }));
  found.diagram = root.querySelector(".scroll").clientHeight;
  found.part = root.querySelector(".diagram").clientHeight / root.clientHeight;
  const seen = root.querySelector(".scroll").getBoundingClientRect();
  found.rows = [...root.querySelectorAll("rect.hit")].filter((e) => e.getBoundingClientRect().top >= seen.top).length;
  const logs = root.querySelector(".logs"), bar = root.querySelector(".bar"), lane = root.querySelector(".lane");
  found.cut = [logs.scrollHeight - logs.clientHeight, bar.scrollWidth - bar.clientWidth];
  found.strips = root.querySelectorAll(".strip").length;
  found.lane = lane.clientHeight / parseFloat(getComputedStyle(root).fontSize);
  const hidden = [...root.querySelectorAll(".grid")].map((g) => {
    const last = [...g.querySelectorAll(".cell")].at(-1);
    return last ? Math.round(last.getBoundingClientRect().right - g.getBoundingClientRect().right) : 0;
  });
  found.newest = Math.max(0, ...hidden);
  return found;
}"""


def open_lab_view(page: Page, lab: str, size: str) -> Sequence:
    """The lab's sequence in an output of that size."""
    wide, high, room, _, kind = SIZES[size]
    page.set_viewport_size({"width": wide, "height": high})
    page.emulate_media(reduced_motion="reduce")
    view = Sequence(getattr(kafkalab, lab)(), size=kind)
    open_view(page, view, size=kind)
    fit(page, room)
    return view


@pytest.mark.smoke
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("lab", LABS)
def test_a_labs_sequence_is_on_one_screen(page: Page, lab: str, size: str) -> None:
    view = open_lab_view(page, lab, size)
    places = view.journey.stops()
    steps = (places[0], places[len(places) // 3], places[2 * len(places) // 3], places[-1])
    for step, internal in itertools.product(steps, (False, True)):
        page.evaluate("step => journey.set('step', step)", step)
        if (page.locator("[data-action=internal][aria-pressed=true]").count() > 0) != internal:
            page.keyboard.press("l")
        seen: dict[str, Any] = page.evaluate(MEASURE, list(PARTS))
        assert seen["outside"] == []
        assert seen["cut"] == [0, 0]
        assert seen["height"] <= min(SIZES[size][3], 600 if size.startswith("1280") else 10_000)
        assert seen["diagram"] > 150
        assert seen["strips"] == len(view.payload["partitions"])
        assert seen["lane"] < 2.2
        assert seen["newest"] <= 1


@pytest.mark.parametrize("size", ["1280x800, file browser open", "1920x1080, projector"])
def test_in_lab_3_the_diagram_has_half_of_the_height_and_ten_rows_and_internal_logs_fold_away(
    page: Page, size: str
) -> None:
    view = open_lab_view(page, "lab03", size)
    internal = [p for p in view.payload["partitions"] if p.startswith("__")]
    assert len(internal) > 1
    sent = view.payload["frames"]["EndTxn#1"]["sent"]
    page.evaluate("step => journey.set('step', step)", sent)
    wait_until_drawn(page)
    seen: dict[str, Any] = page.evaluate(MEASURE, list(PARTS))
    assert seen["part"] > (0.5 if size.startswith("1280") else 0.45)
    assert seen["rows"] >= 10
    shown = page.locator(".strip.internal:visible")
    expect(shown).to_have_count(0)
    decided = next(e for e in view.payload["events"] if e["step"] > sent and e["kind"] == "append")
    page.evaluate("step => journey.set('step', step)", decided["step"])
    expect(shown).to_have_count(1)
    assert f"{decided['name']}@" in f"{shown.get_attribute('data-partition')}@"
    page.evaluate("step => journey.set('step', step)", sent)
    page.locator("[data-action=internal]").click()
    expect(shown).to_have_count(len(internal))
    page.keyboard.press("Home")
    expect(shown).to_have_count(len(internal))


@pytest.mark.parametrize("lab", LABS)
def test_on_a_phone_the_lanes_heads_do_not_overlap_and_nothing_is_wider_than_the_screen(page: Page, lab: str) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    view = Sequence(getattr(kafkalab, lab)())
    open_view(page, view)
    heads = page.locator(".lane > b").evaluate_all(
        "all => all.map((e) => [e.getBoundingClientRect().left, e.getBoundingClientRect().right])"
    )
    assert all(one[1] <= other[0] + 1 for one, other in itertools.pairwise(heads)), heads
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.locator(".scroll").evaluate("e => e.clientHeight") > 250


PHONE = """() => {
  const root = document.querySelector(".klab"), edge = root.getBoundingClientRect();
  const parts = ".bar button, .travel button, .told, .judged, .found, .found > *, .chips > *";
  const box = (e) => e.getBoundingClientRect();
  const wide = [...root.querySelectorAll(parts)]
    .filter((e) => e.offsetWidth && !e.closest(".contents, .filter, .ticks"))
    .filter((e) => box(e).right > edge.right + 1 || box(e).left < edge.left)
    .map((e) => [e.className, e.textContent.slice(0, 30)]);
  return { wide, scroll: root.parentElement.scrollWidth - root.parentElement.clientWidth,
    heads: [...root.querySelectorAll(".lane > b")].map((e) => e.textContent) };
}"""
"""In the picture: what is cut at its edges, how much wider its content is, and the lanes' heads."""


def test_on_a_phone_in_jupyterlab_the_controls_verdict_and_names_of_brokers_are_whole(page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    view = Sequence(kafkalab.lab00())
    view.press("drop", "ProduceResponse#1")
    view.press("end")
    live = Live(page, view)
    fit(page, 258, "#w0")  # what its side bars leave
    live.settle()
    expect(page.locator('[data-action="finding"]')).to_have_text("duplicate, allowed")
    seen: dict[str, Any] = page.evaluate(PHONE)
    assert seen["wide"] == []
    assert seen["scroll"] <= 0
    assert seen["heads"] == ["shop", "kitchen", "b1", "b2", "b3"]


def test_on_a_phone_a_finding_with_a_long_name_is_whole(page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    view = Sequence(kafkalab.lab17())
    view.press("end")
    live = Live(page, view)
    fit(page, 354, "#w0")  # what the book leaves
    live.settle()
    chip = page.locator('[data-action="finding"]')
    expect(chip).to_have_text("exactly-once, unknown")
    cut = "e => e.closest('.judged').getBoundingClientRect().left - e.getBoundingClientRect().left"
    assert chip.evaluate(cut) <= 0


def test_a_chapter_with_the_name_of_an_error_leaves_the_sentence_alone(page: Page) -> None:
    view = open_lab_view(page, "lab01", "1280x800, file browser open")
    view.press("drop", "Produce#2")
    open_view(page, view, size="laptop")
    fit(page, 848)
    chapter = next(c for c in view.payload["chapters"] if c["name"] == "OUT_OF_ORDER_SEQUENCE_NUMBER")
    page.evaluate("step => journey.set('step', step)", chapter["step"])
    shown = page.locator(".chapter")
    assert shown.inner_text().replace("\n", "") == chapter["name"]
    assert shown.evaluate("e => [e.scrollWidth - e.clientWidth, e.scrollHeight - e.clientHeight]") == [0, 0]


NAMED = """() => {
  const box = (e) => e.getBoundingClientRect(), edge = box(document.querySelector(".ticks"));
  const ticks = [...document.querySelectorAll(".tick")], names = ticks.map((e) => e.querySelector("span"));
  const seen = names.filter((e) => e.offsetWidth).map(box).sort((a, b) => a.left - b.left);
  return {
    at: ticks.findIndex((e) => e.hasAttribute("aria-current")),
    named: names.flatMap((e, i) => (e.offsetWidth ? [i] : [])),
    apart: seen.every((one, i) => !i || one.left >= seen[i - 1].right),
    inside: seen.every((one) => one.left >= edge.left - 1 && one.right <= edge.right + 2),
  };
}"""
"""The chapter at the cursor, the chapters whose names are on the slider, and whether they are whole."""


@pytest.mark.parametrize("lab", LABS)
def test_the_chapter_at_the_cursor_and_its_neighbours_have_their_whole_names_on_the_slider(
    page: Page, lab: str
) -> None:
    view = open_lab_view(page, lab, "1280x800, file browser open")
    count = len(view.payload["chapters"])
    for step in view.journey.stops():
        page.evaluate("step => journey.set('step', step)", step)
        seen: dict[str, Any] = page.evaluate(NAMED)
        beside = {i for i in (seen["at"] - 1, seen["at"], seen["at"] + 1) if 0 <= i < count}
        assert beside <= set(seen["named"]), step
        assert seen["apart"], step
        assert seen["inside"], step


def test_the_word_dropped_is_not_below_the_chip_of_the_fault_whose_row_has_a_time(page: Page) -> None:
    size = "1024x768, file browser open"
    open_lab_view(page, "lab03", size)
    view = Sequence(kafkalab.lab03(), size="laptop")
    view.press("drop", "EndTxn#1")
    open_view(page, view, size="laptop")
    fit(page, SIZES[size][2])
    fault = next(e for e in view.payload["events"] if e["kind"] == "fault")
    before = [s for s in view.journey.stops() if s < fault["step"]][-1]
    assert view.payload["events"][before]["at"] == fault["at"]  # or its row would have a time in any case
    for step in (fault["step"], next(s for s in view.journey.stops() if s > fault["step"])):
        page.evaluate("step => journey.set('step', step)", step)
        word, chip = page.locator(".arrow.dropped .name.bad"), page.locator(f'.mark[data-event="{fault["step"]}"] rect')
        expect(word).to_have_text("dropped")
        bottom = word.evaluate("e => e.getBoundingClientRect().bottom - parseFloat(getComputedStyle(e).fontSize) * 0.2")
        assert bottom <= chip.evaluate("e => e.getBoundingClientRect().top") + 1
        expect(page.locator(f'[data-go="{fault["step"]}"] .time')).to_have_count(1)
