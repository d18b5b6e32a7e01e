"""The parts of the pictures in the browser, as `make pictures` built them; a page gets each of them once."""

from __future__ import annotations

from pathlib import Path

import traitlets
from ipywidgets import Widget

BUILT = Path(__file__).parents[1] / "built"
LOADER = BUILT / "loader.js"
"""The module of every picture: it gets the parts that the picture names, and loads each once a page."""


class Part(Widget):  # type: ignore[misc]
    """A module and its style sheet. It has no view; pictures name its model."""

    code = traitlets.Unicode().tag(sync=True)
    css = traitlets.Unicode().tag(sync=True)


_made: dict[str, Part] = {}


def parts_of(name: str) -> list[Part]:
    """Return the common part and the part of the picture `name`, made when they are first asked for or were closed."""
    return [_part("common"), _part(name)]


def read_built(name: str) -> str:
    """Return a built file; "" for the style sheet of a part that has none of its own."""
    path = BUILT / name
    return path.read_text(encoding="utf-8") if path.suffix == ".js" or path.exists() else ""


def _part(name: str) -> Part:
    part = _made.get(name)
    if part is None or part.comm is None:
        part = _made[name] = Part(code=read_built(f"{name}.js"), css=read_built(f"{name}.css"))
    return part
