"""The diagrams of the state machines: dot source, and the committed SVGs, whose ids let a view animate them.

`python -m kafkalab.widgets.payload.state_diagrams` lays all of them out with graphviz's `dot`; views show what is
committed, so a machine without `dot` shows it too. States have ids such as `s_Ongoing`, edges
`e_Ongoing__PrepareCommit`; an edge of class "back" runs in the file from its head to its tail: dot draws those
without loops around the picture.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterable
from pathlib import Path
from typing import TypeAlias

from kafkalab.widgets.payload.state_machines import ANY, SHORT, Machine, machine

Edge: TypeAlias = tuple[str, str, str]
"""(state, question, state that it leads to)"""

SVG = "http://www.w3.org/2000/svg"
NAMES = ("coordinator_tv1", "coordinator_tv2", "producer", "group")
HEAD = """digraph states {
rankdir=%s; nodesep=%s; ranksep=%s; margin=0.02; bgcolor=transparent;
node [shape=box style=rounded fontname=Helvetica fontsize=13 margin="%s" height=%s width=%s class=state];
edge [fontname=Helvetica fontsize=12 arrowsize=0.6];
"""
LAYOUT = {
    "coordinator": ("LR", "0.11", "0.44", "0.1,0.03", "0.46", "0.86"),
    "producer": ("TB", "0.25", "0.45", "0.12,0.04", "0.5", "0.9"),
    "group": ("LR", "0.25", "0.45", "0.12,0.04", "0.5", "0.9"),
}
COLUMNS = {
    "coordinator": {
        "Empty": 0, "Ongoing": 1, "PrepareCommit": 2, "PrepareAbort": 2, "CompleteCommit": 3, "CompleteAbort": 3,
    },
    "producer": {
        "UNINITIALIZED": 0, "INITIALIZING": 1, "READY": 2, "IN_TRANSACTION": 3, "PREPARED_TRANSACTION": 4,
        "ABORTABLE_ERROR": 4, "COMMITTING_TRANSACTION": 5, "ABORTING_TRANSACTION": 5, ANY: 0, "FATAL_ERROR": 1,
    },
    "group": {"Dead": 0, "Empty": 1, "PreparingRebalance": 2, "CompletingRebalance": 3, "Stable": 4},
}  # fmt: skip
"""Of two states the one with the higher number stands further on; arrows back are laid out as if they went on."""
WEIGHTS = {
    "coordinator": {
        ("Empty", "Ongoing"): 90, ("PrepareCommit", "CompleteCommit"): 50, ("PrepareAbort", "CompleteAbort"): 50,
    },
    "producer": {
        ("UNINITIALIZED", "INITIALIZING"): 60, ("INITIALIZING", "READY"): 60, ("READY", "IN_TRANSACTION"): 60,
    },
    "group": {("Empty", "PreparingRebalance"): 60, ("PreparingRebalance", "CompletingRebalance"): 60},
}  # fmt: skip
SHAPING = (("Empty", "PrepareAbort"), ("CompleteCommit", "PrepareAbort"), ("CompleteAbort", "PrepareAbort"))
"""Edges that only version 2 has; they are laid out in both, unseen, so that the two pictures look alike."""
TWO_LINES = ("Preparing", "Prepare", "Completing", "Complete")


def source(chart: Machine) -> str:
    """Return the diagram of a machine in dot's language; questions between the same two states share an arrow."""
    merged, states = merged_edges(chart.edges()), list(chart.states)
    pairs = sorted(merged, key=lambda pair: _layout_order(chart, pair)) if chart.name == "coordinator" else list(merged)
    lines = [f'"{s}" [id="s_{s}" label="{_lines(s)}"];' for s in states]
    if any(a == ANY for a, _ in merged):
        lines.append(f'"{ANY}" [id="s_{ANY}" label="any state" style="rounded,dashed"];')
    pad = "  " if LAYOUT[chart.name][0] == "TB" else ""
    lines += [_arrow(chart.name, a, b, f'id="e_{a}__{b}" label="{pad}{_label(merged[a, b])}"') for a, b in pairs]
    if chart.name == "coordinator":
        lines += [_arrow(chart.name, a, b, 'style=invis label="abort"') for a, b in SHAPING if (a, b) not in merged]
    return HEAD % LAYOUT[chart.name] + "\n".join(lines) + "\n}\n"


def draw(chart: Machine) -> str:
    """Return the diagram of a machine as SVG, laid out now; graphviz.ExecutableNotFound without `dot`."""
    import graphviz  # here: a page with Python in it has the pictures, and no graphviz

    laid_out: str = graphviz.Source(source(chart)).pipe(format="svg", encoding="utf-8")
    return tidy(laid_out, merged_edges(chart.edges()), chart.title)


def read_diagram(chart: Machine) -> str:
    """Return the committed SVG of a machine."""
    name = f"{chart.name}_{chart.version.lower()}" if chart.version else chart.name
    return _path(name).read_text(encoding="utf-8")


def machine_of(name: str) -> Machine:
    """Return the machine that a name in `NAMES` stands for."""
    kind, _, version = name.partition("_")
    return machine(kind, version.upper() or "TV2")


def ids(svg: str) -> set[str]:
    """The ids of the states and arrows in a picture."""
    found = (e.get("id", "") for e in ET.fromstring(svg).iter())
    return {i for i in found if i.startswith(("s_", "e_"))}


def _path(name: str) -> Path:
    return Path(__file__).with_name(f"state_diagram_{name}.svg")


def merged_edges(edges: Iterable[Edge]) -> dict[tuple[str, str], list[str]]:
    """Return the questions of each arrow, by the two states that it joins."""
    merged: dict[tuple[str, str], list[str]] = {}
    for a, question, b in edges:
        merged.setdefault((a, b), []).append(question)
    return merged


def _layout_order(chart: Machine, pair: tuple[str, str]) -> tuple[int, int, int]:
    """dot puts what comes first above: the commit branch, and arrows back to Empty outside those back to Ongoing."""
    states, columns = list(chart.states), COLUMNS[chart.name]
    a, b = (states.index(s) for s in pair)
    back = int(columns[pair[1]] < columns[pair[0]])
    return (a == b, b, a) if back else (a == b, a, b)


def _arrow(name: str, a: str, b: str, attributes: str) -> str:
    weight = f" weight={WEIGHTS[name][a, b]}" if (a, b) in WEIGHTS[name] else ""
    if COLUMNS[name][b] < COLUMNS[name][a]:
        return f'"{b}" -> "{a}" [{attributes} class=back dir=back{weight}];'
    return f'"{a}" -> "{b}" [{attributes}{weight}];'


def _lines(state: str) -> str:
    """A state's name on two lines where it is long."""
    start = next((start for start in TWO_LINES if state.startswith(start)), "")
    return f"{start}\\n{state.removeprefix(start)}" if start else state.replace("_", "_\\n", 1)


def _label(questions: list[str]) -> str:
    short = list(dict.fromkeys(SHORT.get(q.removesuffix("()"), q) for q in questions))
    return " · ".join(short[:2]) + "".join(f"\\n{s}" for s in short[2:])


def tidy(svg: str, merged: dict[tuple[str, str], list[str]], label: str) -> str:
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


def main() -> None:
    """Write the committed pictures: what `dot` makes of the tables now."""
    for name in NAMES:
        _path(name).write_text(draw(machine_of(name)), encoding="utf-8")
        print(f"wrote {_path(name).name}")


if __name__ == "__main__":
    main()
