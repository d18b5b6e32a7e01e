"""The plots of lab 16: bars, and the sequences of one producer over the offsets of a log, each with a twin in text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from kafkalab.palette import BLUE, DARK, DIM, RED, RULE
from kafkalab.widgets.views.canvas import MARGIN, Canvas, standalone

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

WIDTH, LEFT, LINE, HEIGHT = 760.0, 190.0, 26.0, 220.0


@dataclass(frozen=True, slots=True)
class Plot:
    """A picture, and what it says in text."""

    picture: str
    text: str

    def __repr__(self) -> str:
        return self.text

    def svg(self) -> str:
        """Return the picture as a standalone SVG."""
        return self.picture

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"image/svg+xml": self.picture, "text/plain": self.text}


def draw_bars(title: str, values: Mapping[str, int] | Sequence[int], expected: int = 0) -> Plot:
    """Draw a bar for each value, those above `expected` in red; the values of a list are named by their numbers."""
    named = values if isinstance(values, Mapping) else {str(place): value for place, value in enumerate(values)}
    canvas = Canvas(y=MARGIN + 12)
    canvas.text(MARGIN, canvas.y, title, DARK)
    scale = (WIDTH - LEFT - 90) / max(*named.values(), expected, 1)
    top = canvas.y + 10
    for name, value in named.items():
        canvas.y += LINE
        colour = RED if expected and value > expected else BLUE
        canvas.text(LEFT - 10, canvas.y, name, DARK, "end")
        canvas.box(LEFT, canvas.y - 12, value * scale, 16, colour, f' fill="{colour}"')
        canvas.text(LEFT + value * scale + 6, canvas.y, f"{value:,}", DIM)
    if expected:
        canvas.path(f"M {LEFT + expected * scale:g} {top:g} V {canvas.y + 8:g}", DARK)
    lines = [f"  {name}: {value:,}" for name, value in named.items()]
    return Plot(standalone(canvas, title, WIDTH), "\n".join([title, *lines]))


def draw_sequences(log: DataFrame, key: str, producer_id: int, gaps: Iterable[int] = ()) -> Plot:
    """Draw the sequence of each record of a producer over its offset; red are the records at the offsets `gaps`."""
    rows = log.where(f"key = '{key}' AND producer_id = {producer_id} AND control = ''").orderBy("offset").collect()
    points = [(row.offset, row.sequence, row.producer_epoch) for row in rows]
    title = f"Producer {producer_id} in {key}: sequence (upwards) of each record, by its offset; a line is an epoch"
    right, high = max((p[0] for p in points), default=1) or 1, max((p[1] for p in points), default=1) or 1
    canvas = Canvas(y=MARGIN + 12)
    canvas.text(MARGIN, canvas.y, title, DARK)
    floor, marked = canvas.y + HEIGHT, set(gaps)
    placed = [(50 + x / right * (WIDTH - 90), floor - y / high * (HEIGHT - 40), epoch) for x, y, epoch in points]
    canvas.path(f"M 40 {floor + 8:g} H {WIDTH - MARGIN:g}", RULE)
    for before, here in pairwise(placed):
        if before[2] == here[2]:
            canvas.path(f"M {before[0]:.1f} {before[1]:.1f} L {here[0]:.1f} {here[1]:.1f}", RULE)
    for (x, y, _), (offset, _, _) in zip(placed, points, strict=True):
        colour = RED if offset in marked else BLUE
        canvas.box(x - 3, y - 3, 6, 6, colour, f' fill="{colour}" rx="3"')
    canvas.text(50, floor + 24, "0", DIM)
    canvas.text(WIDTH - MARGIN, floor + 24, f"offset {right}", DIM, "end")
    canvas.text(44, floor - HEIGHT + 44, str(high), DIM, "end")
    canvas.y = floor + 28
    epochs: dict[int, list[str]] = {}
    for _, sequence, epoch in points:
        epochs.setdefault(epoch, []).append(str(sequence))
    lines = [f"  epoch {epoch}: {' '.join(found)}" for epoch, found in epochs.items()]
    return Plot(standalone(canvas, title, WIDTH), "\n".join([title, *lines]))
