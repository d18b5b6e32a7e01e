"""The static pictures in the place that shows them: as an image, as JupyterLab does, and within a page."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import Page

from kafkalab import Predict, Sequence, lab00
from kafkalab.reference.exhibits import error_gallery
from kafkalab.widgets.views.view import Picture

pytestmark = pytest.mark.browser

CARD = Predict("Is it there?", {"a": "yes", "b": "no"}, "a")
MEASURE = """() => [...document.querySelectorAll("div")].map((cell) => {
    const { width, height } = cell.firstElementChild.getBoundingClientRect();
    return [Math.round(width), Math.round((100 * height) / width), cell.scrollWidth > cell.clientWidth];
})"""


def measure(page: Page, inside: str, *widths: int) -> list[Any]:
    """Width, height as a percentage of it, and whether there is a scroll bar, in cells of these widths."""
    cells = "".join(f'<div style="width:{width}px;overflow:auto">{inside}</div>' for width in widths)
    page.set_viewport_size({"width": 1800, "height": 900})
    page.set_content(f"<!doctype html>{cells}")
    page.wait_for_function("() => [...document.images].every((image) => image.complete)")
    return list(page.evaluate(MEASURE))


@pytest.mark.parametrize("picture", [Sequence(lab00()), CARD, error_gallery()], ids=["sequence", "card", "gallery"])
def test_a_static_picture_fits_its_cell(page: Page, picture: Picture) -> None:
    svg = picture.svg()
    high, wide = (float(n) for n in svg.partition('viewBox="0 0 ')[2].partition('"')[0].split()[::-1])
    shape, widths = round(100 * high / wide), (390, 833, 1_600)
    image = f'<img src="data:image/svg+xml,{quote(svg)}">'
    for inside in (image, svg):
        assert measure(page, inside, *widths) == [[width, shape, False] for width in widths]
