"""Views of a live cluster in a browser: parts of the run arrive, → lets frames go, buttons strike or say why not."""

from __future__ import annotations

import json
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from kafkalab.live.cluster import NOT_UNDONE, LiveCluster
from kafkalab.protocol.errors import Error
from kafkalab.widgets.payload.packing import pack
from kafkalab.widgets.views.cluster_map import ClusterMap
from kafkalab.widgets.views.fault_panel import FaultPanel
from kafkalab.widgets.views.log_tape import LogTape
from kafkalab.widgets.views.sequence import Sequence
from kafkalab.widgets.views.state_chart import StateChart
from tests.live.conftest import CALL_S, Client
from tests.widgets.live import Live

SAME = """(text) => {
  const { runOf } = SOURCE, of = (payload) => runOf({ get: () => payload, klab: {} }), known = models.j0.klab.run;
  const whole = of(text), told = (run) => JSON.stringify(run.events.map((_, step) => run.at(step)));
  const frames = (run) => JSON.stringify(Object.values(run.frames).map((f) => [f.id, f.fate, f.received, run.end(f)]));
  return [told(whole) === told(known), frames(whole) === frames(known), whole.last === known.last];
}"""


DRAWN = """() => ["sheet", "logs", "states", "ticks", "where"].map((name) =>
  document.querySelector(`.klab.sequence .${name}`).innerHTML.replace(/ style="[^"]*"/g, ""))"""

STOPPED = "Recording has stopped after 300 events: clients are served on, but nothing more is shown."


@pytest.fixture
def widget(page: Page, live: LiveCluster, client: Client) -> Live:
    for call in (client.init, lambda: client.send("a"), client.end):
        assert client.now(call) is Error.NONE
    views = Live(page, Sequence(live), LogTape(live), FaultPanel(live))
    page.wait_for_function("window.pending === 0")
    return views


def grow(live: LiveCluster, widget: Live) -> dict[str, Any]:
    """Return what the page is told of the run; the run may have gone on since."""

    def act() -> tuple[dict[str, Any], list[Any]]:
        live.journey._grow()
        told, widget._told = widget._told, []
        return live.journey.payload, told

    payload, told = live.do(act)
    widget.tell(told)
    return payload


def test_parts_make_the_same_run_as_the_whole(widget: Live, live: LiveCluster, client: Client, page: Page) -> None:
    before = int(page.locator(".klab.sequence").get_attribute("data-events") or 0)
    live.hold()
    asked = client.later(lambda: client.send("b"))
    for name in ("Produce#2", "ProduceResponse#2"):
        live.let_go(live.wait_for(name))
        grow(live, widget)
    assert asked.result(CALL_S) is Error.NONE
    live.crash("b1")
    payload = grow(live, widget)
    sequence = page.locator(".klab.sequence")
    assert len(payload["events"]) > before
    expect(sequence).to_have_attribute("data-events", str(len(payload["events"])))
    expect(sequence.locator(".now")).to_have_text("b1 crashes. Its logs stay; all else that it knew is gone.")
    step = sequence.get_attribute("data-step") or ""
    expect(page.locator(".klab.log-tape")).to_have_attribute("data-step", step)
    text = pack(payload)
    assert page.evaluate(SAME.replace("SOURCE", "window.w0"), text) == [True, True, True]
    assert page.evaluate("models.j0.get('payload').length") < len(text)


def test_a_browser_that_missed_a_part_asks_for_it(widget: Live, live: LiveCluster, client: Client, page: Page) -> None:
    assert client.now(lambda: client.send("b")) is Error.NONE
    live.do(live.journey._grow)
    widget._told.clear()
    assert client.now(client.end) is Error.NONE
    payload = grow(live, widget)
    widget.settle()
    expect(page.locator(".klab.sequence")).to_have_attribute("data-events", str(len(payload["events"])))
    assert page.evaluate(SAME.replace("SOURCE", "window.w0"), pack(payload)) == [True, True, True]


@pytest.mark.parametrize("view", [".klab.sequence", ".klab.log-tape", ".klab.panel"])
def test_right_lets_the_next_frame_go(view: str, widget: Live, live: LiveCluster, client: Client, page: Page) -> None:
    live.hold()
    asked = client.later(lambda: client.send("b"))
    live.wait_for("Produce")
    grow(live, widget)
    page.locator(view).focus()
    for name in ("Produce#2", "ProduceResponse#2"):
        live.wait_for(name)
        page.keyboard.press("ArrowRight")
        widget.settle()
        assert live.trace.frames[name].fate == "delivered"
    assert asked.result(CALL_S) is Error.NONE
    expect(page.locator(".klab.sequence .now")).to_have_text("app receives ProduceResponse#2.")


