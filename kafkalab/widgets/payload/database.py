"""The tables of a database beside the cluster, drawn as strips: a row is a record, and it is stable once committed."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from kafkalab.trace import Event, Trace
from kafkalab.widgets.payload.text import TABLE

Op = list[Any]
SQLITE = "SQLite"
"""The place that the tables' strips name."""
SAYS = f", {SQLITE}: "
"""In a sentence, between the process and its statement."""


def strip_of(table: str) -> str:
    """Return the name of a table's strip."""
    return f"{TABLE}{table}"


def tables_of(trace: Trace) -> list[str]:
    """Return the strips of the tables that hold anything at some moment of the run."""
    found: dict[str, None] = {}
    for event in trace.of("state", "database"):
        found |= dict.fromkeys(table for table, rows in event.data["tables"].items() if rows)
    return [strip_of(table) for table in found]


class Tables:
    """The rows that the strips show by now, as lists."""

    def __init__(self) -> None:
        self.shown: dict[str, list[str]] = {}
        self.stable: dict[str, int] = {}

    def changes(self, event: Event) -> list[Op]:
        """Return the changes of the picture: rows that came, rows that are gone, and how many are committed."""
        ops: list[Op] = []
        for table, rows in event.data["tables"].items():
            ops += self._rows(table, rows, event.at_ms)
            committed = _count_shared(event.data["committed"][table], rows)
            if self.stable.get(table, 0) != committed:
                self.stable[table] = committed
                ops += [[mark, SQLITE, strip_of(table), committed] for mark in ("hw", "lso")]
        return ops

    def _rows(self, table: str, rows: list[str], at_ms: int) -> list[Op]:
        strip = strip_of(table)
        known = self.shown.get(strip, [])
        ops: list[Op] = []
        if not known and rows and strip not in self.shown:
            ops.append(["leader", strip, SQLITE])
        same = _count_shared(known, rows)
        if same < len(known):
            ops.append(["truncate", SQLITE, strip, same])
            self.stable[table] = min(self.stable.get(table, 0), same)  # what shows the strip lowers its marks, too
        ops += [["batch", SQLITE, strip, _row(place, rows[place], at_ms)] for place in range(same, len(rows))]
        if ops:
            self.shown[strip] = list(rows)
        return ops


def statement_of(does: str) -> str:
    """Return a statement in short, for its lane: its verb and its table."""
    words = does.split()
    table = next((after for word, after in pairwise(words) if word in ("INTO", "FROM", "UPDATE")), "")
    return f"{words[0]} {table}".strip() if words[0].isupper() else "ROLLBACK"


def _count_shared(one: list[str], other: list[str]) -> int:
    """Return how many rows both begin with."""
    return next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def _row(place: int, text: str, at_ms: int) -> dict[str, Any]:
    """A row as a batch of one record, of no producer."""
    nobody = {"pid": -1, "epoch": -1, "seq": -1, "txn": False, "le": -1, "ts": at_ms}
    return {"base": place, "last": place, "kind": "data", **nobody, "records": [["", text]], "decoded": ""}
