"""HTML of reports and of cells' outputs: elements that escape what is put into them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from html import escape

from kafkalab.palette import declare_variables

CODE = re.compile(r"`([^`]+)`")
LEFT = "text-align:left"
"""JupyterLab aligns the cells of tables to the right."""
STYLE = """
:root { color-scheme: light dark }
body { margin: 2rem auto; max-width: 70rem; padding: 0 1rem; font: 15px/1.45 system-ui, sans-serif;
  color: var(--fg); background: var(--bg) }
h1 { font-size: 1.5rem } h2 { font-size: 1.15rem; margin: 2rem 0 .3rem } p { margin: .2rem 0 }
.wide { overflow-x: auto } table { border-collapse: collapse; width: 100%; margin: .4rem 0 1rem }
th, td, caption { text-align: left; vertical-align: top; padding: .35rem .6rem }
th, td { border-bottom: 1px solid var(--rule) } caption { color: var(--dim) }
.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums }
.right { color: var(--green) } .wrong, .violated, .forbidden { color: var(--red) } .not { color: var(--amber) }
.odd { font-weight: 600 } pre { margin: 0; white-space: pre-wrap; font: 13px/1.4 ui-monospace, monospace }
svg { max-width: 100%; height: auto }
"""


class Markup(str):
    """Text that is HTML already: it is not escaped."""

    __slots__ = ()


def element(name: str, /, *inside: object, **attributes: object) -> Markup:
    """Return an element; `class_` is the attribute `class`, and an attribute whose value is "" is left out."""
    given = "".join(f' {key.strip("_")}="{escape(str(value))}"' for key, value in attributes.items() if value != "")
    return Markup(f"<{name}{given}>{join(inside)}</{name}>")


def join(parts: Iterable[object]) -> Markup:
    """Return the parts one after the other, each escaped unless it is `Markup`."""
    return Markup("".join(part if isinstance(part, Markup) else escape(str(part)) for part in parts))


def with_code(text: str) -> Markup:
    """Return the text with what stands between backticks as code."""
    return Markup(CODE.sub(r"<code>\1</code>", escape(text)))


def each(name: str, inside: Iterable[object], /, **attributes: object) -> Markup:
    """Return an element of this name for each thing inside, with the same attributes."""
    return join(element(name, one, **attributes) for one in inside)


def table(names: Iterable[object], rows: Iterable[Iterable[object]], caption: str = "") -> Markup:
    """Return a table below a row of names; what is not `Markup` in a row gets a cell."""
    head = element("thead", _row(names, heading))
    body = element("tbody", *(_row(row, cell) for row in rows))
    return element("div", element("table", caption and element("caption", caption), head, body), class_="wide")


def heading(name: object, class_: str = "") -> Markup:
    """Return the cell at the head of a column, which screen readers name with each cell below it."""
    return element("th", name, scope="col", class_=class_)


def cell(value: object, class_: str = "") -> Markup:
    """Return a cell of a row."""
    return element("td", value, class_=class_)


def _row(cells: Iterable[object], make: Callable[[object], Markup]) -> Markup:
    return element("tr", *(one if isinstance(one, Markup) else make(one) for one in cells))


def page(title: str, *body: object) -> str:
    """Return a page of these elements that needs no other file."""
    return (
        '<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"{element('title', title)}<style>{declare_variables(':root')}{STYLE}</style></head>\n"
        f"<body>\n{join(body)}\n</body>\n</html>\n"
    )
