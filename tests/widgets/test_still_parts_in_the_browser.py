"""What a step does not change stays as it is: a step is painted sooner, and the eye has less to follow."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page

from kafkalab import Program, Scenario
from kafkalab.widgets.views.sequence import Sequence
from tests.widgets.harness import show

pytestmark = pytest.mark.browser
STEPS = 110
LOOK = """() => {
  const root = document.querySelector(".klab"), of = (selector) => [...root.querySelectorAll(selector)];
  const [rows] = of(".sheet g");
  return {
    height: root.querySelector(".scroll").clientHeight,
    strips: of(".strip").filter((one) => one.offsetHeight).length,
    shift: rows.getAttribute("transform"),
    lives: of(".life").length && of(".sheet svg > g")[1].innerHTML,
  };
}"""


@pytest.mark.smoke
def test_the_diagram_keeps_its_height_and_its_rows_their_place(page: Page) -> None:
    programs = (Program("p0", "transactions", {"transactional_id": "t0", "count": 5}),)
    view = Sequence(Scenario(topics={"out": 2}, programs=programs))
    page.set_viewport_size({"width": 864, "height": 800})
    page.emulate_media(reduced_motion="reduce")
    show(page, view.payload, 0, every=True)
    seen = []
    page.keyboard.press("End")
    for _ in range(STEPS):
        page.keyboard.press("ArrowLeft")
        seen.append(page.evaluate(LOOK))
    # A strip of an internal log takes its line from the diagram while that log changes; nothing else does.
    assert len({one["height"] for one in seen}) == len({one["strips"] for one in seen}) == 2
    assert len({(one["height"], one["strips"]) for one in seen}) == 2
    for strips in {one["strips"] for one in seen}:
        alike = [one for one in seen if one["strips"] == strips]
        assert len({one["shift"] for one in alike}) < STEPS / 10
        assert len({one["lives"] for one in alike}) < STEPS / 10
