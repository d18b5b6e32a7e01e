"""Every widget in both sizes and four colour modes, to be looked at: `python -m tests.widgets.contact_sheets FOLDER`.

Writes a picture of each and a sheet of eight for each widget, and prints what a program can see: texts that are too
small for a projector, cut off, over one another, or too pale. `... FOLDER sequence predict` takes these only.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import Browser, sync_playwright

from tests.browser.conftest import CHROMIUM_ARGS
from tests.programs_found import find_program
from tests.widgets.frames import wait_until_drawn
from tests.widgets.live import Live
from tests.widgets.references import MADE, THEMES

VIEWPORTS: dict[str, Any] = {
    "laptop": {"width": 1280, "height": 800},
    "projector": {"width": 1920, "height": 1080},
}
LOOKS = Path(__file__).with_name("looks.js").read_text(encoding="utf-8")


def shot(browser: Browser, make: Callable[[], Any], size: str, mode: str) -> tuple[Image.Image, list[str]]:
    """The widget as it looks, and what a program can see that is wrong with it."""
    context = browser.new_context(
        viewport=VIEWPORTS[size], forced_colors="active" if mode == "forced" else "none", reduced_motion="reduce"
    )
    page = context.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    widget = make()
    widget.size = size
    Live(page, widget)
    page.evaluate("style => { document.body.style = style; document.activeElement.blur(); }", THEMES[mode])
    wait_until_drawn(page)
    wrong: list[str] = page.evaluate(LOOKS, [size, mode])
    picture = Image.open(io.BytesIO(page.screenshot(full_page=True))).convert("RGB")
    context.close()
    return picture, errors + wrong


def sheet(pictures: list[Image.Image]) -> Image.Image:
    """The pictures in two columns, each at a third of its size or so."""
    wide = 960
    small = [p.resize((wide, round(p.height * wide / p.width)), Image.Resampling.LANCZOS) for p in pictures]
    rows = [small[i : i + 2] for i in range(0, len(small), 2)]
    whole = Image.new("RGB", (2 * wide + 10, sum(max(p.height for p in row) + 10 for row in rows)), "#888")
    y = 0
    for row in rows:
        for i, picture in enumerate(row):
            whole.paste(picture, (i * (wide + 10), y))
        y += max(p.height for p in row) + 10
    return whole


def main(folder: Path, names: list[str]) -> None:
    """The pictures are in the folder, and what is wrong with them is told."""
    folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_program("browser"), args=CHROMIUM_ARGS)
        for name in names or MADE:
            pictures = []
            for size in VIEWPORTS:
                for mode in THEMES:
                    picture, wrong = shot(browser, MADE[name], size, mode)
                    picture.save(folder / f"{name}_{size}_{mode}.png")
                    pictures.append(picture)
                    for line in wrong:
                        print(f"{name} {size} {mode}: {line}")
            sheet(pictures).save(folder / f"sheet_{name}.png")
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
