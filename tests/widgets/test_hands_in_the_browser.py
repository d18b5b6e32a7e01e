"""Faults by hand in Chromium: envelopes with menus that can be dragged, lanes' menus, the drawer, the projector."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from kafkalab import lab00, lab03
from kafkalab.faults.frame import Delay, Drop, Hold, Release, Reorder
from kafkalab.faults.node import Crash, Pause
from kafkalab.widgets.views.compare import Compare
from kafkalab.widgets.views.fault_panel import FaultPanel
from kafkalab.widgets.views.predict import Predict
from kafkalab.widgets.views.sequence import Sequence
from kafkalab.widgets.views.state_chart import StateChart
from tests.widgets.frames import fit
from tests.widgets.live import Live

pytestmark = pytest.mark.browser
ALL = ["transaction", "verification", "replication"]


def at_end_txn(page: Page, **more: Any) -> tuple[Sequence, Live]:
    """Lab 3 at the step that sends EndTxn#1, which is in flight then."""
    page.set_viewport_size({"width": 1280, "height": 800})
    view = Sequence(lab03(), **more)
    view.step = view.payload["frames"]["EndTxn#1"]["sent"]
    live = Live(page, view)
    page.locator(".klab").focus()
    return view, live


def grip(page: Page, frame: str) -> tuple[float, float]:
    """The middle of the envelope."""
    box = page.locator(f'[data-grip="{frame}"] circle').bounding_box()
    assert box
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def drag(page: Page, frame: str, dx: float, dy: float) -> str:
    """Drag the envelope by that, and hold it there; what the hint says."""
    x, y = grip(page, frame)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + dx / 2, y + dy / 2)
    page.mouse.move(x + dx, y + dy)
    return page.locator(".hint").inner_text()


def presses(page: Page) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = page.evaluate("models.j0.sent.filter((one) => one.kind === 'press')")
    return found


def choice(page: Page, action: str, target: str = "EndTxn#1", more: str = "") -> Any:
    return page.locator(f'.menu [data-press="{action}"][data-target="{target}"]{more}')


# the menu


@pytest.mark.smoke
def test_an_envelope_is_clicked_and_its_menu_makes_another_run(page: Page, console_errors: list[str]) -> None:
    view, live = at_end_txn(page)
    page.mouse.click(*grip(page, "EndTxn#1"))
    menu = page.get_by_role("dialog", name="Faults")
    expect(menu).to_contain_text("app → b3")
    choice(page, "drop").click()
    live.settle()
    assert view.journey.scenario.faults == (Drop("EndTxn#1"),)
    expect(menu).to_have_count(0)
    expect(page.locator('[data-frame="EndTxn#1"]')).to_have_attribute("data-fate", "dropped")
    page.keyboard.press("z")
    live.settle()
    assert view.journey.place == 0
    page.keyboard.press("y")
    live.settle()
    assert view.journey.place == 1
    assert console_errors == []


def test_the_envelope_of_a_frame_that_is_held_stays_in_sight_and_is_released_there(page: Page) -> None:
    view, live = at_end_txn(page)
    page.mouse.click(*grip(page, "EndTxn#1"))
    choice(page, "hold").click()
    live.settle()
    page.locator(".klab").focus()
    page.keyboard.press("End")
    live.settle()
    seen = page.locator(".diagram").bounding_box()
    assert seen
    x, y = grip(page, "EndTxn#1")
    assert (seen["x"] < x < seen["x"] + seen["width"], seen["y"] < y < seen["y"] + seen["height"]) == (True, True)
    expect(page.locator(".arrow.held .name")).to_contain_text("EndTxn#1 held")
    expect(page.locator('[data-grip="EndTxn#1"]')).to_have_attribute("aria-label", "EndTxn#1, app to b3, held: faults")
    page.mouse.click(x, y)
    choice(page, "release").click()
    live.settle()
    expect(page.locator(".arrow.held")).to_have_count(0)
    assert [type(fault) for fault in view.journey.scenario.faults] == [Hold, Release]


