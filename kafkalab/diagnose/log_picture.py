"""Draw a partition's log as far as a dump shows it: transactions, their markers, and where readers wait."""

from __future__ import annotations

import re
from typing import NamedTuple

from kafkalab.diagnose.log_view import LogTransaction, LogView
from kafkalab.markup import Markup, element

DASHED = re.compile(r" (stroke|font|text|aria)_(\w+)=")
"""Attributes that are no names in Python."""
SHOWN = 18
"""Boxes that are drawn: the last ones, and open transactions in any case."""
WIDTH, HEIGHT, GAP, TOP = 64, 40, 6, 26


class Box(NamedTuple):
    """A part of the log: from `first` to `last`, what it is, and how it ended ("COMMIT", "ABORT", "open", "marker")."""

    first: int
    last: int
    text: str
    kind: str


COLOURS = {
    "COMMIT": "var(--green)",
    "ABORT": "var(--red)",
    "open": "var(--amber)",
    "marker": "var(--dim)",
    "other": "var(--dim)",
}


def boxes_of(view: LogView) -> list[Box]:
    """Return the parts of the log in the order of their offsets, what lies between transactions as "other"."""
    boxes = []
    for one in [*view.finished[-2 * SHOWN :], *view.open.values()]:
        boxes.append(_box(one))
        if one.marker is not None:
            kind = one.marker.outcome
            boxes.append(Box(one.marker.offset, one.marker.offset, kind, kind))
    boxes += [Box(one.offset, one.offset, one.outcome, "other") for one in view.lone_markers]
    boxes.sort()
    found: list[Box] = []
    for box in boxes[-SHOWN:]:
        if found and box.first > found[-1].last + 1:
            found.append(Box(found[-1].last + 1, box.first - 1, "other", "other"))
        found.append(box)
    return found


def _box(one: LogTransaction) -> Box:
    kind = "open" if one.marker is None else one.marker.outcome
    return Box(one.first.first, one.last, f"p{one.first.producer} e{one.first.epoch}", kind)


def draw_log(view: LogView) -> Markup:
    """Return the picture as SVG: boxes with their offsets, and a line where read_committed readers wait."""
    boxes, parts = boxes_of(view), []
    stable = view.stable
    for n, box in enumerate(boxes):
        x, colour = GAP + n * (WIDTH + GAP), COLOURS[box.kind]
        offsets = str(box.first) if box.first == box.last else f"{box.first}–{box.last}"
        dash = "4 3" if box.kind == "open" else ""
        frame = {"x": x, "y": TOP, "width": WIDTH, "height": HEIGHT, "rx": 4, "fill": "none", "stroke": colour}
        parts.append(element("rect", **frame, stroke_width="1.5", stroke_dasharray=dash))
        parts.append(_text(x + WIDTH / 2, TOP + 18, box.text, colour))
        parts.append(_text(x + WIDTH / 2, TOP + 33, offsets, "var(--fg)"))
        if view.open and box.first == stable:
            parts.append(element("path", d=f"M{x - GAP / 2} 4V{TOP + HEIGHT + 8}", stroke="var(--red)", fill="none"))
            parts.append(element("text", f"readers wait at {stable}", x=x, y=14, fill="var(--red)", font_size=12))
    width = GAP + len(boxes) * (WIDTH + GAP)
    label = f"{view.partition}: " + ", ".join(f"{box.text} {box.first}" for box in boxes)
    picture = Markup("".join(parts))
    size = f"0 0 {width} {TOP + HEIGHT + 10}"
    svg = element("svg", picture, viewBox=size, width=width, role="img", aria_label=label)
    return Markup(DASHED.sub(r" \1-\2=", svg))


def _text(x: float, y: float, text: str, colour: str) -> Markup:
    return element("text", text, x=x, y=y, fill=colour, font_size=12, text_anchor="middle")
