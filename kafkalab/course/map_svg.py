"""The map of the course as an SVG: a tile for each lab, a dot for each exercise; in a theme's colours or its own."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from kafkalab.palette import DARK, DIM, HUES, PALE, RULE, WHITE

COLUMNS, WIDTH, HEIGHT, GAP, TOP = 5, 152, 92, 12, 46
DOTS_IN_A_ROW = 9
INK = f"var(--jp-ui-font-color1, {DARK})"
SOFT = f"var(--jp-ui-font-color2, {DIM})"
PAPER = f"var(--jp-layout-color1, {WHITE})"
CARD = f"var(--jp-layout-color2, {PALE})"
LINE = f"var(--jp-border-color1, {RULE})"
DONE = HUES["green"]
FONT = "font-family='Helvetica, Arial, sans-serif'"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tile:
    """One lab: its number and title, and for each exercise "solved", "tried" or "new"; `href` is its notebook.

    Without exercises it is not `ready`, but planned.
    """

    number: int
    title: str
    states: tuple[str, ...]
    ready: bool
    href: str = ""

    @property
    def done(self) -> bool:
        """True if all its exercises are solved."""
        return bool(self.states) and set(self.states) == {"solved"}


def draw(tiles: Sequence[Tile], summary: str, messages: Sequence[str] = ()) -> str:
    """Draw the whole picture, with the messages below it."""
    notes = [line for message in messages for line in textwrap.wrap(message, 110)]
    rows = -(-len(tiles) // COLUMNS)
    width = COLUMNS * (WIDTH + GAP) + GAP
    height = TOP + rows * (HEIGHT + GAP) + (8 + 18 * len(notes) if notes else 0)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'style="max-width:100%;height:auto" role="img" aria-label="{escape(f"The course: {summary}")}">',
        f'<rect width="{width}" height="{height}" rx="8" style="fill:{PAPER}"/>',
        _text(GAP + 2, 29, summary, 17, INK, bold=True),
        _legend(width),
    ]
    for place, tile in enumerate(tiles):
        parts.append(_card(tile, *_corner(place)))
    for line, text in enumerate(notes):
        y = TOP + rows * (HEIGHT + GAP) + 14 + 18 * line
        parts.append(_text(GAP + 2, y, text, 13, INK))
    return "".join([*parts, "</svg>"])


def _corner(place: int) -> tuple[int, int]:
    """The upper left corner of the card at this place."""
    return GAP + place % COLUMNS * (WIDTH + GAP), TOP + place // COLUMNS * (HEIGHT + GAP)


def link_cards(svg: str, tiles: Sequence[Tile]) -> str:
    """Return the picture as HTML in which each card is a link to its notebook."""
    width = COLUMNS * (WIDTH + GAP) + GAP
    height = int(svg.partition('height="')[2].partition('"')[0])
    parts = []
    for place, tile in enumerate(tiles):
        x, y = _corner(place)
        box = (("left", x, width), ("top", y, height), ("width", WIDTH, width), ("height", HEIGHT, height))
        where = ";".join(f"{name}:{100 * size / of:.3f}%" for name, size, of in box)
        name = escape(f"Lab {tile.number}: {tile.title}")
        style = f"position:absolute;{where}"
        parts.append(f'<a href="{escape(tile.href)}" title="{name}" aria-label="{name}" style="{style}"></a>')
    return f'<div style="position:relative;max-width:{width}px">{svg}{"".join(parts)}</div>'


def _text(x: int, y: int, text: str, size: float, colour: str, bold: bool = False) -> str:
    weight = ' font-weight="600"' if bold else ""
    return f'<text x="{x}" y="{y}" {FONT} font-size="{size}"{weight} style="fill:{colour}">{escape(text)}</text>'


def _legend(width: int) -> str:
    parts, x = [], width - 238
    for state, word, step in (("solved", "solved", 76), ("tried", "tried", 66), ("new", "not yet", 0)):
        parts.append(_dot(state, x, 24))
        parts.append(_text(x + 11, 29, word, 13, SOFT))
        x += step
    return "".join(parts)


def _card(tile: Tile, x: int, y: int) -> str:
    stroke = f"stroke:{DONE};stroke-width:2.5" if tile.done else f"stroke:{LINE};stroke-width:1.2"
    parts = [
        f'<rect x="{x}" y="{y}" width="{WIDTH}" height="{HEIGHT}" rx="7" style="fill:{CARD};{stroke}"/>',
        _text(x + 11, y + 22, f"L{tile.number}", 13, SOFT, bold=True),
    ]
    for line, text in enumerate(textwrap.wrap(tile.title, 20)[:2]):
        parts.append(_text(x + 11, y + 41 + 16 * line, text, 13.5, INK))
    if tile.done:
        parts.append(
            f'<path d="M {x + WIDTH - 27} {y + 17} l 5 5 l 10 -11" fill="none" stroke="{DONE}" stroke-width="3"/>'
        )
    for number, state in enumerate(tile.states[:DOTS_IN_A_ROW]):
        parts.append(_dot(state, x + 16 + 15 * number, y + HEIGHT - 15))
    return "".join(parts)


def _dot(state: str, x: int, y: int) -> str:
    if state == "solved":
        return f'<circle cx="{x}" cy="{y}" r="5.5" fill="{DONE}"/>'
    ring = f'<circle cx="{x}" cy="{y}" r="4.8" style="fill:none;stroke:{SOFT};stroke-width:1.4"/>'
    half = f'<path d="M {x} {y - 4.8} a 4.8 4.8 0 0 0 0 9.6 z" style="fill:{SOFT}"/>' if state == "tried" else ""
    return ring + half