def test_the_menu_is_opened_walked_and_closed_by_keys_alone(page: Page) -> None:
    view, live = at_end_txn(page)
    page.keyboard.press("m")
    expect(choice(page, "drop")).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(choice(page, "duplicate")).to_be_focused()
    page.keyboard.press("Tab")
    expect(choice(page, "hold")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator(".menu")).to_have_count(0)
    expect(page.locator('[data-grip="EndTxn#1"]')).to_be_focused()
    for key in ("Enter", " ", "ContextMenu"):
        page.keyboard.press(key)
        expect(page.locator(".menu")).to_have_count(1)
        page.keyboard.press("Escape")
    assert view.step == int(page.locator(".klab").get_attribute("data-step") or 0)
    page.keyboard.press("m")
    for _ in range(2):
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    live.settle()
    assert view.journey.scenario.faults == (Hold("EndTxn#1"),)
    page.keyboard.press("m")
    expect(choice(page, "release")).to_have_attribute("aria-disabled", "false")
    assert page.evaluate("outside") == []


def test_the_menu_delays_holds_until_another_and_says_why_not(page: Page) -> None:
    view, live = at_end_txn(page)
    page.keyboard.press("m")
    page.locator(".menu [name=delay_ms]").fill("0")
    expect(choice(page, "delay")).to_have_attribute("aria-disabled", "true")
    choice(page, "delay").click(force=True)
    expect(page.locator(".menu [role=status]")).to_have_text("Delay_ms is a number of milliseconds from 1 on, not 0.")
    page.locator(".menu [name=delay_ms]").fill("250")
    choice(page, "delay").click()
    live.settle()
    assert list(view.journey.scenario.faults) == [Delay("EndTxn#1", 250)]
    page.keyboard.press("z")
    live.settle()
    page.keyboard.press("m")
    options = page.locator(".menu [name=after] option").all_inner_texts()
    page.locator(".menu [name=after]").select_option(options[0])
    choice(page, "reorder").click()
    live.settle()
    assert view.journey.scenario.faults == (Reorder("EndTxn#1", options[0]),)
    page.keyboard.press("m")
    choice(page, "drop").click(force=True)
    expect(page.locator(".menu [role=status]")).to_have_text("EndTxn#1 is overtaken already.")
    assert len(presses(page)) == 3


def test_the_menu_crashes_the_sender_after_sending_and_the_receiver_on_arrival(page: Page) -> None:
    view, live = at_end_txn(page)
    sent, received = (view.payload["frames"]["EndTxn#1"][key] for key in ("sent", "received"))
    page.keyboard.press("m")
    choice(page, "crash", "app").click()
    live.settle()
    assert view.journey.scenario.faults == (Crash("app", at_step=sent, sent=True),)
    assert view.payload["frames"]["EndTxn#1"]["fate"] == "delivered"
    page.keyboard.press("z")
    live.settle()
    page.keyboard.press("m")
    choice(page, "crash", "b3").click()
    live.settle()
    assert view.journey.scenario.faults == (Crash("b3", at_step=received),)
    page.keyboard.press("z")
    live.settle()
    view.step = sent
    view.press("hold")
    live.push()
    page.keyboard.press("m")
    choice(page, "crash", "b3").click(force=True)
    expect(page.locator(".menu [role=status]")).to_have_text("EndTxn#1 never arrives in this run.")


def test_a_click_elsewhere_and_a_step_close_the_menu(page: Page) -> None:
    at_end_txn(page)
    page.keyboard.press("m")
    page.locator(".now").click()
    expect(page.locator(".menu")).to_have_count(0)
    page.keyboard.press("m")
    page.evaluate("models.j0.set('step', models.j0.get('step') + 1)")
    expect(page.locator(".menu")).to_have_count(0)
    assert presses(page) == []


# dragging


@pytest.mark.parametrize("time", ["down", "across"])
def test_an_envelope_dragged_off_its_line_is_dropped(page: Page, time: str, console_errors: list[str]) -> None:
    view, live = at_end_txn(page, time=time)
    off = (30, -70) if time == "down" else (-70, -30)
    assert drag(page, "EndTxn#1", *off) == "× drop"
    page.mouse.up()
    live.settle()
    assert view.journey.scenario.faults == (Drop("EndTxn#1"),)
    expect(page.locator(".hint")).to_have_count(0)
    assert console_errors == []


def test_an_envelope_dragged_along_its_line_is_delayed_by_the_distance(page: Page) -> None:
    view, live = at_end_txn(page)
    for far, words in ((-30, "10 ms"), (-80, "1 s"), (60, "200 ms")):
        assert drag(page, "EndTxn#1", far, far / 40) == f"delay {words}"
        page.keyboard.press("Escape")
        page.mouse.up()
    assert drag(page, "EndTxn#1", 150, 4) == "delay 60 s"
    page.mouse.up()
    live.settle()
    assert view.journey.scenario.faults == (Delay("EndTxn#1", 60_000),)
    assert len(presses(page)) == 1


