"""The sequence widget in Chromium: what stands on the screen is what the fold says, also after presses."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from kafkalab import lab00, lab03
from kafkalab.faults.frame import Duplicate
from kafkalab.faults.node import Crash
from kafkalab.sim.cluster import Cluster
from kafkalab.widgets.payload.field_meanings import MEANINGS, key_of
from kafkalab.widgets.payload.packing import pack
from kafkalab.widgets.payload.payload import payload_of
from kafkalab.widgets.payload.text import batch_outcome, replay, stops, text_at
from kafkalab.widgets.views.sequence import Sequence
from tests.widgets.harness import LOOK, SHOWN, complete, look, page_of, show
from tests.widgets.sample_payload import sample
from tests.widgets.screens import open_view

pytestmark = pytest.mark.browser

SHOWN_BATCHES = 16
ALL_GROUPS = ("transaction", "verification", "replication", "metadata")


def expect_view(payload: dict[str, Any], step: int, groups: tuple[str, ...] = SHOWN) -> dict[str, Any]:
    """Return what `look` should see at a step, from the Python fold."""
    shown, places = replay(payload, step), stops(payload, groups)
    touched = [op[1] for e in payload["events"][: step + 1] for op in e["patch"] if op[0] == "txn"]
    known = shown.transactions[touched[-1]] if touched else {"state": "", "pending": ""}
    strips = []
    for partition in payload["partitions"]:
        node, batches, mark, stable = shown.strip(partition)
        label = next((n["label"] for n in payload["nodes"] if n["id"] == node), "")
        cells = [[b["base"], b["kind"], batch_outcome(batches, i)] for i, b in enumerate(batches)][-SHOWN_BATCHES:]
        where = f"on {label}" if node else "no leader"
        strips.append({"partition": partition, "where": where, "hw": mark, "lso": stable, "cells": cells})
    return {
        "step": str(step),
        "stopIndex": str(sum(1 for s in places if s <= step)),
        "stopCount": str(len(places)),
        "now": payload["events"][step]["text"],
        "state": known["state"],
        "pending": known["pending"],
        "active": [f"s_{known['state']}"] if known["state"] else [],
        "down": [n["id"] for n in payload["nodes"] if shown.nodes.get(n["id"]) == "down"],
        "strips": strips,
    }


def compare(payload: dict[str, Any], seen: dict[str, Any], step: int, groups: tuple[str, ...] = SHOWN) -> None:
    """The screen agrees with the fold and with the text twin, and tells nothing of the future."""
    wanted = expect_view(payload, step, groups)
    assert {key: seen[key] for key in wanted} == wanted
    assert f"stop {seen['stopIndex']} of {seen['stopCount']} · step {step} " in text_at(payload, step, groups)
    frames, never = payload["frames"], len(payload["events"])
    for frame_id, fate in seen["frames"].items():
        frame = frames[frame_id]
        end = frame["received"] if frame["received"] is not None else payload["ends"].get(frame_id, never)
        assert frame["sent"] <= step
        assert fate == (frame["fate"] if end <= step else "in flight"), frame_id
    newest = [i for i, f in frames.items() if f["sent"] <= step and f["category"] in groups][-1:]
    assert set(newest) <= set(seen["frames"])


def walk(page: Page, payload: dict[str, Any], key: str, groups: tuple[str, ...] = SHOWN) -> int:
    """Press a key until the cursor stands still, comparing at each step; how many steps there were."""
    for count in range(len(payload["events"]) + 1):
        seen = look(page)
        compare(payload, seen, int(seen["step"]), groups)
        page.keyboard.press(key)
        if page.evaluate("document.querySelector('.klab').dataset.step") == seen["step"]:
            return count + 1
    raise AssertionError("the cursor never stands still")


def test_a_crash_that_was_pressed_is_because_of_no_frame(page: Page) -> None:
    view = Sequence(lab00())
    view.press("right")
    view.press("crash", "b2")
    open_view(page, view)
    assert page.locator(".fold p").inner_text() == "No frame led to this step."


def test_what_became_of_a_frame_stands_in_the_heading_of_its_fields(page: Page) -> None:
    view = Sequence(lab03())
    view.press("find", "ProduceResponse#1")
    view.press("right")
    open_view(page, view)
    page.keyboard.press("i")
    fate, heading = (page.locator(f".frame h3{part}").bounding_box() for part in (" .fate", ""))
    assert fate
    assert heading
    assert heading["y"] - 3 <= fate["y"]
    assert fate["y"] + fate["height"] <= heading["y"] + heading["height"] + 3


@pytest.mark.smoke
def test_each_step_of_the_lab_shows_what_the_text_says_forwards_and_backwards(
    page: Page, lab_run: dict[str, Any], console_errors: list[str]
) -> None:
    places = stops(lab_run, SHOWN)
    show(page, lab_run, places[0])
    assert walk(page, lab_run, "ArrowRight") == len(places)
    assert walk(page, lab_run, "ArrowLeft") == len(places)
    assert page.evaluate("window.outside") == []
    assert console_errors == []


@pytest.mark.parametrize("change", [{"drop": "EndTxn#1"}, {"drop": "EndTxnResponse#1"}, {"crash_b2": True}])
def test_a_run_with_a_fault_shows_what_the_text_says(
    page: Page, change: dict[str, Any], console_errors: list[str]
) -> None:
    payload = complete(sample(**change))
    show(page, payload, stops(payload, SHOWN)[-12])
    walk(page, payload, "ArrowRight")
    seen = look(page)
    assert (seen["down"] == ["b2"]) == ("crash_b2" in change)
    assert [i for i, fate in seen["frames"].items() if fate in ("dropped", "lost")]
    assert console_errors == []


def test_all_groups_show_what_the_text_says(page: Page, lab_run: dict[str, Any]) -> None:
    places = stops(lab_run, ALL_GROUPS)
    show(page, lab_run, places[40], ALL_GROUPS)
    for _ in range(12):
        page.keyboard.press("ArrowRight")
        seen = look(page)
        compare(lab_run, seen, int(seen["step"]), ALL_GROUPS)
    expect(page.locator('[data-node="controller"]')).to_be_visible()


def test_home_end_slider_and_clicks_move_the_cursor(page: Page) -> None:
    payload = complete(sample())
    places = stops(payload, SHOWN)
    show(page, payload, places[30])
    page.keyboard.press("End")
    assert look(page)["step"] == str(places[-1])
    page.keyboard.press("Home")
    assert look(page)["step"] == str(places[0])
    page.locator(".seek").fill("21")
    assert look(page)["step"] == str(places[20])
    frame = next(i for i in reversed(look(page)["frames"]) if payload["frames"][i]["sent"] in places[:20])
    page.locator(f'[data-frame="{frame}"] .name').click()
    assert look(page)["step"] == str(payload["frames"][frame]["sent"])
    expect(page.locator(".fold")).to_contain_text(frame)
    page.keyboard.press("i")
    expect(page.locator(".frame h3")).to_contain_text(frame)
    for name, value in payload["frames"][frame]["fields"]:
        expect(page.locator(f'[data-field="{name}"]')).to_have_text(value)


def test_seeking_in_many_events_ends_where_stepping_does(page: Page) -> None:
    payload = complete(sample(transactions=20))
    places = stops(payload, SHOWN)
    show(page, payload, places[0])
    for place in (len(places) - 1, 5, 700, 64, 699, 1):
        page.locator(".seek").fill(str(place + 1))
        compare(payload, look(page), places[place])
    assert page.locator(".klab *").count() < 2500


def test_the_cursor_moved_by_the_kernel_is_shown_and_told_back_only_if_moved_here(page: Page) -> None:
    payload = complete(sample())
    places = stops(payload, SHOWN)
    show(page, payload, places[3])
    page.evaluate("step => journey.set('step', step)", places[9])
    assert look(page)["step"] == str(places[9])
    page.wait_for_timeout(450)
    assert page.evaluate("journey.sent") == []
    for _ in range(5):
        page.keyboard.press("ArrowRight")
    page.wait_for_function("step => journey.sent.at(-1)?.step === step", arg=places[14])
    assert {message["kind"] for message in page.evaluate("journey.sent")} == {"step"}
    assert page.evaluate("[journey.get('step'), journey.saved]") == [places[14], 0]


def test_play_steps_on_and_pauses(page: Page) -> None:
    payload = complete(sample())
    places = stops(payload, SHOWN)
    show(page, payload, places[-3])
    page.keyboard.press(" ")
    expect(page.locator('[data-action="play"]')).to_have_text("❚❚")
    page.wait_for_function(f"document.querySelector('.klab').dataset.step === '{places[-1]}'")
    expect(page.locator('[data-action="play"]')).to_have_text("▶")


def test_playing_can_be_paused(page: Page) -> None:
    payload = complete(sample())
    places = stops(payload, SHOWN)
    show(page, payload, places[5])
    page.keyboard.press(" ")
    page.wait_for_function(f"document.querySelector('.klab').dataset.step === '{places[6]}'")
    page.keyboard.press(" ")
    page.wait_for_timeout(1500)
    assert look(page)["step"] == str(places[6])


def test_a_truncated_log_loses_what_follows_the_offset(page: Page) -> None:
    payload = sample()
    step = payload["events"][-1]["step"]
    payload["events"][step]["patch"].append(["truncate", "b2", "out-0", 2])
    payload = complete(payload)
    show(page, payload, step - 1)
    assert len(look(page)["strips"][1]["cells"]) == 2
    page.keyboard.press("End")
    compare(payload, look(page), step)
    assert look(page)["strips"][1]["cells"] == [[0, "data", "open"]]


@pytest.mark.parametrize(("key", "action"), [("d", "drop"), ("u", "duplicate")])
def test_a_frame_fault_asks_the_kernel_about_the_frame_sent_here(page: Page, key: str, action: str) -> None:
    payload = complete(sample())
    sent = payload["frames"]["EndTxn#1"]["sent"]
    show(page, payload, sent)
    expect(page.locator(f'[data-action="{action}"]')).to_be_enabled()
    page.keyboard.press(key)
    assert page.evaluate("journey.sent") == [{"kind": "press", "action": action, "target": "EndTxn#1", "step": sent}]
    expect(page.locator(f'[data-action="{action}"]')).to_be_disabled()
    page.keyboard.press(key)
    assert page.evaluate("journey.sent.length") == 1
    page.evaluate("journey.fire('msg:custom', {kind: 'error', text: 'The frame has gone.'})")
    expect(page.locator(".now")).to_have_text("The frame has gone.")
    expect(page.locator(f'[data-action="{action}"]')).to_be_enabled()


def test_the_new_run_is_shown_from_where_the_cursor_stood(page: Page) -> None:
    payload, other = complete(sample()), complete(sample(drop="EndTxn#1"))
    sent = payload["frames"]["EndTxn#1"]["sent"]
    show(page, payload, sent)
    page.locator('[data-action="drop"]').click()
    page.evaluate(
        "([run, step]) => { journey.values.step = step; journey.set('payload', run); journey.set('can_undo', true);"
        " journey.fire('msg:custom', {kind: 'done'}); }",
        [pack(other), sent + 1],
    )
    compare(other, look(page), sent + 1)
    assert look(page)["frames"]["EndTxn#1"] == "dropped"
    expect(page.locator(".chips code")).to_have_text(["Drop('EndTxn#1')"])
    expect(page.locator('[data-action="undo"]')).to_be_enabled()
    page.keyboard.press("z")
    assert page.evaluate("journey.sent.at(-1).action") == "undo"


def test_a_disabled_button_says_why(page: Page) -> None:
    payload = complete(sample(drop="EndTxn#1"))
    frame = payload["frames"]["EndTxn#1"]
    payload["actions"]["reasons"]["drop EndTxn#1"] = [[0, "EndTxn#1 is dropped already"]]
    show(page, payload, frame["sent"])
    drop = page.locator('[data-action="drop"]')
    expect(drop).to_be_disabled()
    expect(drop).to_have_attribute("title", "EndTxn#1 is dropped already.")
    page.keyboard.press("d")
    expect(page.locator(".now")).to_have_text("EndTxn#1 is dropped already.")
    page.keyboard.press("ArrowRight")
    expect(drop).to_have_attribute("aria-description", "No frame is sent at this step.")
    for action, why in (("undo", "There is no fault to undo."), ("redo", "Nothing has been undone.")):
        expect(page.locator(f'[data-action="{action}"]')).to_have_attribute("title", why)
    assert page.evaluate("journey.sent.filter((message) => message.kind === 'press')") == []


def test_a_broker_is_crashed_by_its_button_or_its_number(page: Page) -> None:
    payload = complete(sample())
    step = stops(payload, SHOWN)[10]
    show(page, payload, step)
    page.locator('[data-action="crash"][data-target="b2"]').click()
    page.evaluate("journey.fire('msg:custom', {kind: 'done'})")
    page.keyboard.press("3")
    page.evaluate("journey.fire('msg:custom', {kind: 'done'})")
    page.keyboard.press("0")
    assert [m["target"] for m in page.evaluate("journey.sent")] == ["b2", "b3", "app"]


def test_keys_that_are_not_the_widgets_reach_the_notebook(page: Page) -> None:
    show(page, sample(), 5)
    for key in ("a", "d", "Enter", "ArrowDown", "Control+s", "Shift+Enter"):
        page.keyboard.press(key)
    assert [k for k in page.evaluate("window.outside") if k not in ("Control", "Shift")] == ["s", "Enter"]


def test_the_help_lists_the_keys_and_closes_with_escape(page: Page) -> None:
    show(page, sample(), 5)
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("Duplicate the frame sent at this step")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()
    assert look(page)["focused"]


def test_the_keyboard_stays_when_the_pressed_button_goes(page: Page) -> None:
    payload, crashed = complete(sample()), complete(sample(crash_b2=True))
    step = next(e["step"] for e in crashed["events"] if e["kind"] == "crash")
    show(page, payload, step - 1)
    page.locator('[data-action="crash"][data-target="b2"]').focus()
    page.keyboard.press("Enter")
    put = "([run, step]) => { journey.values.step = step; journey.set('payload', run); }"
    page.evaluate(put, [pack(crashed), step])
    expect(page.locator('[data-action="crash"][data-target="b2"]')).to_have_count(0)
    assert look(page)["focused"]


def test_choosing_groups_keeps_the_cursor(page: Page) -> None:
    payload = complete(sample())
    step = stops(payload, SHOWN)[20]
    show(page, payload, step)
    page.keyboard.press("f")
    page.get_by_role("checkbox", name="replication").check()
    assert page.evaluate("journey.get('groups')") == ["transaction", "verification", "replication"]
    compare(payload, look(page), step, ("transaction", "verification", "replication"))
    page.get_by_role("checkbox", name="verification").uncheck()
    page.get_by_role("checkbox", name="transaction").uncheck()
    compare(payload, look(page), step, ("replication",))


def test_what_is_hidden_has_neither_lane_nor_arrow_nor_stop(page: Page, lab_run: dict[str, Any]) -> None:
    hidden = ["b2", "Produce"]
    places = stops(lab_run, SHOWN, hidden)
    show(page, lab_run, places[-5])
    page.keyboard.press("f")
    for name in hidden:
        page.get_by_role("checkbox", name=name, exact=True).uncheck()
    assert page.evaluate("journey.get('hidden')") == hidden
    seen = look(page)
    assert seen["stopCount"] == str(len(places))
    assert f"stop {seen['stopIndex']} of {len(places)} " in text_at(lab_run, places[-5], SHOWN, hidden)
    flown = [lab_run["frames"][i] for i in seen["frames"]]
    assert flown
    assert not [f for f in flown if "b2" in (f["from"], f["to"]) or f["name"].startswith("Produce")]
    expect(page.locator('[data-node="b2"]')).to_have_count(0)
    expect(page.locator('[data-action="filter"]')).to_have_text("view (2 hidden)")
    page.locator('[data-action="filter"]').click()
    expect(page.get_by_role("checkbox", name="b2", exact=True)).to_be_hidden()
    page.locator(".klab").focus()
    page.keyboard.press("ArrowLeft")
    assert look(page)["step"] == str(places[-6])


def test_a_frame_is_shown_with_all_its_fields_and_what_each_is_for(page: Page, lab_run: dict[str, Any]) -> None:
    step = lab_run["frames"]["EndTxn#1"]["received"]
    show(page, lab_run, step)
    page.keyboard.press("i")
    for name, value in lab_run["frames"]["EndTxn#1"]["fields"]:
        row = page.locator(".fields > div").filter(has=page.locator(f'[data-field="{name}"]'))
        expect(row.locator("span")).to_have_text(value)
        expect(row.locator("p")).to_have_text(MEANINGS[key_of("EndTxn", name)])


def test_the_inspector_is_one_line_that_opens_and_stays_open(page: Page, lab_run: dict[str, Any]) -> None:
    places = stops(lab_run, SHOWN)
    show(page, lab_run, lab_run["frames"]["Produce#1"]["sent"])
    expect(page.locator(".fields")).to_have_count(0)
    folded = page.locator(".frame").evaluate("e => e.clientHeight")
    assert folded < 30
    page.keyboard.press("i")
    expect(page.locator('[data-action="inspect"]')).to_have_attribute("aria-pressed", "true")
    assert page.locator(".frame").evaluate("e => e.clientHeight") > 4 * folded
    for _ in range(3):
        page.keyboard.press("ArrowRight")
        expect(page.locator(".fields")).to_have_count(1)
    assert look(page)["step"] in map(str, places)
    page.locator('[data-action="inspect"]').click()
    expect(page.locator(".fields")).to_have_count(0)


def test_an_arrow_has_its_frames_number_as_the_text_of_a_lab_names_it(page: Page, lab_run: dict[str, Any]) -> None:
    show(page, lab_run, 60)
    arrows = "all => all.map((one) => [one.dataset.frame, one.querySelector('.name').textContent])"
    told = page.locator(".arrow").evaluate_all(arrows)
    assert len(told) > 4
    assert [name for name, words in told if words.split()[0] != name] == []


def test_retries_duplicates_lost_frames_and_crashed_nodes_are_marked(page: Page) -> None:
    retried = complete(sample(drop="EndTxn#1"))
    show(page, retried, retried["frames"]["EndTxn#2"]["sent"])
    expect(page.locator('[data-frame="EndTxn#2"] .name')).to_have_text("EndTxn#2 attempt 2")
    expect(page.locator('[data-frame="EndTxn#1"] .cross')).to_have_count(1)
    cluster = Cluster(lab03().with_faults(Duplicate("EndTxn#1"), Crash("b1", at_step=215)))
    cluster.run()
    doubled = complete(payload_of(cluster))
    (copy,) = (f for f in doubled["frames"].values() if f["copy_of"])
    show(page, doubled, copy["received"])
    expect(page.locator(f'[data-frame="{copy["id"]}"] .tag')).to_have_text("copy")
    page.evaluate("step => journey.set('step', step)", 240)
    expect(page.locator('[data-node="b1"]')).to_have_attribute("data-life", "down")
    expect(page.locator(".shade")).to_have_count(1)
    lost = [f for f in doubled["frames"].values() if f["fate"] == "lost" and f["category"] in SHOWN]
    expect(page.locator(f'[data-frame="{lost[0]["id"]}"] .cross')).to_have_count(1)


def test_what_was_appended_because_of_a_frame_is_a_press_away(page: Page, lab_run: dict[str, Any]) -> None:
    show(page, lab_run, lab_run["frames"]["EndTxn#1"]["received"])
    page.keyboard.press("i")
    appended = page.locator("h4:text('Appended because of it') + ul button")
    expect(appended).to_have_count(0)
    page.keyboard.press("End")
    page.evaluate("step => journey.set('step', step)", lab_run["frames"]["EndTxn#1"]["sent"])
    expect(appended).to_have_count(0)
    told = page.evaluate(
        "run => openRun(run).appended(openRun(run).frames['EndTxn#1'], 1e9).map((e) => e.text)", pack(lab_run)
    )
    states = [text for text in told if "__transaction_state" in text]
    assert len(states) == 2
    assert len([text for text in told if "COMMIT marker" in text]) == 3
    append = next(e for e in lab_run["events"] if e["text"] == states[0])
    page.evaluate("step => journey.set('step', step)", append["step"])
    expect(page.locator(".frame h3")).to_contain_text("EndTxn#1")
    expect(appended.first).to_have_text(states[0])
    appended.first.click()
    assert look(page)["step"] == str(append["step"])


def test_the_payload_arrives_in_the_browser_as_it_was_sent(page: Page, lab_run: dict[str, Any]) -> None:
    show(page, lab_run, 3)
    for payload in (lab_run, complete(sample(drop="EndTxn#1"))):
        there = page.evaluate("unpacked", pack(payload))
        assert there == {"actions": {"reasons": {}}, **payload}  # where nothing is noted, no button has a reason


def test_nothing_moves_for_those_who_asked_for_less_motion(page: Page) -> None:
    payload = complete(sample())
    places = stops(payload, SHOWN)
    show(page, payload, places[2])
    moving = "document.getAnimations().length"
    page.keyboard.press("ArrowRight")
    assert page.evaluate(moving) > 0
    page.emulate_media(reduced_motion="reduce")
    page.wait_for_timeout(400)
    page.keyboard.press("ArrowRight")
    assert page.evaluate(moving) == 0


def test_on_a_projector_no_text_is_smaller_than_20_pixels(page: Page, lab_run: dict[str, Any]) -> None:
    page.set_viewport_size({"width": 1920, "height": 1080})
    show(page, lab_run, stops(lab_run, SHOWN)[-8], size="projector")
    small = page.evaluate(
        """() => [...document.querySelectorAll(".klab *")].filter((e) => {
          const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
          const scale = e.getScreenCTM?.()?.a ?? 1;
          return own && e.checkVisibility() && !["STYLE", "title"].includes(e.tagName)
            && parseFloat(getComputedStyle(e).fontSize) * scale < 19.95;
        }).map((e) => e.textContent)"""
    )
    assert small == []


def test_two_widgets_share_a_page_and_closing_one_leaves_no_trace(page: Page) -> None:
    payload = complete(sample())
    page.set_content(page_of(payload, 20))
    page.wait_for_function("window.ready === true")
    page.evaluate(
        "() => { const el = document.body.appendChild(document.createElement('div'));"
        " const other = Object.assign(new model.constructor({ ...model.values }), { widget_manager });"
        " window.second = widget.render({ model: other, el }); }"
    )
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map((e) => e.id)")
    assert len(ids) == len(set(ids))
    page.evaluate("close_()")
    expect(page.locator(".klab")).to_have_count(1)
    assert page.evaluate("Object.values(model.handlers).flat().length") == 0
    page.evaluate("async () => (await second)()")
    assert page.evaluate("Object.values(journey.handlers).flat().length") == 0


def test_texts_of_a_run_are_shown_as_text(page: Page, console_errors: list[str]) -> None:
    payload = sample()
    evil = '<img src=x onerror="document.title=1">'
    payload["title"], payload["faults"] = evil, [evil]
    for event in payload["events"]:
        event["text"] = evil
        for op in event["patch"]:
            if op[0] == "batch":
                op[3]["records"] = [[evil, evil]]
    for frame in payload["frames"].values():
        frame.update(about=evil, error=evil, fields=[[evil, evil]])
    payload = complete(payload)
    payload["marks"] = dict.fromkeys(payload["marks"], evil)
    show(page, payload, stops(payload, SHOWN)[-5])
    assert page.locator(".klab img").count() == 0
    assert page.evaluate(LOOK)["now"] == evil
    assert (page.title(), console_errors) == ("kafkalab", [])


# Where each mark stands in the sheet, and the rows of the lanes: no scrolling of sheet or page changes them.
PLACES = """() => {
  const sheet = document.querySelector(".sheet").getBoundingClientRect();
  const inSheet = ({ left, top, bottom }) => [left - sheet.left, top - sheet.top, bottom - sheet.top].map(Math.round);
  const all = (query) => [...document.querySelectorAll(query)];
  return {
    marks: Object.fromEntries(all(".sheet [data-event]").map((mark) =>
      [mark.dataset.event, inSheet(mark.querySelector("rect").getBoundingClientRect())])),
    rows: all(".lane").map((lane) => [lane.dataset.node, ...inSheet(lane.getBoundingClientRect())]),
  };
}"""


def test_time_runs_downwards_or_across_by_key_and_by_button(page: Page, lab_run: dict[str, Any]) -> None:
    step = lab_run["frames"]["EndTxn#1"]["received"]
    show(page, lab_run, step)
    page.keyboard.press("f")
    button = page.get_by_role("button", name="Time downwards or across (t)")
    expect(button).to_have_text("time ↓")
    down = page.evaluate(PLACES)["marks"]
    page.keyboard.press("t")
    expect(page.locator(".klab")).to_have_attribute("data-time", "across")
    expect(button).to_have_text("time →")
    across, rows = page.evaluate(PLACES).values()
    assert (page.evaluate("model.get('time')"), page.evaluate("model.saved")) == ("across", 1)
    marks = sorted(set(down) & set(across), key=int)
    assert len(marks) > 3
    for places, axis in ((down, 1), (across, 0)):
        along = [places[mark][axis] for mark in marks]
        assert along == sorted(along)
    tops = {lab_run["events"][int(mark)]["node"]: across[mark][1] for mark in marks}
    assert {node for node, *_ in rows} >= set(tops)
    for node, _, top, bottom in rows:
        assert node not in tops or top <= tops[node] <= bottom
    button.click()
    expect(page.locator(".klab")).to_have_attribute("data-time", "down")
    assert page.evaluate(PLACES)["marks"] == down


def test_across_each_step_shows_what_the_text_says(page: Page, console_errors: list[str]) -> None:
    payload = complete(sample(drop="EndTxn#1"))
    show(page, payload, stops(payload, SHOWN)[-25], time="across")
    walk(page, payload, "ArrowRight")
    sheet = page.locator(".scroll")
    assert sheet.evaluate("e => e.scrollLeft + e.clientWidth >= e.scrollWidth - 1")
    assert sheet.evaluate("e => e.scrollHeight <= e.clientHeight")
    expect(page.locator('[data-frame="EndTxn#1"] .cross')).to_have_count(1)
    page.keyboard.press("Home")
    walk(page, payload, "ArrowRight")
    assert console_errors == []


def test_across_no_two_marks_and_no_name_and_mark_stand_on_one_another(page: Page, lab_run: dict[str, Any]) -> None:
    show(page, lab_run, 0, time="across")
    boxes = """() => [...document.querySelectorAll(".sheet .mark rect, .sheet .arrow > .name")].map((e) => {
      const { left, right, top, bottom } = e.getBoundingClientRect();
      return [left, right, top, bottom];
    })"""
    for step in stops(lab_run, SHOWN)[10::12]:
        page.evaluate("step => journey.set('step', step)", step)
        found = page.evaluate(boxes)
        pairs = [(a, b) for i, a in enumerate(found) for b in found[i + 1 :]]
        over = [min(a[1], b[1]) - max(a[0], b[0]) for a, b in pairs if min(a[3], b[3]) - max(a[2], b[2]) > 3]
        assert [wide for wide in over if wide > 3] == []


def test_where_no_transactional_id_exists_no_rail_is_drawn_and_the_diagram_has_its_room(page: Page) -> None:
    show(page, complete(sample()), 40)
    expect(page.locator(".rail")).to_be_visible()
    high = page.locator(".diagram").evaluate("e => e.clientHeight")
    cluster = Cluster(lab00())
    cluster.run()
    show(page, complete(payload_of(cluster)), 12)
    expect(page.locator(".rail")).to_have_count(0)
    assert page.locator(".diagram").evaluate("e => e.clientHeight") > high + 50


def test_a_walk_opens_on_a_pale_preview_and_an_invitation_that_the_first_arrow_replaces(page: Page) -> None:
    view = Sequence(lab03())
    show(page, view.payload, view.step)
    invitation, preview = page.get_by_role("status").filter(has_text="Press → to begin."), page.locator(".preview")
    expect(invitation).to_be_visible()
    assert "Press → to begin." in view.text().splitlines()
    assert 3 < preview.count() <= 10
    assert preview.first.evaluate("e => Number(getComputedStyle(e).opacity) < 0.4 && !!e.closest('[aria-hidden=true]')")
    assert look(page)["frames"] == {}  # nothing of it has happened
    first = min(f["sent"] for f in view.payload["frames"].values() if f["category"] in view.groups)
    page.evaluate("step => journey.set('step', step)", first)
    view.step = first
    expect(preview).to_have_count(0)
    expect(invitation).to_have_count(0)
    assert "Press → to begin." not in view.text().splitlines()
