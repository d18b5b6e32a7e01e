"""The states of a transaction as a rail in a static picture: six states, and the one that holds."""

from __future__ import annotations

from typing import Any

from kafkalab.palette import AMBER, DARK, DIM, GREEN, PALE, RULE, WHITE
from kafkalab.widgets.views.canvas import BOLD, FLAT, Canvas

WIDE, HIGH, GAP = 118.0, 18.0, 16.0
RAIL = {
    "Empty": (0, 0.5), "Ongoing": (1, 0.5), "PrepareCommit": (2, 0.0), "CompleteCommit": (3, 0.0),
    "PrepareAbort": (2, 1.0), "CompleteAbort": (3, 1.0),
}  # fmt: skip
"""Column and row of each state."""
EDGES = (
    ("Empty", "Ongoing"), ("Ongoing", "PrepareCommit"), ("Ongoing", "PrepareAbort"),
    ("PrepareCommit", "CompleteCommit"), ("PrepareAbort", "CompleteAbort"),
)  # fmt: skip
WIDTH, HEIGHT = 4 * WIDE + 3 * GAP, 2 * HIGH + 6


def rail(canvas: Canvas, known: dict[str, Any], x: float, y: float) -> None:
    """Draw the rail of a transaction at this place: its state filled, a pending one dotted."""
    at = {name: (x + column * (WIDE + GAP), y + row * (HIGH + 6)) for name, (column, row) in RAIL.items()}
    for start, end in EDGES:
        (x1, y1), (x2, y2) = at[start], at[end]
        canvas.path(f"M{x1 + WIDE:g},{y1 + HIGH / 2:g}L{x2:g},{y2 + HIGH / 2:g}", RULE, 1, FLAT)
    for name, (left, top) in at.items():
        here, next_ = name == known["state"], name == known["pending"]
        look = f' rx="9" fill="{PALE if here else WHITE}"' + (' stroke-dasharray="2 3"' if next_ else "")
        canvas.box(left, top, WIDE, HIGH, GREEN if here else AMBER if next_ else RULE, look)
        colour = DARK if here else AMBER if next_ else DIM
        canvas.text(left + WIDE / 2, top + 13, name, colour, "middle", BOLD if here else "")
