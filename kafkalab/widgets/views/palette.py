"""Canvas of the static pictures: texts, paths, boxes with literal colours, and how wide a text is."""

from __future__ import annotations

from dataclasses import dataclass, field
from xml.sax.saxutils import escape

SIZE, WIDTH, MARGIN = 12.0, 960.0, 18.0
FAMILY = "Helvetica,Arial,'Liberation Sans',sans-serif"
DARK, DIM, RULE, PALE = "#202124", "#5f6368", "#bdc1c6", "#f1f3f4"
GREEN, RED, AMBER, BLUE, VIOLET, GREY = "#176b30", "#b3141f", "#9a5b00", "#0b57a4", "#7030a8", "#5f6368"
CLIENT = "#00796b"
CATEGORY_COLOUR = {"transaction": BLUE, "verification": VIOLET, "replication": GREY, "metadata": AMBER}
HUES = {
    "blue": "#0b6bcb", "violet": "#8e3fd0", "green": "#1b8a3c", "red": "#d3222e", "amber": "#b06900",
    "client": "#00796b", "leader": "#3a4bb5", "txn-coordinator": "#b3257e", "group-coordinator": "#80650c",
    "focus": "#1976d2",
}  # fmt: skip
"""What the colours of live pictures are mixed from, with the theme's colour of text, as their light adds up."""
HUE, DIMMED, GROUND = 0.75, 0.65, 0.93
"""How much of a hue is in a sign's colour, of the text in dim words, and of the page in a part that is set off."""
BOLD = ' font-weight="bold"'
QUOTE = '"'
FLAT = ' fill="none"'
HALO = ' stroke="#ffffff" stroke-width="3" paint-order="stroke"'


@dataclass(frozen=True, slots=True)
class Theme:
    """A theme of live pictures: the colours of text and of the page."""

    text: str
    paper: str

    @property
    def letters(self) -> dict[str, str]:
        """The colours that words may have."""
        signs = {name: mix_light(hue, self.text, HUE) for name, hue in HUES.items()}
        return {"text": self.text, "dim": mix(self.text, self.paper, DIMMED), **signs}

    @property
    def grounds(self) -> dict[str, str]:
        """What words may stand on: the page, and a part of it that is set off."""
        return {"paper": self.paper, "pale": mix(self.paper, self.text, GROUND)}


THEMES = {"light": Theme("#000000", "#ffffff"), "dark": Theme("#ffffff", "#212121")}


def mix(one: str, other: str, share: float) -> str:
    """Return the colour of which `share` is `one` and the rest `other`, as CSS mixes them in sRGB."""
    pairs = zip(channels(one), channels(other), strict=True)
    return "#" + "".join(f"{round(a * share + b * (1 - share)):02x}" for a, b in pairs)


def mix_light(one: str, other: str, share: float) -> str:
    """Return the colour of which `share` is the light of `one` and the rest that of `other`: CSS's srgb-linear.

    White brightens a hue by more than black darkens it, so that one share can be read in both themes.
    """
    pairs = zip(channels(one), channels(other), strict=True)
    linear = (linear_of(a) * share + linear_of(b) * (1 - share) for a, b in pairs)
    encoded = (n * 12.92 if n <= 0.0031308 else 1.055 * n ** (1 / 2.4) - 0.055 for n in linear)
    return "#" + "".join(f"{round(255 * n):02x}" for n in encoded)


def linear_of(channel: int) -> float:
    """Return how much light, up to 1, a channel of sRGB stands for."""
    share = channel / 255
    return share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4


def channels(colour: str) -> tuple[int, ...]:
    """Return red, green and blue of "#rrggbb", each up to 255."""
    return tuple(int(colour[i : i + 2], 16) for i in (1, 3, 5))


@dataclass
class Canvas:
    """SVG elements in the order in which they are drawn; `y` is where the next part begins."""

    parts: list[str] = field(default_factory=list)
    y: float = 0.0

    def text(self, x: float, y: float, text: str, fill: str = DARK, anchor: str = "start", more: str = "") -> None:
        self.parts.append(f'<text x="{x:g}" y="{y:g}" fill="{fill}" text-anchor="{anchor}"{more}>{escape(text)}</text>')

    def path(self, d: str, stroke: str, width: float = 1.5, more: str = "") -> None:
        self.parts.append(f'<path d="{d}" stroke="{stroke}" stroke-width="{width:g}"{more or FLAT}/>')

    def box(self, x: float, y: float, width: float, height: float, stroke: str, more: str = ' fill="#ffffff"') -> None:
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
    ground = f'<rect width="{width:g}" height="{height:g}" rx="10" fill="#ffffff" stroke="{RULE}"/>'
    return (
        f"{open_svg(width, height)} "
        f'aria-label="{escape(label, {QUOTE: "&quot;"})}" font-family="{FAMILY}" font-size="{SIZE:g}" fill="{DARK}">'
        + ground
        + "\n".join(canvas.parts)
        + "</svg>"
    )