def test_an_envelope_in_the_lowest_row_can_be_dragged_downwards_out_of_the_diagram(page: Page) -> None:
    at_end_txn(page)
    frame, diagram = grip(page, "EndTxn#1"), page.locator(".scroll").bounding_box()
    assert diagram
    below = diagram["y"] + diagram["height"] + 20 - frame[1]
    assert drag(page, "EndTxn#1", 0, below) == "× drop"
    page.mouse.up()


def test_a_drag_that_ends_nowhere_or_is_given_up_changes_nothing(page: Page) -> None:
    view, _ = at_end_txn(page)
    before = grip(page, "EndTxn#1")
    assert drag(page, "EndTxn#1", 6, 5) == "let go here: nothing changes"
    page.mouse.up()
    assert drag(page, "EndTxn#1", 30, 700) == "let go here: nothing changes"
    page.mouse.up()
    expect(page.locator(".now")).to_contain_text("Nothing has changed")
    assert drag(page, "EndTxn#1", 30, -70) == "× drop"
    page.keyboard.press("Escape")
    expect(page.locator(".hint")).to_have_count(0)
    page.mouse.up()
    expect(page.locator(".menu")).to_have_count(0)
    assert grip(page, "EndTxn#1") == pytest.approx(before)
    assert (presses(page), view.journey.place) == ([], 0)


def test_a_finger_drags_as_a_mouse_does(page: Page) -> None:
    view, live = at_end_txn(page)
    session = page.context.new_cdp_session(page)
    session.send("Emulation.setTouchEmulationEnabled", {"enabled": True})
    x, y = grip(page, "EndTxn#1")

    def touch(kind: str, *points: tuple[float, float]) -> None:
        data = {"type": kind, "touchPoints": [{"x": px, "y": py} for px, py in points]}
        session.send("Input.dispatchTouchEvent", data)

    touch("touchStart", (x, y))
    touch("touchMove", (x + 10, y - 30))
    touch("touchMove", (x + 20, y - 70))
    expect(page.locator(".hint")).to_have_text("× drop")
    touch("touchEnd")
    live.settle()
    assert view.journey.scenario.faults == (Drop("EndTxn#1"),)


def test_only_what_is_in_flight_can_be_seized_and_an_arrived_arrow_says_why_not(page: Page) -> None:
    view, live = at_end_txn(page)
    view.step = view.payload["frames"]["EndTxn#1"]["received"]
    live.push()
    expect(page.locator('[data-grip="EndTxn#1"]')).to_have_count(0)
    box = page.locator('[data-frame="EndTxn#1"] .name').first.bounding_box()
    assert box
    page.mouse.move(box["x"] + 5, box["y"] + 5)
    page.mouse.down()
    page.mouse.move(box["x"] + 5, box["y"] - 40)
    expect(page.locator(".hint")).to_have_text("EndTxn#1 has arrived.")
    page.mouse.up()
    expect(page.locator(".now")).to_have_text("EndTxn#1 has arrived.")
    assert page.locator(".klab").get_attribute("data-step") == str(view.step)
    page.keyboard.press("m")
    expect(page.locator(".now")).to_contain_text("EndTxn#1 has arrived; go back to a step at which it is in flight")
    assert presses(page) == []


# which arrives next


def test_the_browser_knows_of_each_frame_in_flight_whether_it_can_arrive_next(page: Page) -> None:
    view = Sequence(lab03(), groups=ALL)
    view.press("hold", "EndTxn#1")
    live = Live(page, view)
    ask = """([step, groups]) => {
      const run = w0.runOf(models.j0), shown = w0.inFlight(run, step, new Set(groups), new Set());
      return shown.map((f) => [f.id, w0.whyNext(run, step, f, shown)]); }"""
    seen = set()
    for step in view.journey.stops()[::5]:
        view.step = step
        told = page.evaluate(ask, [step, ALL])
        assert [frame for frame, _ in told] == view.journey.in_flight()
        for frame, reason in told:
            assert reason == view.journey.possible("next", frame), (step, frame)
            seen.add(reason.replace(frame, "it"))
    assert seen == {"", "it is the next to arrive already"}
    live.settle()


