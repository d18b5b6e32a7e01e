"""Draws the picture of ARCHITECTURE.md: `python -m tests.architecture` writes docs/architecture.dot and its SVG.

The layers are those of tests/test_layers.py; the arrows between packages are data here. Without Graphviz's `dot` the
committed SVG serves.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.test_layers import LAYERS, PURE

SOURCE, PICTURE = Path("docs") / "architecture.dot", Path("docs") / "architecture.svg"
FLOW = {
    "scenario": (("Scenario",), ("programs", "course")),
    "cluster": (("Cluster:", "clients, brokers,", "network, faults"), ("sim", "client", "broker", "log")),
    "trace": (("Trace:", "events with", "their causes"), ("trace",)),
    "payload": (("payload:", "sentences,", "patches"), ("widgets",)),
    "picture": (("picture",), ("widgets",)),
    "history": (("History:", "tables"), ("history",)),
    "checks": (("findings",), ("checks",)),
    "audits": (("findings",), ("spark",)),
    "server": (("cluster for", "real clients"), ("wire", "live")),
    "capture": (("topics of a", "running Kafka"), ("wire",)),
    "search": (("search for the", "fewest faults"), ("explore",)),
    "exercise": (("exercises",), ("grading", "course")),
}
"""What a run passes through: a name for the arrows, the lines that say what it is, and the packages that have it."""
ARROWS = (
    *("scenario -> cluster", "cluster -> trace", "server -> trace", "trace -> payload", "payload -> picture"),
    *("trace -> history", "capture -> history", "history -> checks", "history -> audits"),
    *("checks -> picture", "checks -> search", "checks -> exercise"),
)
HEAD = """digraph architecture {
rankdir=LR; nodesep=0.2; ranksep=0.3; margin=0.1; bgcolor=white;
node [shape=box style="rounded,filled" fillcolor="#eef4fb" color="#0b57a4" margin="0.1,0.05"];
node [fontname=Helvetica fontsize=13];
edge [color="#444444" arrowsize=0.6];
"""


def source() -> str:
    """Return the picture in dot's language: the layers as a table, and beside it the way of one run."""
    layers = f"layers [shape=plain style=solid label=<{_table()}>]; layers -> scenario [style=invis];"
    nodes = (f"{name} [label=<{_label(*of_node)}>];" for name, of_node in FLOW.items())
    return "\n".join([HEAD + layers, *nodes, *(f"{arrow};" for arrow in ARROWS), "}", ""])


def _label(lines: Iterable[str], packages: Iterable[str]) -> str:
    return f'{"<br/>".join(lines)}<br/><font point-size="10">{", ".join(packages)}</font>'


def _table() -> str:
    rows = "".join(_rows())
    return f'<table border="0" cellborder="1" cellspacing="0" cellpadding="4" color="#777777">{rows}</table>'


def _rows() -> Iterator[str]:
    """Yield the rows of the table, the topmost layer first."""
    yield '<tr><td border="0"><b>each imports only from below</b></td></tr>'
    for layer in reversed(LAYERS):
        colour = "#e6f2e6" if layer[0] in PURE else "#ffffff"
        yield f'<tr><td bgcolor="{colour}">{", ".join(layer)}</td></tr>'
    yield '<tr><td border="0"><font point-size="10">green: pure, the standard library only</font></td></tr>'


def draw() -> str:
    """Return the picture as SVG, laid out now; graphviz.ExecutableNotFound without `dot`."""
    import graphviz

    laid_out: str = graphviz.Source(source()).pipe(format="svg", encoding="utf-8")
    return re.sub(r"<!--.*?-->\n?", "", laid_out, flags=re.DOTALL)


def texts(svg: str) -> list[str]:
    """Return the texts in a picture, sorted."""
    return sorted(re.findall(r"<text[^>]*>([^<]*)</text>", svg))


def main() -> None:
    """Write the source of the picture, and the picture."""
    SOURCE.write_text(source(), encoding="utf-8")
    PICTURE.write_text(draw(), encoding="utf-8")


if __name__ == "__main__":
    main()
