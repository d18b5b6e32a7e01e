"""Every widget in JupyterLab, as a learner presses it: one journey, the screen is the text twin before and after."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import nbformat
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from kafkalab import lab03
from kafkalab.faults.frame import Drop
from kafkalab.widgets.model.journey import Journey
from kafkalab.widgets.views.alternatives import NAMES, Alternatives
from kafkalab.widgets.views.client_view import ClientView
from kafkalab.widgets.views.cluster_map import ClusterMap
from kafkalab.widgets.views.compare import Compare
from kafkalab.widgets.views.cost_meter import CostMeter
from kafkalab.widgets.views.fault_panel import FaultPanel
from kafkalab.widgets.views.log_tape import LogTape
from kafkalab.widgets.views.predict import Predict
from kafkalab.widgets.views.share import Share
from kafkalab.widgets.views.state_chart import StateChart
from kafkalab.widgets.views.verdict import Verdict
from kafkalab.widgets.views.view import View
from tests.browser.conftest import LAPTOP, SHOW_WITHIN_MS, Jupyter
from tests.browser.test_lab03 import screen, twin
from tests.widgets.screens import agree
from tests.widgets.test_alternatives_in_the_browser import same as compare_machines
from tests.widgets.test_client_view_in_the_browser import bare
from tests.widgets.test_client_view_in_the_browser import screen as client_screen
from tests.widgets.test_client_view_in_the_browser import twin as client_twin
from tests.widgets.test_compare_in_the_browser import same as compare_compare
from tests.widgets.test_cost_meter_in_the_browser import compare as compare_costs
from tests.widgets.test_fault_panel_in_the_browser import compare as compare_faults
from tests.widgets.test_predict_in_the_browser import same as compare_card
from tests.widgets.test_share_in_the_browser import same as compare_share
from tests.widgets.test_verdict_in_the_browser import compare as compare_verdict

pytestmark = pytest.mark.browser

QUESTION, CHOICES, BECAUSE = "What becomes of it?", {"a": "It commits", "b": "It aborts"}, "The client sends it again."
CARD = f"Predict({QUESTION!r}, {CHOICES!r}, sealed={Predict.seal('a', BECAUSE)!r})"
CELLS = (
    "from kafkalab import *\njourney = Journey(lab03())", "Sequence(journey)", "LogTape(journey)",
    "StateChart(journey)",
    "ClusterMap(journey)", "ClientView(journey)", "FaultPanel(journey)", "Verdict(journey)", "Share(journey)",
    "Compare(journey, lab03().with_faults(Drop('EndTxn#1')))", "CostMeter(journey)", "Alternatives()", CARD,
)  # fmt: skip
LAST = ".klab.predict"


VIEWS: dict[str, tuple[type[View], tuple[tuple[str, str], ...]]] = {
    "log-tape": (
        LogTape,
        (("r", "replicas"), ("ArrowDown", "down"), ("]", "after"), ("i", "inspect"), ("r", "replicas")),
    ),
    "state-chart": (StateChart, (("ArrowDown", "down"), ("ArrowDown", "down"), ("w", "what_if"), ("w", "what_if"))),
    "cluster-map": (ClusterMap, (("ArrowDown", "down"), ("ArrowDown", "down"), ("ArrowUp", "up"))),
}


class Desk:
    """The page with a notebook of all widgets, and a journey in this process to which the same is done."""

    def __init__(self, page: Page, errors: list[str]) -> None:
        self.page, self.errors = page, errors
        Predict.cards.clear()
        self.journey = Journey(lab03())
        self.card = Predict(QUESTION, CHOICES, "a", BECAUSE)
        self.views: dict[str, Any] = {name: kind(self.journey) for name, (kind, _) in VIEWS.items()}
        self.compare = Compare(self.journey, lab03().with_faults(Drop("EndTxn#1")))

    def widget(self, name: str) -> Locator:
        """The widget of this class, in view and with the keyboard."""
        widget = self.page.locator(f".klab.{name}")
        widget.scroll_into_view_if_needed()
        widget.focus()
        return widget

    def go(self, step: int) -> None:
        """Both journeys stand at this step: from the first stop by as many keys as it takes."""
        places = self.journey.every_stop()
        sequence = self.widget("sequence")
        self.page.keyboard.press("Home")
        for _ in range(places.index(step)):
            self.page.keyboard.press(".")
        expect(sequence).to_have_attribute("data-step", str(step))
        self.journey.step = step

    def stood_at(self, name: str) -> int:
        """Return where the widget says that the cursor is, which is now where the journey here is, too."""
        self.journey.step = int(self.page.locator(f".klab.{name}").get_attribute("data-step") or -1)
        return int(self.journey.step)


@pytest.fixture(scope="module")
def desks(browser: Browser, jupyter: Jupyter) -> Iterator[list[Desk]]:
    """The desks opened so far: one, and another for each test that is run again."""
    cells = [nbformat.v4.new_code_cell(source) for source in CELLS]
    metadata = {"kernelspec": {"name": "python3", "display_name": "Python"}}
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=metadata), jupyter.folder / "labs" / "widgets.ipynb")
    opened: list[Desk] = []
    yield opened
    for desk in opened:
        desk.page.context.close()


@pytest.fixture
def desk(request: pytest.FixtureRequest, browser: Browser, jupyter: Jupyter, desks: list[Desk]) -> Desk:
    """The desk that the tests share; a test that is run again gets a new one, since it may have left the old one."""
    if not desks or getattr(request.node, "execution_count", 1) > 1:
        desks.append(open_desk(browser, jupyter))
    return desks[-1]


def open_desk(browser: Browser, jupyter: Jupyter) -> Desk:
    """Open the notebook in a new window and run its cells."""
    context = browser.new_context(viewport=LAPTOP)
    context.set_default_timeout(SHOW_WITHIN_MS)
    page, errors = context.new_page(), []
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(jupyter.url("lab/tree/labs/widgets.ipynb") + "&reset")
    page.locator(".jp-Notebook .jp-Cell").first.click()
    expect(page.locator("#jp-bottom-panel")).to_contain_text("| Idle")
    for _ in CELLS:
        page.keyboard.press("Shift+Enter")
    page.locator(LAST).wait_for()
    expect(page.locator("#jp-bottom-panel")).to_contain_text("| Idle")
    return Desk(page, errors)


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_steps_and_answers_its_keys(desk: Desk, name: str) -> None:
    _, keys = VIEWS[name]
    desk.go(desk.journey.every_stop()[0 if name == "state-chart" else 30])  # a chart steps from change to change
    view = desk.views[name]
    widget = desk.widget(name)
    for _ in range(6):
        before = widget.get_attribute("data-step")
        desk.page.keyboard.press("ArrowRight")
        expect(widget).not_to_have_attribute("data-step", str(before))
        agree(desk.page, view, name)
    for key, action in keys:
        desk.page.keyboard.press(key)
        view.press(action)
        desk.page.wait_for_timeout(100)
        agree(desk.page, view, name)
    desk.page.keyboard.press("End")
    agree(desk.page, view, name)
    assert desk.errors == []


def test_the_cost_meter_counts_up_to_where_the_other_pictures_stand(desk: Desk) -> None:
    meter = CostMeter(desk.journey)
    desk.go(desk.journey.every_stop()[25])
    desk.widget("cost")
    compare_costs(desk.page, meter)
    desk.page.keyboard.press("b")
    desk.page.wait_for_timeout(100)
    meter.press("by", "phase")
    compare_costs(desk.page, meter)
    assert desk.errors == []


def test_four_machines_walk_and_are_pressed_together(desk: Desk) -> None:
    view = Alternatives()
    desk.widget("alternatives")
    compare_machines(desk.page, view)
    for key, action in (("ArrowRight", "right"), ("ArrowRight", "right"), ("2", NAMES[1]), ("End", "end")):
        desk.page.keyboard.press(key)
        view.press(action)
        compare_machines(desk.page, view)
    assert desk.errors == []


def test_the_clients_view_steps_from_moment_to_moment_and_reveals(desk: Desk) -> None:
    desk.go(desk.journey.every_stop()[20])
    view = ClientView(desk.journey)
    desk.widget("client-view")
    for key, action in (("Home", "home"), ("ArrowRight", "right"), ("ArrowRight", "right"), ("End", "end")):
        desk.page.keyboard.press(key)
        view.press(action)
        assert desk.stood_at("client-view") == view.step
        assert bare(client_screen(desk.page)) == bare(client_twin(view))
    desk.page.keyboard.press("r")
    view.press("reveal")
    assert bare(client_screen(desk.page)) == bare(client_twin(view))
    desk.page.keyboard.press("r")
    assert desk.errors == []


def test_a_fault_pressed_in_the_panel_is_in_every_view_and_undone_in_all(desk: Desk) -> None:
    journey, page = desk.journey, desk.page
    desk.go(journey.payload["frames"]["EndTxn#1"]["sent"])
    panel, verdict, share = FaultPanel(journey), Verdict(journey), Share(journey)
    compare_faults(page, panel)
    compare_verdict(page, verdict)
    compare_share(page, share)
    for action, target in (("drop", "EndTxn#1"), ("undo", "")):
        desk.widget("fault-panel")
        page.locator(f'.fault-panel [data-action="{action}"]').first.click()
        journey.press(action, target)
        expect(page.locator(".klab.sequence")).to_have_attribute("data-place", str(journey.place))
        expect(page.locator("#jp-bottom-panel")).to_contain_text("| Idle")
        assert desk.stood_at("fault-panel") == int(page.locator(".klab.sequence").get_attribute("data-step") or -1)
        compare_faults(page, panel)
        desk.widget("verdict")
        page.wait_for_function(f"document.querySelector('.share .where').textContent.includes('run {journey.place}')")
        compare_verdict(page, verdict)
        compare_share(page, share)
        assert screen(page.locator(".klab.sequence")) == twin(journey.payload, journey.step)
        for name, view in desk.views.items():
            agree(page, view, name)
    assert desk.errors == []


def test_two_runs_are_compared_row_by_row(desk: Desk) -> None:
    desk.widget("compare")
    compare_compare(desk.page, desk.compare)
    for key, action in (("ArrowRight", "right"), ("ArrowRight", "right"), ("End", "end"), ("d", "difference")):
        desk.page.keyboard.press(key)
        desk.compare.press(action)
        compare_compare(desk.page, desk.compare)
    assert desk.errors == []


def test_a_card_keeps_an_answer_and_tells_why_when_it_is_asked(desk: Desk) -> None:
    card = desk.widget("predict")
    compare_card(desk.page, desk.card)
    card.locator('[data-action="choose"][data-target="b"]').click()
    desk.card.press("choose", "b")
    expect(card.locator(".now")).to_contain_text("You said b")
    compare_card(desk.page, desk.card)
    card.locator('[data-action="tell"]').click()
    desk.card.press("tell")
    expect(card.locator(".now")).to_contain_text("wrong")
    compare_card(desk.page, desk.card)
    assert desk.errors == []
