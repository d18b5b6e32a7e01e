"""Small reference pictures of the views in four colour modes and two sizes, and a comparison that forgives fonts.

`python -m tests.widgets.references` takes them anew, into tests/browser/references; look at them before committing.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

from kafkalab import lab03, lab13
from kafkalab.faults.frame import Drop
from kafkalab.faults.link import Cut
from kafkalab.faults.node import Crash, Pause
from kafkalab.programs.groups import two_members
from kafkalab.protocol.rules import DEDUPLICATION
from kafkalab.reference.exhibits import museum
from kafkalab.sim.scenario import Scenario
from kafkalab.widgets.model.journey import Journey
from kafkalab.widgets.views.alternatives import Alternatives
from kafkalab.widgets.views.client_view import ClientView
from kafkalab.widgets.views.cluster_map import ClusterMap
from kafkalab.widgets.views.compare import Compare
from kafkalab.widgets.views.cost_meter import CostMeter
from kafkalab.widgets.views.fault_panel import FaultPanel
from kafkalab.widgets.views.log_tape import LogTape
from kafkalab.widgets.views.predict import Predict
from kafkalab.widgets.views.sequence import Sequence
from kafkalab.widgets.views.share import Share
from kafkalab.widgets.views.state_chart import StateChart
from kafkalab.widgets.views.verdict import Verdict
from kafkalab.widgets.views.view import Picture, View
from kafkalab.wire.frame_bytes import frame_bytes
from tests.browser.conftest import CHROMIUM_ARGS
from tests.programs_found import find_program
from tests.widgets.frames import wait_until_drawn
from tests.widgets.live import Live

FOLDER = Path(__file__).parents[1] / "browser" / "references"
WIDTH, HEIGHT = 320, 200
COLOURS = 64
BLOCK, STEP = 4, 26
THEMES = {
    "light": "",
    "dark": "--jp-ui-font-color1:#fff;--jp-ui-font-color2:#ffffff8a;--jp-content-font-color0:#fff;"
    "--jp-layout-color1:#212121;--jp-layout-color2:#424242;--jp-border-color1:#616161;--jp-brand-color1:#2196f3;"
    "background:#111",
    "high-contrast": "--jp-ui-font-color1:#fff;--jp-ui-font-color2:#fff;--jp-content-font-color0:#fff;"
    "--jp-layout-color1:#000;--jp-layout-color2:#000;--jp-border-color1:#fff;--jp-brand-color1:#5af;background:#000",
    "forced": "",
}
"""JupyterLab's variables in its Dark and Dark High Contrast themes."""
SHRINK = """async ([picture, width, height, asPixels]) => {
  const image = new Image(), canvas = Object.assign(document.createElement("canvas"), { width, height });
  image.src = picture;
  await image.decode();
  const pen = canvas.getContext("2d", { willReadFrequently: true });
  pen.imageSmoothingQuality = "high";
  pen.drawImage(image, 0, 0, width, height);
  return asPixels ? [...pen.getImageData(0, 0, width, height).data] : canvas.toDataURL("image/png");
}"""


def _log() -> View:
    view = LogTape(lab03().with_faults(Crash("app", at_step=150)))
    view.press("end")
    view.press("choose", "accounts-0@0")
    return view


def _chart(name: str, step: int) -> View:
    view = StateChart(two_members() if name == "group" else lab03(), name)
    view.step = step
    return view


