"""The cluster map in Chromium: the screen is the text twin; walls, signs and envelopes stand where they should."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from kafkalab import lab00, lab02, lab03, lab17
from kafkalab.faults.cluster import AdvanceClock
from kafkalab.faults.fault import Fault
from kafkalab.faults.frame import Hold
from kafkalab.faults.link import Cut, Heal
from kafkalab.faults.node import Crash, Pause
from kafkalab.programs.groups import two_members
from kafkalab.sim.scenario import Scenario
from kafkalab.widgets.payload.payload import CATEGORIES
from kafkalab.widgets.views.cluster_map import ClusterMap
from tests.widgets.frames import fit
from tests.widgets.screens import agree, open_view, outside, too_small

pytestmark = pytest.mark.browser

NAME = "cluster-map"
DATA = Path(__file__).parents[2] / "data"
OTHERS = ("b2", "b3")
WORLDS: dict[str, tuple[Fault, ...]] = {
    "whole": (),
    "cut": (Cut("b1", OTHERS, at_step=100), AdvanceClock(40_000, at_step=150), Heal("b1", OTHERS, at_step=400)),
    "ill": (Pause("b1", at_step=100), Crash("b2", at_step=120), Hold("EndTxn#1")),
}


def test_on_a_phone_no_card_lies_on_another(page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    view = ClusterMap(lab03())
    view.press("end")
    open_view(page, view)
    fit(page, 258)  # what JupyterLab leaves
    boxes = [card.bounding_box() for card in page.locator(".node").all()]
    for i, one in enumerate(boxes):
        for other in boxes[:i]:
            assert one
            assert other
            beside = one["x"] >= other["x"] + other["width"] or other["x"] >= one["x"] + one["width"]
            assert beside or one["y"] >= other["y"] + other["height"] or other["y"] >= one["y"] + one["height"]
            assert one["height"] < 50


def test_a_table_of_a_database_has_no_row_among_the_replicas(page: Page, console_errors: list[str]) -> None:
    view = ClusterMap(lab17())
    open_view(page, view)
    agree(page, view, NAME)
    rows = page.locator("[data-partition]").evaluate_all("rows => rows.map((row) => row.dataset.partition)")
    assert rows == [partition for partition in view.payload["partitions"] if not partition.startswith("table ")]
    assert len(rows) < len(view.payload["partitions"])


@pytest.mark.parametrize("world", WORLDS)
def test_each_step_shows_what_the_text_says(page: Page, world: str, console_errors: list[str]) -> None:
    view = ClusterMap(lab03().with_faults(*WORLDS[world]))
    open_view(page, view)
    for key in ["ArrowRight"] * (len(view.journey.stops()) - 1) + ["ArrowLeft"] * 12:
        page.keyboard.press(key)
        agree(page, view, NAME)
        flying = [line.split(": ")[1] for line in view.text().split("\n") if line.startswith("  in flight")]
        drawn = page.evaluate("[...document.querySelectorAll('.flight text')].map((e) => e.textContent).join(' ')")
        assert all(frame in drawn for frame in flying[:1])
    assert page.evaluate("window.outside") == []
    assert console_errors == []


def test_replication_is_shown_where_the_journey_shows_it(page: Page) -> None:
    view = ClusterMap(lab03())
    view.groups = list(CATEGORIES)
    view.step = 60
    open_view(page, view)
    for _ in range(20):
        page.keyboard.press("ArrowRight")
        agree(page, view, NAME)
    view.press("hide", "ReplicaFetch")
    page.evaluate("journey.set('hidden', ['ReplicaFetch'])")
    agree(page, view, NAME)


@pytest.mark.smoke
def test_each_press_does_on_the_screen_what_it_does_in_python(page: Page) -> None:
    view = ClusterMap(lab03())
    view.step = 100
    open_view(page, view)
    keys = {
        "ArrowDown": "down",
        "ArrowUp": "up",
        "ArrowLeft": "left",
        "ArrowRight": "right",
        "Home": "home",
        "End": "end",
    }
    for key in ("ArrowDown", "ArrowDown", "ArrowUp", "ArrowRight", "ArrowDown", "ArrowLeft", "Home", "End"):
        page.keyboard.press(key)
        view.press(keys[key])
        agree(page, view, NAME)
    page.keyboard.press("a")
    view.press("node", "")
    agree(page, view, NAME)
    expect(page.locator('.bar [data-action="none"]')).to_be_disabled()


@pytest.mark.parametrize("action", ["home", "left", "right", "end"])
def test_each_button_does_what_its_press_does(page: Page, action: str) -> None:
    view = ClusterMap(lab03())
    view.step = 150
    open_view(page, view)
    agree(page, view, NAME)
    page.locator(f'.bar [data-action="{action}"]').click()
    view.press(action)
    agree(page, view, NAME)


def test_a_node_is_chosen_by_a_click_and_left_by_the_button(page: Page) -> None:
    view = ClusterMap(lab03())
    view.step = view.payload["frames"]["EndTxn#1"]["sent"]
    open_view(page, view)
    page.locator('[data-node="b3"]').click()
    view.press("node", "b3")
    agree(page, view, NAME)
    expect(page.locator(".told")).to_contain_text("coordinates payments-0 · EndTxn#1: app → b3")
    page.locator('.bar [data-action="none"]').click()
    view.press("node", "")
    agree(page, view, NAME)


def test_a_wall_stands_between_nodes_that_are_cut_and_nodes_say_how_they_are(page: Page) -> None:
    view = ClusterMap(lab03().with_faults(*WORLDS["cut"][:2], Pause("b2", at_step=151), Crash("app", at_step=152)))
    view.press("end")
    open_view(page, view)
    expect(page.locator(".wall")).to_have_count(2)
    expect(page.locator(".wall text")).to_have_text(["cut", "cut"])
    expect(page.locator('[data-node="b2"] .name')).to_have_text("‖ b2 paused")
    expect(page.locator('[data-node="app"] .name')).to_have_text("✕ app crashed")
    styles = page.evaluate(
        "['b1', 'b2', 'app'].map((n) => getComputedStyle(document.querySelector(`[data-node=${n}]`)).borderTopStyle)"
    )
    assert styles == ["solid", "dashed", "dotted"]


def test_a_frame_flies_between_its_nodes_and_one_that_is_kept_says_so(page: Page) -> None:
    view = ClusterMap(lab03().with_faults(Hold("EndTxn#1")))
    view.step = view.payload["frames"]["EndTxn#1"]["sent"]
    open_view(page, view)
    token = page.locator('[data-frame="EndTxn#1"]')
    box, app, b3 = (
        page.locator(s).bounding_box() for s in ('[data-frame="EndTxn#1"]', '[data-node="app"]', '[data-node="b3"]')
    )
    assert box is not None
    assert app is not None
    assert b3 is not None
    assert app["x"] < box["x"] < b3["x"] + b3["width"]
    page.keyboard.press("ArrowRight")
    expect(token).to_be_visible()
    expect(page.locator(".flight text")).to_have_text("EndTxn#1 · held")


@pytest.mark.parametrize(
    "scenario", [lab03(), two_members(), Scenario.load(DATA / "kafka_17754.klab")], ids=lambda s: s.title
)
def test_no_card_covers_another_at_either_size(page: Page, scenario: Scenario) -> None:
    covered = """() => {
      const cards = [...document.querySelectorAll("[data-node]")];
      const boxes = cards.map((e) => [e.dataset.node, e.getBoundingClientRect()]);
      const room = document.querySelector(".map").getBoundingClientRect();
      const over = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
      return boxes.flatMap(([n, a], i) => [
        ...boxes.slice(i + 1).filter(([, b]) => over(a, b)).map(([m]) => `${n} ${m}`),
        ...(a.left < room.left || a.right > room.right || a.top < room.top || a.bottom > room.bottom ? [n] : []),
      ]);
    }"""
    view = ClusterMap(scenario)
    view.press("end")
    for size, width, height in (("projector", 1920, 1080), ("laptop", 1280, 800)):
        page.set_viewport_size({"width": width, "height": height})
        open_view(page, view, size=size)
        assert page.evaluate(covered) == []
        assert outside(page) == []
        if size == "projector":
            assert too_small(page) == []


COVERED = """() => {
  const boxes = (all) => [...document.querySelectorAll(all)].map((e) => [e.textContent, e.getBoundingClientRect()]);
  const meet = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 2 &&
    Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 2;
  return boxes(".flight text").flatMap(([words, box]) =>
    boxes(".node").filter(([, card]) => meet(box, card)).map(([name]) => [words, name.trim().slice(0, 8)]));
}"""


@pytest.mark.parametrize("make", [lab00, lab03], ids=["lab 0", "lab 3"])
def test_no_card_covers_the_name_of_a_frame_at_a_laptops_width(page: Page, make: Callable[[], Scenario]) -> None:
    view = ClusterMap(make())
    open_view(page, view)
    fit(page, 833)
    found = []
    for step in view.journey.every_stop():
        page.evaluate("step => journey.set('step', step)", step)
        found += [(step, *one) for one in page.evaluate(COVERED)]
    assert found == []


def test_closing_leaves_no_trace(page: Page) -> None:
    open_view(page, ClusterMap(lab03()))
    page.evaluate("close_()")
    expect(page.locator(".klab")).to_have_count(0)
    assert page.evaluate("[journey, model].flatMap((m) => Object.values(m.handlers).flat()).length") == 0


def test_on_a_small_screen_every_node_is_whole_and_hides_no_other(page: Page) -> None:
    page.set_viewport_size({"width": 576, "height": 768})
    view = ClusterMap(lab00())
    view.press("end")
    open_view(page, view)
    map_, *nodes = page.evaluate("""() => [".cards", ".node"].flatMap((name) =>
      [...document.querySelectorAll(name)].map((e) => e.getBoundingClientRect().toJSON()))""")
    assert all(map_["left"] <= node["left"] and node["right"] <= map_["right"] for node in nodes)
    for i, one in enumerate(nodes):
        for other in nodes[:i]:
            apart = one["left"] >= other["right"] or other["left"] >= one["right"]
            assert apart or one["top"] >= other["bottom"] or other["top"] >= one["bottom"]


@pytest.mark.parametrize("room", [460, 848])
def test_the_label_of_a_frame_does_not_cover_its_envelope(page: Page, room: int) -> None:
    view = ClusterMap(lab02())
    view.step = view.cluster.trace.frames["InitProducerId#1"].sent_step  # two nodes near each other
    open_view(page, view)
    fit(page, room)
    label, envelope = (page.locator(f".flight {part}").bounding_box() for part in ("text", ".token path"))
    assert label
    assert envelope
    across = min(label["x"] + label["width"], envelope["x"] + envelope["width"]) - max(label["x"], envelope["x"])
    along = min(label["y"] + label["height"], envelope["y"] + envelope["height"]) - max(label["y"], envelope["y"])
    assert min(across, along) <= 0
    assert outside(page) == []
