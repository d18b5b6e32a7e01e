"""The animated picture of README: the real sequence view in Chromium, driven through steps and a fault.

`python -m tests.browser.make_animation` writes docs/kafkalab.gif anew. With a folder it also saves each shot there.
"""

from __future__ import annotations

import io
import sys
from dataclasses import replace
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page, ViewportSize, sync_playwright

from kafkalab import lab00, lab01
from kafkalab.protocol.rules import DEDUPLICATION
from kafkalab.widgets.views.sequence import Sequence
from tests.browser.conftest import CHROMIUM_ARGS
from tests.programs_found import find_program
from tests.widgets.live import Live

PICTURE = Path(__file__).parents[2] / "docs" / "kafkalab.gif"
SIZE: ViewportSize = {"width": 960, "height": 560}
COLOURS = 64
STAND_MS, FLY_MS, LOOK_MS, READ_MS = 900, 130, 2600, 3400
FREEZE = "at => document.getAnimations().forEach((one) => { one.pause(); one.currentTime = at; })"
FINISH = "document.getAnimations().forEach((one) => one.finish())"
STYLE = """
  body { margin: 0; }
  #w0 { margin: 0 !important; }
  .klab.sequence { height: calc(100vh - 46px); border-radius: 0; }
  .told-here { display: flex; align-items: center; justify-content: space-between; height: 46px; padding: 0 16px;
    font: 600 19px system-ui, sans-serif; color: #fff; background: #15233b; }
  .told-here kbd { font: 600 17px system-ui, sans-serif; padding: 3px 12px; border-radius: 6px; color: #15233b;
    background: #ffd54a; }
  .told-here kbd:empty { display: none; }
  .pressed { outline: 4px solid #ffb300 !important; outline-offset: 1px; }
"""
CAPTION = """([words, key]) => {
  const bar = document.querySelector(".told-here") ?? document.body.insertAdjacentElement("afterbegin",
    Object.assign(document.createElement("div"), {className: "told-here", innerHTML: "<span></span><kbd></kbd>"}));
  if (words) bar.firstChild.textContent = words;
  bar.lastChild.textContent = key;
}"""


class Film:
    """Shots of one view after another, each with how long it is shown."""

    def __init__(self, browser: Browser) -> None:
        self.browser = browser
        self.shots: list[tuple[Image.Image, int]] = []

    def scene(self, view: Sequence, words: str) -> None:
        """Show the view in a page of its own, and what the checks say of its run."""
        self.page: Page = self.browser.new_page(viewport=SIZE)
        self.live = Live(self.page, view)
        self.page.add_style_tag(content=STYLE)
        self.page.locator(".klab").focus()
        self.live.settle()
        self.caption(words)
        self._stand()

    def caption(self, words: str, key: str = "") -> None:
        """The sentence above the view, and the key that is pressed; without words the sentence before it stays."""
        self.page.evaluate(CAPTION, [words, key])

    def shot(self, duration_ms: int) -> None:
        self.shots.append((Image.open(io.BytesIO(self.page.screenshot())).convert("RGB"), duration_ms))

    def key(self, key: str, duration_ms: int = STAND_MS, sign: str = "→") -> None:
        """A key; what flies because of it is shot on its way and when it has arrived."""
        self.caption("", sign)
        self.page.keyboard.press(key)
        self.live.settle()
        if self.page.evaluate("document.getAnimations().length"):
            for at in (90, 200):
                self.page.evaluate(FREEZE, at)
                self.shot(FLY_MS)
        self._stand()
        self.shot(duration_ms)

    def drop(self) -> None:
        """The button for it is ringed, then pressed."""
        ring = "yes => document.querySelector('[data-action=drop]').classList.toggle('pressed', yes)"
        self.caption("", "")
        self.page.evaluate(ring, True)
        self.shot(LOOK_MS)
        self.page.evaluate(ring, False)
        self.key("d", LOOK_MS, "× Drop")

    def _stand(self) -> None:
        self.page.evaluate(FINISH)
        self.live.settle()
        self.page.wait_for_function("!document.querySelector('.quiet').textContent.includes('looking')")
        self.page.evaluate(FINISH)

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
    """A lost answer, three times: without numbers, with an idempotent producer, and with its rule switched off."""
    film.scene(Sequence(lab00()), "A shop orders one soup. Each arrow is a message, stopped on its way.")
    film.shot(LOOK_MS)
    film.key("ArrowRight")
    film.key("ArrowRight")
    film.caption("Cause: lose the broker's answer.")
    film.drop()
    film.key("]", sign="] next chapter")
    film.caption("The shop waits 30 seconds, and can only ask again …")
    for _ in range(2):
        film.key("]", sign="] next chapter")
    while film.page.locator(".klab").get_attribute("data-stop-index") != _last(film):
        film.key("ArrowRight", STAND_MS // 2)
    film.caption("Effect: two soups in the log. Allowed: nothing tells the broker that it is a retry.")
    film.shot(READ_MS)
    numbered = Sequence(lab01())
    numbered.step = numbered.payload["frames"]["ProduceResponse#2"]["sent"]
    film.scene(numbered, "The same loss with an idempotent producer: its records are numbered.")
    film.drop()
    for _ in range(6):
        film.key("ArrowRight", STAND_MS // 2)
    film.page.keyboard.press("End")
    film.caption("Sequence 2 comes again: the broker answers, and appends nothing. One rice.", "End")
    film._stand()
    film.shot(READ_MS)
    off = Sequence(replace(numbered.journey.scenario, rules_off=(DEDUPLICATION.name,)))
    off.press("end")
    film.scene(off, "Switch that one rule off: the checks say which promise breaks, and where.")
    film.shot(READ_MS)


def _last(film: Film) -> str | None:
    return film.page.locator(".klab").get_attribute("data-stop-count")


def main() -> None:
    """docs/kafkalab.gif is written anew."""
    chromium = find_program("browser")
    if chromium is None:
        raise SystemExit("Chromium is needed to make the picture. On Debian or Ubuntu: apt install chromium.")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=CHROMIUM_ARGS)
        film = Film(browser)
        play(film)
        browser.close()
    for folder in map(Path, sys.argv[1:2]):
        for i, (image, _) in enumerate(film.shots):
            image.save(folder / f"shot_{i:02}.png")
    film.save(PICTURE)
    print(f"wrote {PICTURE.name}: {len(film.shots)} shots, {PICTURE.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
