"""The fault panel in Chromium: each button is as the kernel says, and pressing it shows what the text twin says."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from kafkalab import lab03
from kafkalab.faults.registry import BY_PRESS
from kafkalab.programs.groups import two_members
from kafkalab.protocol.rules import EPOCH_PER_TRANSACTION
from kafkalab.widgets.model.fork_tree import entry_text, in_order
from kafkalab.widgets.model.messages import sentence
from kafkalab.widgets.model.presses import why
from kafkalab.widgets.views.fault_panel import FaultPanel, label_of
from kafkalab.widgets.views.sequence import Sequence
from tests.widgets.every_press import presses as presses_of
from tests.widgets.live import Live

pytestmark = pytest.mark.browser
SEEN = """() => [...document.querySelectorAll(".fault-panel .rows button, .fault-panel .rows2 button")].map((b) => [
  b.dataset.action, b.dataset.target ?? "", b.dataset.detail ?? "", b.getAttribute("aria-description") ?? "",
  b.getAttribute("aria-disabled")])"""
AFTER = '() => [...document.querySelectorAll(".fault-panel select.after option")].map((one) => one.value)'
TREE = '() => [...document.querySelectorAll(".tree .run button")].map((b) => b.getAttribute("aria-label"))'


def about(details: dict[str, Any]) -> str:
    """Return what tells two buttons of the same action and target apart."""
    if "broker" in details:
        return str(BY_PRESS["elect"].of_press("", details, ()).detail)
    return next((name for name in ("sent", "handled") if details.get(name)), "")


def number_of(action: str, details: dict[str, Any]) -> int:
    """Return the number that the button of this action has in its field; 0 for none."""
    number = BY_PRESS[action].number
    return int(details.get(*number)) if number else 0


def compare(page: Page, panel: FaultPanel) -> None:
    """Every button on the screen has the state and the reason of the text twin; the tree is the same."""
    payload, step, text = panel.payload, panel.step, panel.text()
    seen = {(a, t, b): (reason, off) for a, t, b, reason, off in page.evaluate(SEEN)}
    for _, row in panel.groups_of_buttons():
        for action, target, details in row:
            reason = why(payload, step, action, target, **details)
            found = seen[action, target, about(details)]
            expected = (sentence(ValueError(reason)) if reason else "", str(bool(reason)).lower())
            assert found == expected, (action, target)
            label = label_of(action, details)
            assert (f"  - {label}: {reason}" if reason else f"  [{label}]") in text
    offered_here = {(a, t, about(d)) for _, row in panel.groups_of_buttons() for a, t, d in row}
    more = set(seen) - offered_here
    assert all(a in ("reorder", "late") or t == "pair" for a, t, _ in more), more
    frame = next((t for a, t, _ in more if a == "reorder"), "")
    for after in page.evaluate(AFTER):
        assert is_offered(payload, "reorder", frame, {"after": after}), (frame, after)
    assert page.evaluate(TREE) == ["Run " + entry_text(e) for _, e in in_order(panel.journey.tree)]
    assert payload["events"][step]["text"] in page.locator(".fault-panel .now").inner_text()


def is_offered(payload: dict[str, Any], action: str, target: str, details: dict[str, Any]) -> bool:
    """Return True if the panel has this button: none for the controller's process, or after a frame sent earlier."""
    if name := BY_PRESS[action].other:
        frames, other = payload["frames"], details[name]
        return not frames[other]["copy_of"] and bool(frames[other]["sent"] > frames[target]["sent"])
    return target != "controller" or action in ("cut", "heal")


@pytest.mark.smoke
def test_the_browser_gives_the_reasons_that_the_kernel_gives(page: Page, console_errors: list[str]) -> None:
    for scenario in (lab03(), lab03("1.0"), two_members()):
        panel, random = FaultPanel(scenario), Random(3)
        for action, target in (("hold", "EndTxn#1"), ("crash", "b1"), ("cut", "b2|b3")):
            panel.step = random.randrange(len(panel.payload["events"]))
            if not panel.possible(action, target):
                panel.press(action, target)
        tried = page.context.new_page()
        Live(tried, panel)
        for step in random.sample(range(len(panel.payload["events"])), 25):
            pressed = [press for press in presses_of(panel.payload, random) if is_offered(panel.payload, *press)]
            asked = [[step, a, t, number_of(a, d) or about(d)] for a, t, d in pressed]
            told = tried.evaluate("(asked) => asked.map((press) => w0.whyPress(w0.runOf(models.j0), ...press))", asked)
            assert told == [why(panel.payload, step, a, t, **d) for a, t, d in pressed], json.dumps(asked)
        tried.close()
    assert console_errors == []


