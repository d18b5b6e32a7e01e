"""The state diagram of a transaction: dot source from a list of edges, and an SVG that can be animated by its ids.

`python -m kafkalab.widgets.payload.state_diagram` renders the diagrams of both transaction versions with graphviz.
The committed pictures are what notebooks show, so a machine without `dot` shows them too.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TypeAlias

import graphviz

from kafkalab.broker.transaction_coordinator.transition_table import TABLES
from kafkalab.broker.transaction_coordinator.transition_table import edges as table_edges

Edge: TypeAlias = tuple[str, str, str]
"""(state, question, state that it leads to)"""

ORDER = ("Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort")
COLUMN = dict(zip(ORDER, (0, 1, 2, 2, 3, 3), strict=True))
SHORT = {
    "InitProducerId": "init",
    "AddPartitionsToTxn": "add",
    "EndTxn(COMMIT)": "commit",
    "EndTxn(ABORT)": "abort",
    "all markers written": "markers",
    "transaction timeout": "timeout",
}
MAIN = {("Empty", "Ongoing"): 90, ("PrepareCommit", "CompleteCommit"): 50, ("PrepareAbort", "CompleteAbort"): 50}
SHAPING = (("Empty", "PrepareAbort"), ("CompleteCommit", "PrepareAbort"), ("CompleteAbort", "PrepareAbort"))
"""Edges that only version 2 has; they are laid out in both, unseen, so that the two pictures look alike."""

HEAD = """digraph transaction {
rankdir=LR; nodesep=0.11; ranksep=0.44; margin=0.02; bgcolor=transparent;
node [shape=box style=rounded fontname=Helvetica fontsize=13 margin="0.1,0.03" height=0.46 width=0.86 class=state];
edge [fontname=Helvetica fontsize=12 arrowsize=0.6];
"""
SVG = "http://www.w3.org/2000/svg"


def source(edges: Iterable[Edge]) -> str:
    """The diagram in dot's language. Node ids are `s_Ongoing`, edge ids `e_Ongoing__PrepareCommit`.

    Questions that lead from and to the same states share an arrow. An arrow to the left is laid out as one to the
    right with its head at the tail, class "back": dot draws those without loops around the picture.
    """
    merged = merged_edges(edges)
    names = list(ORDER) + [s for pair in merged for s in pair if s not in ORDER]
    lines = [f'"{s}" [id="s_{s}" label="{_two_lines(s)}"];' for s in dict.fromkeys(names)]
    for a, b in sorted(merged, key=_layout_order):
        lines.append(_arrow(a, b, f'id="e_{a}__{b}" label="{_label(merged[a, b])}"'))
    lines += [_arrow(a, b, 'style=invis label="abort"') for a, b in SHAPING if (a, b) not in merged]
    return HEAD + "\n".join(lines) + "\n}\n"


def draw(edges: Iterable[Edge]) -> str:
    """The diagram as SVG, laid out by `dot`; where there is no `dot`, the committed picture with these edges only.

    In the latter case an arrow that has no place in the committed picture is named in a line of text below it.
    """
    edges = list(edges)
    try:
        laid_out = graphviz.Source(source(edges)).pipe(format="svg", encoding="utf-8")
    except graphviz.ExecutableNotFound:
        return _committed_with(edges)
    return tidy(laid_out, merged_edges(edges))


def committed(version: str) -> str:
    """The committed SVG of "TV1" or "TV2". ValueError for any other version."""
    if version not in TABLES:
        raise ValueError(f"there is no transaction version {version!r}; there are {', '.join(TABLES)}")
    return _path(version).read_text(encoding="utf-8")


def ids(svg: str) -> set[str]:
    """The ids of the states and arrows in a picture."""
    found = (e.get("id", "") for e in ET.fromstring(svg).iter())
    return {i for i in found if i.startswith(("s_", "e_"))}


def _path(version: str) -> Path:
    return Path(__file__).parents[1] / "views" / f"statechart_{version.lower()}.svg"


def merged_edges(edges: Iterable[Edge]) -> dict[tuple[str, str], list[str]]:
    merged: dict[tuple[str, str], list[str]] = {}
    for a, question, b in edges:
        merged.setdefault((a, b), []).append(question)
    return merged


def _layout_order(pair: tuple[str, str]) -> tuple[int, int, int]:
    """dot puts what comes first above: the commit branch, and arrows back to Empty outside those back to Ongoing."""
    a, b = (ORDER.index(s) if s in ORDER else len(ORDER) for s in pair)
    back = int(COLUMN.get(pair[1], 9) < COLUMN.get(pair[0], 9))
    return (a == b, b, a) if back else (a == b, a, b)


def _arrow(a: str, b: str, attributes: str) -> str:
    if (a, b) in MAIN:
        return f'"{a}" -> "{b}" [{attributes} weight={MAIN[a, b]}];'
    if COLUMN.get(b, 9) < COLUMN.get(a, 9):
        return f'"{b}" -> "{a}" [{attributes} class=back dir=back];'
    return f'"{a}" -> "{b}" [{attributes}];'


def _two_lines(state: str) -> str:
    for start in ("Prepare", "Complete"):
        if state.startswith(start):
            return f"{start}\\n{state.removeprefix(start)}"
    return state


def _label(questions: Sequence[str]) -> str:
    short = list(dict.fromkeys(SHORT.get(q, q) for q in questions))
    return " · ".join(short[:2]) + "".join(f"\\n{s}" for s in short[2:])


def tidy(svg: str, merged: dict[tuple[str, str], list[str]], label: str = "States of a transaction") -> str:
    """dot's SVG without comments, background and sizes; each state and arrow with a title that says what it is."""
    ET.register_namespace("", SVG)
    root = ET.fromstring(svg)
    for name in ("width", "height"):
        root.attrib.pop(name, None)
    titles = {f"s_{state}": state for pair in merged for state in pair}
    titles |= {f"e_{a}__{b}": f"{a} → {b}: {', '.join(asks)}" for (a, b), asks in merged.items()}
    for group in root.iter(f"{{{SVG}}}g"):
        title = group.find(f"{{{SVG}}}title")
        if title is not None:
            title.text = titles.get(group.get("id", ""), group.get("id", "").removeprefix("s_"))
        for child in list(group):
            if group.get("class") == "graph" and child.tag in (f"{{{SVG}}}polygon", f"{{{SVG}}}title"):
                group.remove(child)
    root.set("role", "img")
    root.set("aria-label", label)
    return ET.tostring(root, encoding="unicode").replace(' xmlns:xlink="http://www.w3.org/1999/xlink"', "") + "\n"


def _committed_with(edges: Sequence[Edge]) -> str:
    """The committed picture of TV2 without the arrows that are not in `edges`; those it lacks, named below it."""
    ET.register_namespace("", SVG)
    root = ET.fromstring(committed("TV2"))
    wanted = {f"e_{a}__{b}": f"{a} → {b}" for a, b in merged_edges(edges)}
    for parent in list(root.iter()):
        for child in list(parent):
            if child.get("id", "").startswith("e_") and child.get("id") not in wanted:
                parent.remove(child)
    drawn = {e.get("id") for e in root.iter()}
    absent = [text for id_, text in wanted.items() if id_ not in drawn]
    if absent:
        left, top, width, height = (float(n) for n in root.get("viewBox", "0 0 0 0").split())
        note = {"x": f"{left + 4}", "y": f"{top + height + 14}", "font-size": "11", "font-family": "Helvetica"}
        ET.SubElement(root, f"{{{SVG}}}text", note).text = "not in the picture: " + "; ".join(absent)
        root.set("viewBox", f"{left} {top} {width} {height + 20}")
    return ET.tostring(root, encoding="unicode") + "\n"


def main() -> None:
    """The committed pictures are those that `dot` makes of the tables now."""
    for version in TABLES:
        _path(version).write_text(draw(table_edges(version)), encoding="utf-8")
        print(f"wrote {_path(version).name}")


if __name__ == "__main__":
    main()