def test_what_has_grown_is_drawn_as_if_it_were_laid_out_anew(
    widget: Live, live: LiveCluster, client: Client, page: Page
) -> None:
    live.hold()
    asked = client.later(lambda: [client.send(value) for value in "bcd"])
    for number in (2, 3, 4):
        for name in (f"Produce#{number}", f"ProduceResponse#{number}"):
            live.let_go(live.wait_for(name))
            grow(live, widget)
    assert asked.result(CALL_S) == [Error.NONE] * 3
    page.wait_for_timeout(600)  # the ticks follow later
    before = page.evaluate(DRAWN)
    page.evaluate("models.j0.fire('change:groups')")
    assert "ProduceResponse#4" in before[0]
    assert page.evaluate(DRAWN) == before


def test_growth_leaves_the_cursor_where_the_learner_has_gone(
    widget: Live, live: LiveCluster, client: Client, page: Page
) -> None:
    sequence = page.locator(".klab.sequence")
    sequence.focus()
    page.keyboard.press("ArrowLeft")
    step = sequence.get_attribute("data-step") or ""
    assert client.now(lambda: client.send("b")) is Error.NONE
    payload = grow(live, widget)
    expect(sequence).to_have_attribute("data-events", str(len(payload["events"])))
    expect(sequence).to_have_attribute("data-step", step)


def test_a_press_of_the_browser_lets_exactly_one_frame_go(live: LiveCluster, client: Client) -> None:
    journey, sent = live.journey, []
    journey.send = lambda content, buffers=None: sent.append(content["kind"])
    live.hold()
    asked, others = client.later(client.init), Client(live, "other", "second")
    waits = others.later(others.init)
    live.wait_for("InitProducerId#1")
    live.wait_for("InitProducerId#2")
    live.do(journey._grow)
    sent.clear()
    journey._handle_custom_msg({"kind": "press", "action": "right", "target": "", "step": 0}, [])  # it knows less
    fates = [live.trace.frames[f"InitProducerId#{number}"].fate for number in (1, 2)]
    assert sorted(fates) == ["delivered", "in flight"]
    assert (sent.count("done"), sent.count("error")) == (1, 0)
    live.free_run()
    assert (asked.result(CALL_S), waits.result(CALL_S)) == (Error.NONE, Error.NONE)
    others.close()


def test_right_lets_a_frame_go_also_if_the_run_has_grown_unseen(
    widget: Live, live: LiveCluster, client: Client, page: Page
) -> None:
    live.hold()
    asked = client.later(lambda: client.send("b"))
    live.wait_for("Produce")
    live.do(live.journey._grow)
    page.locator(".klab.sequence").focus()
    page.keyboard.press("ArrowRight")
    widget.settle()
    assert live.trace.frames["Produce#2"].fate == "delivered"
    live.free_run()
    assert asked.result(CALL_S) is Error.NONE


def test_the_buttons_strike_the_frame_that_waits(widget: Live, live: LiveCluster, client: Client, page: Page) -> None:
    sequence = page.locator(".klab.sequence")
    undo = sequence.locator('[data-action="undo"]')
    expect(undo).to_have_attribute("aria-description", f"{NOT_UNDONE[0].upper()}{NOT_UNDONE[1:]}.")
    drop = sequence.locator('[data-action="drop"]')
    live.hold()
    asked = client.later(lambda: client.send("b"))
    live.wait_for("Produce")
    grow(live, widget)
    expect(drop).to_have_attribute("aria-disabled", "false")
    drop.click()
    widget.settle()
    assert live.trace.frames["Produce#2"].fate == "dropped"
    with pytest.raises(ConnectionError):
        asked.result(CALL_S)
    expect(drop).to_have_attribute("aria-disabled", "true")


def test_a_part_is_small_also_after_5000_events(widget: Live, live: LiveCluster, client: Client, page: Page) -> None:
    while live.trace.steps < 5_000:
        client.now(lambda: client.send("v"))
        client.now(client.end)
    grow(live, widget)
    sizes: list[int] = []
    live.journey.send = lambda content, buffers=None: sizes.append(len(json.dumps(content)))
    client.now(lambda: client.send("v"))
    live.do(live.journey._grow)
    assert sum(sizes) * 10 < len(pack(live.journey.payload))


def test_views_say_that_recording_has_stopped(page: Page) -> None:
    with LiveCluster(topics={"out": 1}, most_events=300) as live:
        client, sequence = Client(live), Sequence(live)
        others = [view(sequence) for view in (LogTape, FaultPanel, StateChart, ClusterMap)]
        widget = Live(page, sequence, *others)
        while not live.trace.full:
            for call in (client.init, lambda: client.send("v"), client.end):
                assert client.now(call) is Error.NONE
        for _ in range(2):
            payload = grow(live, widget)
            expect(page.locator(".klab.sequence")).to_have_attribute("data-events", str(len(payload["events"])))
            for name in ("sequence", "log-tape", "panel", "state-chart", "cluster-map"):
                expect(page.locator(f".klab.{name} .now")).to_have_text(STOPPED)
            for view in widget.widgets.values():
                assert STOPPED in view.text()
                assert STOPPED in view.svg()
            assert client.now(client.init) is Error.NONE  # and nothing of it is widget
        client.close()
