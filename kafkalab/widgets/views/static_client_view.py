"""The client's-eye view as a picture that needs no program: a card with the lines of its text."""

from __future__ import annotations

from kafkalab.palette import BLUE, DARK, DIM
from kafkalab.widgets.views.canvas import BOLD, MARGIN, WIDTH, Canvas, fit, standalone

LINE, LINES = 21.0, 60


def draw(lines: list[str], title: str) -> str:
    """Return an SVG of `lines`: the heading bold, unknown events dim and in brackets, the last line blue."""
    canvas = Canvas(y=MARGIN + 14)
    heading, *rest = lines
    canvas.text(MARGIN, canvas.y, heading, more=f' font-size="14"{BOLD}')
    if len(rest) > LINES:
        canvas.y += LINE
        canvas.text(MARGIN, canvas.y, f"… {len(rest) - LINES} earlier lines", DIM)
    for line in rest[-LINES:]:
        canvas.y += LINE
        known = not line.startswith("        ")
        x = MARGIN + (12 if known else 110)
        colour = (BLUE if line is rest[-1] else DARK) if known else DIM
        canvas.text(x, canvas.y, fit(line.strip(), WIDTH - x - MARGIN), colour)
    return standalone(canvas, f"{title}: {heading}")