def press_each(page: Page, live: Live, panel: FaultPanel, step: int) -> list[str]:
    """Presses each button of the panel at a step, going back after each; the actions that made a run."""
    done = []
    panel.step = step
    for what, row in panel.groups_of_buttons()[:-3]:
        for action, target, details in row:
            panel.step = step
            live.push()
            compare_one = why(panel.payload, step, action, target, **details)
            broker = f'[data-detail="{about(details)}"]' if about(details) else ""
            of = f'[data-target="{target}"]' if target else ""
            button = page.locator(f'.fault-panel [data-action="{action}"]{of}{broker}').first
            before = len(panel.journey.tree)
            button.click(force=True)
            live.settle()
            if compare_one:
                assert len(panel.journey.tree) == before, (what, action)
                said = sentence(ValueError(compare_one))
                expect(page.locator(".fault-panel .now")).to_have_text(said)
                continue
            assert len(panel.journey.tree) == before + 1, (what, action)
            compare(page, panel)
            done.append(action)
            panel.press("goto", "0")
    return done


def test_each_button_makes_the_run_that_the_text_tells(page: Page, console_errors: list[str]) -> None:
    panel = FaultPanel(lab03())
    live = Live(page, panel)
    for summary in page.locator(".partitions summary").all():
        summary.click()
    compare(page, panel)
    done = press_each(page, live, panel, panel.payload["frames"]["EndTxn#1"]["sent"])
    assert {"drop", "duplicate", "delay", "hold", "crash", "pause", "cut", "advance", "elect", "roll"} <= set(done)
    assert console_errors == []


def test_release_restart_resume_heal_and_the_tree(page: Page, console_errors: list[str]) -> None:
    panel = FaultPanel(lab03(), size="projector")
    live = Live(page, panel)
    for first, then, target in (
        ("hold", "release", "EndTxn#1"), ("crash", "restart", "b1"), ("pause", "resume", "b1"), ("cut", "heal", "b1")
    ):  # fmt: skip
        panel.step = panel.payload["frames"]["EndTxn#1"]["sent"]
        live.push()
        for action in (first, then):
            page.locator(f'[data-action="{action}"][data-target="{target}"]:not([data-detail])').click()
            live.settle()
            compare(page, panel)
        page.locator('[data-action="undo"]').click()
        live.settle()
        assert panel.cluster.scenario.faults[-1].__class__.__name__ == first.title()
        page.keyboard.press("y")
        live.settle()
        compare(page, panel)
        page.locator('[data-action="goto"][data-target="0"]').click()
        live.settle()
        assert panel.journey.place == 0
    page.locator(".naming").fill("as planned")
    page.locator(".naming").press("Enter")
    live.settle()
    assert panel.journey.tree[0]["name"] == "as planned"
    compare(page, panel)
    assert console_errors == []


def test_keys_press_what_they_say_and_the_help_lists_them(page: Page) -> None:
    panel = FaultPanel(lab03(), size="laptop")
    panel.step = panel.payload["frames"]["EndTxn#1"]["sent"]
    live = Live(page, panel)
    pressed = {"d": "Drop(frame='EndTxn#1')", "2": "Crash('b2', at_step=", "a": "AdvanceClock(10000, at_step="}
    for key, label in pressed.items():
        page.locator(".fault-panel").focus()
        page.keyboard.press(key)
        live.settle()
        assert panel.journey.tree[-1]["label"].startswith(label)
    compare(page, panel)
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("Crash a broker after this step")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()
    assert page.evaluate("outside") == []


def test_rules_are_tried_when_they_are_asked_for(page: Page) -> None:
    panel = FaultPanel(lab03())
    live = Live(page, panel)
    page.locator(".rules summary").click()
    live.settle()
    first = page.locator(".rule button").first
    expect(first).to_have_attribute("data-target", EPOCH_PER_TRANSACTION.name)
    page.locator(".rule.idle button").first.click(force=True)
    expect(page.locator(".now")).to_have_text("This run is the same with the rule off.")
    first.click()
    live.settle()
    assert panel.journey.scenario.rules_off == (EPOCH_PER_TRANSACTION.name,)
    expect(page.locator(f'[data-action="rule_on"][data-target="{EPOCH_PER_TRANSACTION.name}"]')).to_be_visible()
    compare(page, panel)


def test_the_cursor_is_shared_with_another_view_of_the_journey(page: Page) -> None:
    panel = FaultPanel(lab03())
    live = Live(page, panel, Sequence(panel))
    page.locator(".fault-panel").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    steps: list[Any] = page.evaluate("[...document.querySelectorAll('.klab')].map((e) => e.dataset.step)")
    assert steps[0] == steps[1] != "13"
    page.wait_for_timeout(450)
    live.settle()
    compare(page, panel)


def test_the_sequences_own_buttons_know_the_same_reasons(page: Page) -> None:
    sequence = Sequence(lab03())
    sequence.press("hold", "EndTxn#1")
    sequence.step = sequence.payload["frames"]["EndTxn#1"]["sent"]
    Live(page, sequence)
    drop = page.locator('[data-action="drop"]')
    expect(drop).to_have_attribute("aria-disabled", "true")
    expect(drop).to_have_attribute("title", "EndTxn#1 is held already.")