def test_the_frame_that_is_chosen_arrives_next(page: Page, console_errors: list[str]) -> None:
    view = Sequence(lab00(), groups=ALL)
    view.step = next(s for s in view.journey.stops() if moved_to(view, s) > 2)
    flying = view.journey.in_flight()
    live = Live(page, view)
    page.locator(".klab").focus()
    page.keyboard.press("m")
    listed = page.locator('.menu [data-press="next"]').evaluate_all("all => all.map((e) => e.dataset.target)")
    assert listed == flying
    wanted = next(f for f in flying if not view.journey.possible("next", f))
    choice(page, "next", wanted).click()
    live.settle()
    arrived = {f: view.payload["frames"][f]["received"] for f in flying}
    assert min(arrived, key=lambda f: arrived[f] or 10**9) == wanted
    assert page.locator(".klab").get_attribute("data-step") == str(arrived[wanted])
    expect(page.locator(".chips code").first).to_contain_text(repr(view.journey.scenario.faults[0]))
    page.keyboard.press("z")
    live.settle()
    assert view.journey.place == 0
    assert console_errors == []


def moved_to(view: Sequence, step: int) -> int:
    view.step = step
    return len(view.journey.in_flight())


# lanes


def test_a_lanes_name_opens_a_menu_also_where_the_lane_has_no_room_for_a_button(page: Page) -> None:
    view, live = at_end_txn(page)
    fit(page, 440, "#w0")
    assert page.locator('.lane[data-node="b2"]').evaluate("e => e.clientWidth") <= 96
    expect(page.locator('.lane[data-node="b2"] [data-action="crash"]')).to_be_hidden()
    page.locator('.lane[data-node="b2"] [data-action="node"]').click()
    expect(choice(page, "restart", "b2")).to_have_attribute("title", "b2 is not down.")
    choice(page, "crash", "b2", ':text-is("crash")').click()
    live.settle()
    assert view.journey.scenario.faults == (Crash("b2", at_step=view.payload["frames"]["EndTxn#1"]["sent"]),)
    page.locator('.lane[data-node="b2"] [data-action="node"]').click()
    choice(page, "restart", "b2").click()
    live.settle()
    assert type(view.journey.scenario.faults[-1]).__name__ == "Restart"


def test_a_key_opens_the_menu_of_the_node_of_this_step(page: Page) -> None:
    view, live = at_end_txn(page)
    sent = view.step
    page.keyboard.press("n")
    expect(page.locator(".menu header")).to_contain_text("app")
    choice(page, "crash", "app", ':text-is("crash after sending")').click()
    live.settle()
    assert view.journey.scenario.faults == (Crash("app", at_step=sent, sent=True),)


# the drawer


def test_the_fault_panel_opens_in_a_drawer_of_the_same_journey_and_closes_again(
    page: Page, console_errors: list[str]
) -> None:
    view, live = at_end_txn(page)
    fit(page, 848, "#w0")
    high = page.locator(".klab.sequence").evaluate("e => e.clientHeight")
    logs = page.locator(".logs").bounding_box()
    page.locator('.sequence [data-action="faults"]').click()
    panel = page.locator(".klab-aside .fault-panel")
    expect(panel).to_be_focused()
    assert page.locator(".klab.sequence").evaluate("e => e.clientHeight") == high <= 600
    assert page.locator(".logs").bounding_box() == logs
    box, main = panel.bounding_box(), page.locator(".main").bounding_box()
    assert box
    assert main
    assert main["y"] - 1 <= box["y"]
    assert box["y"] + box["height"] <= main["y"] + main["height"] + 1
    lanes = page.locator(".scroll").bounding_box()
    assert lanes
    assert lanes["x"] + lanes["width"] <= box["x"] + 1
    page.locator('nav [data-target="nodes"]').click()
    panel.locator('[data-action="pause"][data-target="b2"]').click()
    live.settle()
    assert view.journey.scenario.faults == (Pause("b2", at_step=view.payload["frames"]["EndTxn#1"]["sent"]),)
    expect(page.locator(".sequence .chips code")).to_contain_text("Pause('b2'")
    page.locator('nav [data-target="runs"]').click()
    expect(panel.locator(".tree .run")).to_have_count(2)
    panel.focus()
    page.keyboard.press("ArrowRight")
    assert page.locator(".sequence").get_attribute("data-step") == panel.get_attribute("data-step")
    panel.locator('[data-action="goto"][data-target="0"]').click()
    live.settle()
    assert view.journey.place == 0
    page.keyboard.press("Escape")
    expect(panel).to_have_count(0)
    expect(page.locator(".sequence")).to_be_focused()
    page.keyboard.press("p")
    expect(panel).to_be_focused()
    page.keyboard.press("p")
    expect(panel).to_have_count(0)
    assert page.evaluate("models.j0.klab.heard.size") == 1
    assert console_errors == []


