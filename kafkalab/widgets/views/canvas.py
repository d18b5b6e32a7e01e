"""Canvas of the static pictures: texts, paths, boxes, and how wide a text is."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape

from kafkalab.palette import DARK, RULE, WHITE

SIZE, WIDTH, MARGIN = 12.0, 960.0, 18.0
FAMILY = "Helvetica,Arial,'Liberation Sans',sans-serif"
BOLD = ' font-weight="bold"'
QUOTE = '"'
FLAT = ' fill="none"'
HALO = f' stroke="{WHITE}" stroke-width="3" paint-order="stroke"'


@dataclass
class Canvas:
    """SVG elements in the order in which they are drawn; `y` is where the next part begins."""

    parts: list[str] = field(default_factory=list)
    y: float = 0.0

    def text(self, x: float, y: float, text: str, fill: str = DARK, anchor: str = "start", more: str = "") -> None:
        words = escape(text, quote=False)
        self.parts.append(f'<text x="{x:g}" y="{y:g}" fill="{fill}" text-anchor="{anchor}"{more}>{words}</text>')

    def path(self, d: str, stroke: str, width: float = 1.5, more: str = "") -> None:
        self.parts.append(f'<path d="{d}" stroke="{stroke}" stroke-width="{width:g}"{more or FLAT}/>')

    def box(self, x: float, y: float, width: float, height: float, stroke: str, more: str = f' fill="{WHITE}"') -> None:
        size = f'x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}"'
        self.parts.append(f'<rect {size} stroke="{stroke}"{more}/>')


def width_of(text: str, size: float = SIZE) -> float:
    """Return the approximate width of `text` in Helvetica.

    It adds up hundredths: how Python adds floats depends on its version.
    """
    narrow, wide = "ijl.,:;'|!()[]{} tfr-", "mwMW@→…"
    return size * sum(32 if c in narrow else 85 if c in wide else 68 if c.isupper() else 56 for c in text) / 100


def in_two(text: str, room: float) -> list[str]:
    """Return `text` broken after the last word that fits into the first line."""
    words = text.split(" ")
    for cut in range(len(words) - 1, 0, -1):
        if width_of(" ".join(words[:cut]), 11) <= room:
            return [" ".join(words[:cut]), " ".join(words[cut:])]
    return [text]


def fit(text: str, room: float, size: float = SIZE) -> str:
    """Return `text`, cut with an ellipsis where it would be wider than `room`."""
    if width_of(text, size) <= room:
        return text
    while text and width_of(text + "…", size) > room:
        text = text[:-1]
    return text + "…"


def open_svg(width: float, height: float) -> str:
    """Return the beginning of a standalone picture's tag: the picture is as wide as its place.

    JupyterLab shows it as an image. Of an image in a wide cell a greatest width in here would leave a part empty.
    """
    return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="100%" role="img"'


def standalone(canvas: Canvas, label: str, width: float = WIDTH) -> str:
    """Return the canvas as an SVG on a white, rounded background; `label` is its aria-label."""
    height = canvas.y + MARGIN
    ground = f'<rect width="{width:g}" height="{height:g}" rx="10" fill="{WHITE}" stroke="{RULE}"/>'
    name = escape(label, quote=False).replace(QUOTE, "&quot;")
    return (
        f"{open_svg(width, height)} "
        f'aria-label="{name}" font-family="{FAMILY}" font-size="{SIZE:g}" fill="{DARK}">'
        + ground
        + "\n".join(canvas.parts)
        + "</svg>"
    )
