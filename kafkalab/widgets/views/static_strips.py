"""The outcomes of a run after a fault at each stop, as strips in a static picture."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from kafkalab.palette import AMBER, BLUE, DARK, DIM, GREEN, RED, RULE, WHITE
from kafkalab.widgets.model.what_if_strips import BROKEN, NONE, at_stops, fate_words
from kafkalab.widgets.views.canvas import BOLD, FLAT, HALO, MARGIN, WIDTH, Canvas, fit, width_of

NAME, WORDS, HIGH, BAR = 130.0, 190.0, 20.0, 15.0
COLOUR = {
    "committed": GREEN, "aborted": RED, "open": AMBER, "torn": RED, BROKEN: RED, "once": GREEN, "twice": AMBER
}  # fmt: skip
SOLID, DASHED = ("committed", "torn", BROKEN, "once"), ("open", "twice")


def draw(canvas: Canvas, rows: Sequence[dict[str, Any]], places: Sequence[int], step: int) -> None:
    """Draw a row for each fault: its fate stop by stop, and in words at `step`."""
    left, wide = MARGIN + NAME, WIDTH - 2 * MARGIN - NAME - WORDS
    part = wide / max(1, len(places))
    here = max((i for i, place in enumerate(places) if place <= step), default=0)
    top = canvas.y
    for row in rows:
        cells = at_stops(row, places)
        canvas.text(left - 8, canvas.y + 12, row["name"], DIM, "end", ' font-size="11.5"')
        for fate, group in groupby(enumerate(cells), key=lambda cell: cell[1][1]):
            alike = [i for i, _ in group]
            _bar(canvas, left + alike[0] * part, len(alike) * part, fate)
        words = fit(fate_words(cells[here]), WORDS - 12, 11.5)
        canvas.text(left + wide + 10, canvas.y + 12, words, COLOUR.get(cells[here][1], DIM), more=BOLD)
        canvas.y += HIGH
    canvas.box(left + here * part, top - 2, part, len(rows) * HIGH - 1, BLUE, FLAT + ' stroke-width="2"')
    canvas.y += 6


def _bar(canvas: Canvas, x: float, wide: float, fate: str) -> None:
    """A bar of one fate: filled if committed, once or broken, hatched if aborted, dashed if open or twice."""
    if fate == NONE:
        return
    solid, colour = fate in SOLID, COLOUR.get(fate, RULE)
    look = f' fill="{colour}"' if solid else FLAT + (' stroke-dasharray="3 2"' if fate in DASHED else "")
    canvas.box(x + 0.5, canvas.y, wide - 1, BAR, colour, look)
    if fate == "aborted":
        lines = [f"M{x + at:g},{canvas.y + BAR:g}l5,{-BAR:g}" for at in range(3, int(wide) - 6, 7)]
        canvas.path("".join(lines), colour, 0.8, FLAT)
    word = "✕" if fate in ("torn", BROKEN) else fate
    if width_of(word, 11) + 6 < wide:
        halo = "" if solid else HALO
        canvas.text(x + 5, canvas.y + 11.5, word, WHITE if solid else DARK, more=f' font-size="11"{halo}')
