"""The colours of live pictures as a browser mixes them: those that a style sheet declares, in a theme."""

from __future__ import annotations

import re

DECLARED = re.compile(r"^\t--([a-z0-9-]+): (.+);$", re.MULTILINE)
GIVEN = re.compile(r"--([\w-]+):([^;]+)")
VARIABLE = re.compile(r"var\(--([\w-]+)(?:, ([^()]*))?\)")
SCHEMES = re.compile(r"light-dark\(([^,()]+), ([^()]+)\)")
MIX = re.compile(r"color-mix\(in (srgb|srgb-linear), (#\w+) (\d+)%, (#\w+)\)")


def colours_of(sheet: str, theme: str) -> dict[str, str]:
    """Return, by name, each colour that a style sheet declares.

    `theme` declares JupyterLab's variables; without them it may begin with "color-scheme: dark".
    """
    sheet = SCHEMES.sub(r"\2" if theme.startswith("color-scheme: dark") else r"\1", sheet)
    variables = dict(DECLARED.findall(sheet)) | dict(GIVEN.findall(theme))
    found = {name: _colour_of(text, variables) for name, text in DECLARED.findall(sheet)}
    return {name: colour for name, colour in found.items() if colour.startswith("#")}


def _colour_of(text: str, variables: dict[str, str]) -> str:
    while found := VARIABLE.search(text):
        text = text.replace(found[0], variables.get(found[1], found[2]))
    if mixed := MIX.fullmatch(text):
        space, one, share, other = mixed.groups()
        return mix(space, one, other, int(share) / 100)
    return text


def mix(space: str, one: str, other: str, share: float) -> str:
    """Return the colour of which `share` is `one` and the rest `other`, mixed in this colour space of CSS."""
    pairs = zip(channels(one), channels(other), strict=True)
    if space == "srgb":
        return "#" + "".join(f"{round(a * share + b * (1 - share)):02x}" for a, b in pairs)
    linear = (linear_of(a) * share + linear_of(b) * (1 - share) for a, b in pairs)
    encoded = (n * 12.92 if n <= 0.0031308 else 1.055 * n ** (1 / 2.4) - 0.055 for n in linear)
    return "#" + "".join(f"{round(255 * n):02x}" for n in encoded)


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours as WCAG 2 defines it."""
    dark, light = sorted(map(_luminance, (one, other)))
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: str) -> float:
    red, green, blue = map(linear_of, channels(colour))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def linear_of(channel: int) -> float:
    """Return how much light, up to 1, a channel of sRGB stands for."""
    share = channel / 255
    return share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4


def channels(colour: str) -> tuple[int, ...]:
    """Return red, green and blue, each up to 255, of "#rrggbb" or "#rgb"."""
    digits = colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:])
    return tuple(int(digits[i : i + 2], 16) for i in (0, 2, 4))
