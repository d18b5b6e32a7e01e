"""The pictures of the three state machines, laid out by graphviz's `dot` and committed, with ids that can be animated.

`python -m kafkalab.widgets.views.state_diagrams` renders all of them. States have ids such as `s_Ongoing`, edges
`e_Ongoing__PrepareCommit`; an edge of class "back" runs in the file from its head to its tail.
"""

from __future__ import annotations

from pathlib import Path

import graphviz

from kafkalab.widgets.payload import state_diagram as statechart
from kafkalab.widgets.payload.state_machines import ANY, SHORT, Machine, machine

HEAD = """digraph states {
rankdir=%s; nodesep=0.25; ranksep=0.45; margin=0.02; bgcolor=transparent;
node [shape=box style=rounded fontname=Helvetica fontsize=13 margin="0.12,0.04" height=0.5 width=0.9 class=state];
edge [fontname=Helvetica fontsize=12 arrowsize=0.6];
"""
DIRECTION = {"producer": "TB", "group": "LR"}
COLUMNS = {
    "producer": {
        "UNINITIALIZED": 0, "INITIALIZING": 1, "READY": 2, "IN_TRANSACTION": 3, "PREPARED_TRANSACTION": 4,
        "ABORTABLE_ERROR": 4, "COMMITTING_TRANSACTION": 5, "ABORTING_TRANSACTION": 5, ANY: 0, "FATAL_ERROR": 1,
    },
    "group": {"Dead": 0, "Empty": 1, "PreparingRebalance": 2, "CompletingRebalance": 3, "Stable": 4},
}  # fmt: skip
"""Of two states the one with the higher number stands further on; arrows back are laid out as if they went on."""
MAIN = {
    "producer": [("UNINITIALIZED", "INITIALIZING"), ("INITIALIZING", "READY"), ("READY", "IN_TRANSACTION")],
    "group": [("Empty", "PreparingRebalance"), ("PreparingRebalance", "CompletingRebalance")],
}
NAMES = ("coordinator_tv1", "coordinator_tv2", "producer", "group")


def source(chart: Machine) -> str:
    """The diagram of a machine in dot's language; questions between the same two states share an arrow."""
    columns, merged = COLUMNS[chart.name], statechart.merged_edges(chart.edges())
    lines = [f'"{s}" [id="s_{s}" label="{_lines(s)}"];' for s in chart.states]
    if any(a == ANY for a, _ in merged):
        lines.append(f'"{ANY}" [id="s_{ANY}" label="any state" style="rounded,dashed"];')
    pad = "  " if DIRECTION[chart.name] == "TB" else ""
    for (a, b), questions in merged.items():
        left = columns[b] < columns[a]
        tail, head = (b, a) if left else (a, b)
        more = " class=back dir=back" if left else ""
        more += " weight=60" if (a, b) in MAIN[chart.name] else ""
        lines.append(f'"{tail}" -> "{head}" [id="e_{a}__{b}" label="{pad}{_label(questions)}"{more}];')
    return HEAD % DIRECTION[chart.name] + "\n".join(lines) + "\n}\n"


def draw(name: str) -> str:
    """A committed picture's name to its SVG, laid out now; graphviz.ExecutableNotFound without `dot`."""
    chart = _machine(name)
    if chart.name == "coordinator":
        return statechart.draw(chart.edges())
    laid_out: str = graphviz.Source(source(chart)).pipe(format="svg", encoding="utf-8")
    return statechart.tidy(laid_out, statechart.merged_edges(chart.edges()), chart.title)


def committed(chart: Machine) -> str:
    """The committed SVG of a machine."""
    if chart.name == "coordinator":
        return statechart.committed(chart.version)
    return _path(chart.name).read_text(encoding="utf-8")


def _machine(name: str) -> Machine:
    kind, _, version = name.partition("_")
    return machine(kind, version.upper() or "TV2")


def _path(name: str) -> Path:
    return Path(__file__).with_name(f"statechart_{name.removeprefix('coordinator_')}.svg")


def _lines(state: str) -> str:
    """A state's name on two lines where it is long."""
    for start in ("Preparing", "Completing"):
        if state.startswith(start):
            return f"{start}\\n{state.removeprefix(start)}"
    return state.replace("_", "_\\n", 1)


def _label(questions: list[str]) -> str:
    short = list(dict.fromkeys(SHORT.get(q.removesuffix("()"), q) for q in questions))
    return " · ".join(short[:2]) + "".join(f"\\n{s}" for s in short[2:])


def main() -> None:
    """The committed pictures are those that `dot` makes of the tables now."""
    for name in NAMES:
        _path(name).write_text(draw(name), encoding="utf-8")
        print(f"wrote {_path(name).name}")


if __name__ == "__main__":
    main()
