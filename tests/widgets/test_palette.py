"""The measures of the pictures that need no program."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page

from kafkalab import Journey, lab03, palette
from kafkalab.widgets.views import canvas, static_log_tape
from kafkalab.widgets.views.log_tape import LogTape
from kafkalab.widgets.views.sequence import Sequence
from tests.widgets.css_colours import channels, colours_of, contrast
from tests.widgets.references import THEMES

SEEN = """names => {
  const pen = document.createElement("canvas").getContext("2d"), picture = document.querySelector(".klab");
  return Object.fromEntries(names.map((name) => {
    picture.style.color = `var(--${name})`;
    pen.fillStyle = getComputedStyle(picture).color;
    pen.fillRect(0, 0, 1, 1);
    return [name, [...pen.getImageData(0, 0, 1, 1).data].slice(0, 3)];
  }));
}"""
"""The red, green and blue that a browser draws for each of these colours."""


def pictures() -> list[str]:
    journey = Journey(lab03())
    found = []
    for step in journey.stops()[::6]:
        journey.step = step
        found += [Sequence(journey).svg(), LogTape(journey).svg()]
    return found


def test_no_picture_depends_on_how_python_adds_floats(monkeypatch: pytest.MonkeyPatch) -> None:
    """From Python 3.12 on `sum` of floats rounds once, as `fsum` does; up to 3.11 it rounds after each."""
    before = pictures()
    for module in (canvas, static_log_tape):
        monkeypatch.setattr(module, "sum", math.fsum, raising=False)
    assert pictures() == before


GROUNDS = {name: THEMES[name] for name in ("light", "dark", "high-contrast")} | {"dark page": "color-scheme: dark"}
"""The themes of JupyterLab, and a page of ours for a reader who wants it dark."""


def live(theme: str) -> dict[str, str]:
    """The colours of live pictures in this theme."""
    return colours_of(palette.declare_variables(".klab"), GROUNDS[theme])


def pairs() -> Iterator[tuple[str, str, str]]:
    """Return what words are drawn in and on: a name, both colours. Signs are also filled, with the page's colour."""
    static = {name: getattr(palette, name) for name in ("DARK", "DIM", "GREEN", "RED", "AMBER", "BLUE", "VIOLET")}
    static |= {name: palette.HUES[name] for name in ("client", "txn-coordinator")}
    for name, colour in static.items():
        yield from ((f"static {name} on {on}", colour, on) for on in (palette.WHITE, palette.PALE))
    for theme in GROUNDS:
        colours = live(theme)
        letters = colours.keys() - {"bg", "bg2", "rule"}
        yield from ((f"{theme} {one} on {on}", colours[one], colours[on]) for one in letters for on in ("bg", "bg2"))


def test_all_words_have_a_contrast_of_at_least_4_5() -> None:
    table = {name: round(contrast(letter, ground), 2) for name, letter, ground in pairs()}
    assert len(table) == 2 * (9 + 4 * 13)
    assert {name: ratio for name, ratio in table.items() if ratio < 4.5} == {}


def test_contrast_is_that_of_wcag() -> None:
    """Black on white, and the grey that is known as the palest that can be read on white."""
    assert (contrast("#000000", "#ffffff"), contrast("#ffffff", "#000000")) == (21, 21)
    assert round(contrast("#767676", "#ffffff"), 2) == 4.54


@pytest.mark.browser
@pytest.mark.parametrize("theme", GROUNDS)
def test_a_browser_mixes_the_same_colours(page: Page, theme: str) -> None:
    colours = live(theme)
    sheet = palette.declare_variables(".klab")
    page.set_content(f'<style>{sheet}</style><body style="{GROUNDS[theme]}"><div class="klab"></div>')
    seen = page.evaluate(SEEN, list(colours))
    for name, colour in colours.items():
        assert max(abs(a - b) for a, b in zip(seen[name], channels(colour), strict=True)) <= 1, name


def test_a_width_is_a_number_of_hundredths_of_the_size() -> None:
    assert [canvas.width_of(text, 100) for text in ("il", "mW", "AB", "xyz")] == [64, 170, 136, 168]
