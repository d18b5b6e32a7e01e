"""The tree of runs as text: a line for each, under the run that it was made of."""

from __future__ import annotations

from typing import Any


def in_order(tree: list[dict[str, Any]]) -> list[tuple[int, dict[str, Any]]]:
    """The entries with their depth, each right after its parent and that one's earlier children."""
    children: dict[int, list[dict[str, Any]]] = {}
    for entry in tree:
        children.setdefault(entry["parent"], []).append(entry)
    found, waiting = [], [(0, entry) for entry in reversed(children.get(-1, []))]
    while waiting:
        depth, entry = waiting.pop()
        found.append((depth, entry))
        waiting += [(depth + 1, child) for child in reversed(children.get(entry["id"], []))]
    return found


def label_of(entry: dict[str, Any]) -> str:
    """Return the fault that made the run: "Drop('EndTxn#1')"; "the scenario" of the first."""
    return str(entry["label"]).replace("(frame=", "(") or "the scenario"


def entry_text(entry: dict[str, Any]) -> str:
    """ "2 lost answer: Drop('EndTxnResponse#1'), from step 78, committed"; the first run is "the scenario"."""
    what = label_of(entry)
    if entry["parent"] >= 0:
        what += f", from step {entry['at']}"
    name = f"{entry['name']}: " if entry["name"] else ""
    return f"{entry['id']} {name}{what}, {entry['outcome']}"


def tree_lines(tree: list[dict[str, Any]], place: int) -> list[str]:
    """A line for each run, indented under the one it was made of; ">" marks the one that is shown."""
    return [f"{'>' if e['id'] == place else ' '} {'   ' * depth}{entry_text(e)}" for depth, e in in_order(tree)]
