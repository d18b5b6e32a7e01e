"""The measures of the pictures that need no program."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafkalab import Journey, lab03
from kafkalab.widgets.views import palette, static_log_tape
from kafkalab.widgets.views.log_tape import LogTape
from kafkalab.widgets.views.sequence import Sequence


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
    for module in (palette, static_log_tape):
        monkeypatch.setattr(module, "sum", math.fsum, raising=False)
    assert pictures() == before


def contrast(one: str, other: str) -> float:
    """The contrast of two colours as WCAG 2 defines it."""

    def luminance(colour: str) -> float:
        red, green, blue = (palette.linear_of(n) for n in palette.channels(colour))
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def pairs() -> Iterator[tuple[str, str, str]]:
    """What words are drawn in and on: a name, both colours. Signs are also filled, with the page's colour on them."""
    static = ("DARK", "DIM", "GREEN", "RED", "AMBER", "BLUE", "VIOLET", "GREY", "CLIENT")
    for name in static:
        yield from ((f"static {name} on {on}", getattr(palette, name), on) for on in ("#ffffff", palette.PALE))
    for name, theme in palette.THEMES.items():
        for letter, colour in theme.letters.items():
            yield from ((f"{name} {letter} on {on}", colour, ground) for on, ground in theme.grounds.items())


def test_all_words_have_a_contrast_of_at_least_4_5() -> None:
    table = {name: round(contrast(letter, ground), 2) for name, letter, ground in pairs()}
    assert len(table) == 2 * (9 + 2 * (2 + len(palette.HUES)))
    assert {name: ratio for name, ratio in table.items() if ratio < 4.5} == {}


def test_contrast_is_that_of_wcag() -> None:
    """Black on white, and the grey that is known as the palest that can be read on white."""
    assert (contrast("#000000", "#ffffff"), contrast("#ffffff", "#000000")) == (21, 21)
    assert round(contrast("#767676", "#ffffff"), 2) == 4.54


def percent(share: float) -> str:
    return f"{share:.0%}"


def test_live_pictures_are_mixed_as_the_palette_says(root: Path) -> None:
    text = (root / "pictures" / "src" / "shared.css").read_text(encoding="utf-8")
    told = dict(re.findall(r"^\t--([a-z0-9-]+): (.+);$", text, re.MULTILINE))
    hues = {name: f"color-mix(in srgb-linear, {hue} var(--mix))" for name, hue in palette.HUES.items()}
    hues["focus"] = hues["focus"].replace(palette.HUES["focus"], f"var(--jp-brand-color1, {palette.HUES['focus']})")
    mixed = {
        **hues,
        "mix": f"{percent(palette.HUE)}, var(--text)",
        "dim": f"color-mix(in srgb, var(--text) {percent(palette.DIMMED)}, var(--bg))",
        "bg2": f"color-mix(in srgb, var(--bg) {percent(palette.GROUND)}, var(--text))",
    }
    assert {name: told[name] for name in mixed} == mixed


def test_a_width_is_a_number_of_hundredths_of_the_size() -> None:
    assert [palette.width_of(text, 100) for text in ("il", "mW", "AB", "xyz")] == [64, 170, 136, 168]
