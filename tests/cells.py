"""Which cells of a table were looked at: the tables' rows are replaced by dictionaries that remember."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kafkalab.protocol.transition_tables.group import GROUP_TABLE
from kafkalab.protocol.transition_tables.producer import EVENTS, TABLE
from kafkalab.protocol.transition_tables.transaction import TABLES

Cell = tuple[Any, ...]


class _Watched(dict[Any, Any]):
    def __init__(self, row: dict[Any, Any], path: Cell, seen: dict[Cell, int]) -> None:
        super().__init__(row)
        self._path, self._seen = path, seen

    def __getitem__(self, key: Any) -> Any:
        cell = (*self._path, key)
        self._seen[cell] = self._seen.get(cell, 0) + 1
        return super().__getitem__(key)

    def get(self, key: Any, default: Any = None) -> Any:
        if key not in self:
            return default
        return self[key]


WATCHED: dict[str, dict[Any, Any]] = {
    "the coordinator's tables": TABLES,
    "the producer's calls": TABLE,
    "the producer's events": EVENTS,
    "the group's table": GROUP_TABLE,
}
"""All tables that decide what happens."""


def describe(cell: Cell) -> str:
    """The cell's path in plain words."""
    return " / ".join(str(getattr(part, "label", getattr(part, "value", part))) for part in cell)


@contextmanager
def watching(table: dict[Any, Any]) -> Iterator[dict[Cell, int]]:
    """Every cell of the nested table, and how often it was looked at since: 0 for never."""
    seen: dict[Cell, int] = {}
    rows: list[tuple[dict[Any, Any], Any, dict[Any, Any]]] = []

    def watch(parent: dict[Any, Any], path: Cell) -> None:
        for key, value in list(parent.items()):
            cell = (*path, key)
            if not isinstance(value, dict):
                continue
            if any(isinstance(below, dict) for below in value.values()):
                watch(value, cell)
                continue
            seen.update({(*cell, below): 0 for below in value})
            rows.append((parent, key, value))
            parent[key] = _Watched(value, cell, seen)

    watch(table, ())
    try:
        yield seen
    finally:
        for parent, key, row in rows:
            parent[key] = row
