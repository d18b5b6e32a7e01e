"""The animated picture of README: the real sequence view in Chromium, driven through steps, a fault and a fork.

`python -m tests.browser.make_animation` writes docs/kafkalab.gif anew.
"""

from __future__ import annotations

import io
import shutil
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import Page, sync_playwright

from kafkalab import lab03
from kafkalab.widgets.payload.packing import packed
from kafkalab.widgets.views.sequence import Sequence
from tests.browser.conftest import CHROMIUM_ARGS
from tests.widgets.harness import show

PICTURE = Path(__file__).parents[2] / "docs" / "kafkalab.gif"
SIZE = {"width": 1100, "height": 620}
COLOURS = 64
STAND_MS, FLY_MS, LOOK_MS = 900, 130, 2200
TRAITS = ("step", "place", "tree", "can_undo", "can_redo", "verdict")
FREEZE = "at => document.getAnimations().forEach((one) => { one.pause(); one.currentTime = at; })"
FINISH = "document.getAnimations().forEach((one) => one.finish())"


class Film:
    """Shots of a view in a page, each with how long it stands."""

    def __init__(self, page: Page, view: Sequence) -> None:
        self.page, self.view = page, view
        self.shots: list[tuple[Image.Image, int]] = []

    def shot(self, duration_ms: int) -> None:
        self.shots.append((Image.open(io.BytesIO(self.page.screenshot())).convert("RGB"), duration_ms))

    def key(self, key: str, duration_ms: int = STAND_MS) -> None:
        """A key; what flies because of it is shot on its way and when it has arrived."""
        self.page.keyboard.press(key)
        self._answer()
        if self.page.evaluate("document.getAnimations().length"):
            for at in (90, 200):
                self.page.evaluate(FREEZE, at)
                self.shot(FLY_MS)
            self.page.evaluate(FINISH)
        self.shot(duration_ms)

    def _answer(self) -> None:
        """If the page asked the kernel for a press, the journey does it and the page is told."""
        asked = self.page.evaluate("journey.sent.splice(0).filter((message) => message.kind === 'press')")
        for message in asked:
            journey = self.view.journey
            journey._handle_custom_msg(message, [])
            journey.report()
            values: dict[str, Any] = {name: getattr(journey, name) for name in TRAITS}
            payload = packed(journey.payload)
            self.page.evaluate(
                "([values, payload]) => { Object.assign(journey.values, values); journey.set('payload', payload);"
                " for (const name in values) journey.fire(`change:${name}`);"
                " journey.fire('msg:custom', { kind: 'done' }); }",
                [values, payload],
            )

    def save(self, path: Path) -> None:
        """The shots as an animation with one palette for all, so that what stands still costs nothing."""
        palette = self._palette()
        images = [image.quantize(palette=palette, dither=Image.Dither.NONE) for image, _ in self.shots]
        durations = [duration for _, duration in self.shots]
        images[0].save(
            path, save_all=True, append_images=images[1:], duration=durations, loop=0, optimize=True, disposal=1
        )

    def _palette(self) -> Image.Image:
        """Colours that are far apart, of shots from all parts of the film: the rare red of a fault is among them."""
        some = [image for image, _ in self.shots[::7]]
        sheet = Image.new("RGB", (some[0].width, some[0].height * len(some)))
        for i, image in enumerate(some):
            sheet.paste(image, (0, i * image.height))
        return sheet.quantize(COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)


def play(film: Film) -> None:
    """Steps of a commit; its decision is dropped, and sent again; that is undone, and the coordinator crashes."""
    film.shot(LOOK_MS)
    for _ in range(4):
        film.key("ArrowRight")
    for _ in range(3):
        film.page.keyboard.press("ArrowLeft")
    film.shot(STAND_MS)
    film.key("d", LOOK_MS)
    for _ in range(3):
        film.key("ArrowRight")
    film.key("z", STAND_MS)
    film.key("3", LOOK_MS)
    for _ in range(7):
        film.key("ArrowRight")
    film.page.keyboard.press("End")
    film.page.evaluate(FINISH)
    film.shot(LOOK_MS)


def main() -> None:
    """docs/kafkalab.gif is written anew."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        raise SystemExit("Chromium is needed to make the picture. On Debian or Ubuntu: apt install chromium.")
    view = Sequence(lab03())
    view.step = view.payload["frames"]["EndTxn#1"]["sent"]
    view.press("left")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=CHROMIUM_ARGS)
        page = browser.new_page(viewport=SIZE)
        show(page, view.payload, view.step)
        page.add_style_tag(content="body { margin: 0; } .klab.sequence { height: 100vh; overflow: hidden; }")
        film = Film(page, view)
        play(film)
        browser.close()
    film.save(PICTURE)
    print(f"wrote {PICTURE.name}: {len(film.shots)} shots, {PICTURE.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