def _map() -> View:
    cut = Cut("b1", ("b2", "controller"), at_step=192)
    view = ClusterMap(lab03().with_faults(cut, Pause("b3", at_step=215), Crash("b2", at_step=216)))
    view.press("end")
    return view


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A view as it shall be seen: its size and colours."""

    make: Callable[[], Picture]
    size: str = "laptop"
    mode: str = "light"


def _sequence(time: str = "down") -> View:
    view = Sequence(lab03().with_faults(Crash("b2", at_step=195)), time=time)
    view.step = 230
    view.journey.report()
    return view


def _client() -> View:
    view = ClientView(lab03(), revealed=True)
    view.step = 195
    return view


def _faults() -> View:
    journey = Journey(lab03())
    journey.press("drop", "EndTxn#1")
    journey.press("undo")
    journey.press("crash", "b3")
    journey.press("name", "b3 crashes")
    return FaultPanel(journey)


def _compare() -> Compare:
    """The verdicts are known before the picture is taken."""
    view = Compare.rule(_load_torn(), DEDUPLICATION)
    view.check()
    return view


def _costs() -> CostMeter:
    """Return what two transactions have cost, by API."""
    meter = CostMeter(lab13(), size_of=frame_bytes)
    meter.press("end")
    return meter


def _load_torn() -> Scenario:
    stored = Scenario.load(FOLDER.parents[2] / "data" / "rules" / "deduplication.klab")
    return replace(stored, rules_off=(DEDUPLICATION.name,))


def _card() -> Predict:
    """A card with a wrong answer, as if it were the only one of its notebook."""
    Predict.cards.clear()
    choices = {"a": "It commits", "b": "It aborts", "c": "It hangs until the transaction times out"}
    card = Predict("EndTxn is lost on its way. What becomes of it?", choices, "a", "The client sends it again.")
    card.press("choose", "b")
    card.press("tell")
    return card


MADE: dict[str, Callable[[], Picture]] = {
    "sequence": _sequence,
    "across": lambda: _sequence("across"),
    "client_view": _client,
    "log_tape": _log,
    "coordinator": lambda: _chart("coordinator", 211),
    "cluster_map": _map,
    "fault_panel": _faults,
    "compare": _compare,
    "verdict": lambda: Verdict(_load_torn()),
    "cost_meter": _costs,
    "chooser": lambda: museum().chooser,
    "alternatives": lambda: Alternatives("coordinator", place="told"),
    "share": lambda: Share(lab03(seed=7).with_faults(Drop("EndTxn#1"))),
    "predict": _card,
}
FEWER = ("across", "fault_panel", "compare", "verdict", "cost_meter", "chooser", "alternatives", "share", "predict")
CASES = {
    f"{name}_{mode}": Case(make=make, mode=mode)
    for name, make in MADE.items()
    for mode in THEMES
    if not (name in FEWER and mode == "high-contrast")
}
CASES |= {f"{name}_projector": Case(make=make, size="projector") for name, make in MADE.items()}
CASES |= {
    "producer_light": Case(make=lambda: _chart("producer", 211)),
    "group_light": Case(make=lambda: _chart("group", 400)),
}


def take_picture(browser: Browser, case: Case) -> str:
    """The case on the screen now, as a PNG in a data URL."""
    viewport: Any = {"width": 1280, "height": 800} if case.size == "laptop" else {"width": 1920, "height": 1080}
    context = browser.new_context(
        viewport=viewport, forced_colors="active" if case.mode == "forced" else "none", reduced_motion="reduce"
    )
    page = context.new_page()
    widget = case.make()
    widget.size = case.size
    Live(page, widget)
    page.evaluate("style => { document.body.style = style; document.activeElement.blur(); }", THEMES[case.mode])
    wait_until_drawn(page)
    picture = base64.b64encode(page.screenshot()).decode()
    context.close()
    return f"data:image/png;base64,{picture}"


def shrunk(page: Page, picture: str) -> bytes:
    """A picture at the size of the references, in few colours, as a PNG."""
    data: str = page.evaluate(SHRINK, [picture, WIDTH, HEIGHT, False])
    small = Image.open(io.BytesIO(base64.b64decode(data.partition(",")[2]))).convert("RGB")
    file = io.BytesIO()
    small.quantize(COLOURS, Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE).save(file, "PNG", optimize=True)
    return file.getvalue()


def blocks(page: Page, picture: str) -> list[int]:
    """The mean colours of a picture's blocks: red, green, blue, alpha, one after the other."""
    pixels: list[int] = page.evaluate(SHRINK, [picture, WIDTH // BLOCK, HEIGHT // BLOCK, True])
    return pixels


def difference(page: Page, one: str, other: str) -> float:
    """The share of blocks of a picture, shrunk, and of another, in percent, whose mean colours clearly differ."""
    small = "data:image/png;base64," + base64.b64encode(shrunk(page, one)).decode()
    first, second = blocks(page, small), blocks(page, other)
    far = [
        max(abs(a - b) for a, b in zip(first[i : i + 3], second[i : i + 3], strict=True)) > STEP
        for i in range(0, len(first), 4)
    ]
    return 100 * sum(far) / len(far)


def reference(name: str) -> str:
    """A committed picture as a data URL."""
    return "data:image/png;base64," + base64.b64encode((FOLDER / f"{name}.png").read_bytes()).decode()


def main() -> None:
    """The committed pictures are what Chromium shows now."""
    FOLDER.mkdir(exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_program("browser"), args=CHROMIUM_ARGS)
        page = browser.new_page()
        for name, case in CASES.items():
            (FOLDER / f"{name}.png").write_bytes(shrunk(page, take_picture(browser, case)))
            print(f"wrote {name}.png")
        browser.close()


if __name__ == "__main__":
    main()