def test_the_drawer_tries_the_rules_and_has_the_crash_after_sending(page: Page) -> None:
    view, live = at_end_txn(page)
    page.keyboard.press("p")
    page.locator('nav [data-target="rules"]').click()
    live.settle()
    expect(page.locator(".fault-panel .rule").first).to_be_visible()
    assert view.reasons["place"] == 0
    page.locator('nav [data-target="nodes"]').click()
    page.locator('.fault-panel [data-target="app"][data-detail="sent"]').click()
    live.settle()
    assert view.journey.scenario.faults == (Crash("app", at_step=view.journey.tree[-1]["at"], sent=True),)


def test_in_a_narrow_place_the_panel_is_below_the_sequence(page: Page) -> None:
    at_end_txn(page)
    fit(page, 560, "#w0")
    room = page.locator(".klab.sequence").bounding_box()
    page.keyboard.press("p")
    panel = page.locator(".fault-panel")
    expect(panel).to_be_focused()
    box = panel.bounding_box()
    assert box
    assert room
    assert box["height"] > 200
    assert page.locator(".klab-aside.under").count() == 1
    assert page.evaluate(
        "document.querySelector('.fault-panel').getBoundingClientRect().top >= "
        "document.querySelector('.sequence').getBoundingClientRect().bottom"
    )


def test_a_sequence_that_is_closed_takes_its_drawer_along(page: Page) -> None:
    at_end_txn(page)
    page.evaluate(
        """async () => {
          const model = models.w0, el = document.body.appendChild(document.createElement("div"));
          const count = () => Object.values(models).flatMap((m) => Object.values(m.handlers).flat()).length;
          const before = count(), close = await w0.render({ model, el });
          el.querySelector("[data-action=faults]").click();
          await new Promise((done) => setTimeout(done, 100));
          window.opened = el.querySelectorAll(".fault-panel").length;
          close();
          window.left = [el.childElementCount, count() - before];
        }"""
    )
    assert page.evaluate("[opened, left]") == [1, [0, 0]]


# the projector


def test_the_projector_switch_is_the_journeys_and_leaves_the_text_as_it_is(page: Page) -> None:
    view = Sequence(lab03())
    view.step = view.payload["frames"]["EndTxn#1"]["sent"]
    live = Live(page, view, FaultPanel(view))
    told = view.text()
    page.locator(".sequence").focus()
    page.keyboard.press("b")
    expect(page.locator(".sequence")).to_have_attribute("data-size", "projector")
    expect(page.locator(".fault-panel")).to_have_attribute("data-size", "projector")
    page.keyboard.press("ArrowRight")
    page.wait_for_timeout(450)
    live.settle()
    assert view.journey.size == "projector"
    view.press("left")
    assert view.text() == told
    page.locator('.sequence [data-action="size"]').click()
    expect(page.locator(".sequence")).to_have_attribute("data-size", "laptop")


def test_the_switch_for_a_projector_enlarges_pictures_of_other_runs_and_cards_too(page: Page) -> None:
    view, compare = Sequence(lab03()), Compare(lab03(), lab03().with_faults(Drop("EndTxn#1")))
    card = Predict("Who decides?", choices={"A": "The client.", "B": "The coordinator."}, answer="B")
    Live(page, view, StateChart(lab03()), compare, card)
    page.locator(".sequence").focus()
    for size in ("projector", "laptop"):
        page.keyboard.press("b")
        for other in (".sequence", ".state-chart", ".compare", ".predict"):
            expect(page.locator(other)).to_have_attribute("data-size", size)


def test_the_help_lists_what_hands_can_do(page: Page) -> None:
    at_end_txn(page)
    page.keyboard.press("?")
    for words in ("Menu of the envelope in flight", "Menu of this step's node", "tree of runs", "drag it off its line"):
        expect(page.locator(".sequence .help")).to_contain_text(words)
