"""The client's-eye view as a picture that needs no program: a card with the lines of its text."""

from __future__ import annotations

from kafkalab.widgets.views.palette import BLUE, BOLD, DIM, INK, MARGIN, WIDTH, Ink, fit, standalone

LINE, LINES = 21.0, 60


def draw(lines: list[str], title: str) -> str:
    """An SVG of these lines: the heading bold, what the client cannot know dim and in brackets, the last line blue."""
    ink = Ink(y=MARGIN + 14)
    heading, *rest = lines
    ink.text(MARGIN, ink.y, heading, more=f' font-size="14"{BOLD}')
    if len(rest) > LINES:
        ink.y += LINE
        ink.text(MARGIN, ink.y, f"… {len(rest) - LINES} earlier lines", DIM)
    for line in rest[-LINES:]:
        ink.y += LINE
        known = not line.startswith("        ")
        x = MARGIN + (12 if known else 110)
        colour = (BLUE if line is rest[-1] else INK) if known else DIM
        ink.text(x, ink.y, fit(line.strip(), WIDTH - x - MARGIN), colour)
    return standalone(ink, f"{title}: {heading}")
