"""Arrivals: one stream of all that a streaming audit looks at, made of the tables of a history, in the order of steps.

What comes first in a history also comes first here: a send before its record, a decision before its markers. So files
of arrivals that are written one after the other are a history that grows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Annotated, Any, NamedTuple

from kafkalab.checks.needs import LACKS
from kafkalab.checks.view import PREPARED
from kafkalab.history.history import History
from kafkalab.history.schema import Flag, Int, Long, NullableText, Text, Texts

ARRIVALS = "arrivals"
END_STEP = 1 << 62
"""The step of the last arrival of a run: by then its clock shows the end of the history."""


class Arrival(NamedTuple):
    """One row. Of one step, the lower rank comes first. -1 and "" mean "none"."""

    run: Annotated[Long, "number of the run"]
    step: Annotated[Long, "step of the event"]
    rank: Annotated[Int, "place of its table in ORDER"]
    at_ms: Annotated[Long, "virtual time in milliseconds"]
    kind: Annotated[
        Text,
        "send, offsets, commit, abort (of a client), record, marker, decision, entry, watermark, clock or lacks",
    ]
    key: Annotated[Text, "topic-partition"] = ""
    offset: Annotated[Long, "as in the table"] = -1
    record_key: Annotated[NullableText, "the record's own key"] = None
    value: Annotated[NullableText, "the record's value"] = None
    transactional_id: Annotated[NullableText, "as in the table"] = None
    producer_id: Annotated[Long, "as in the table"] = -1
    producer_epoch: Annotated[Int, "as in the table"] = -1
    sequence: Annotated[Int, "as in the table"] = -1
    transactional: Annotated[Flag, "whether the record belongs to a transaction"] = False
    client: Annotated[Text, "of an operation"] = ""
    transaction: Annotated[Long, "the client's own count of its transactions"] = -1
    state: Annotated[Text, "type of an operation, COMMIT or ABORT of a marker or decision, or as in the table"] = ""
    partitions: Annotated[Texts, "of a decision"] = ()
    high_watermark: Annotated[Long, "as in the table"] = -1
    last_stable_offset: Annotated[Long, "as in the table"] = -1


NAMES = Arrival._fields
ORDER = ("operations", "transactions", "log", "watermarks", "labels")
"""The tables that arrivals are made of; the place in here is the rank."""

CONDITIONS = {
    "operations": "function in ('send', 'offsets', 'commit', 'abort')",
    "transactions": "removed != 'truncated'",
    "log": "removed != 'truncated'",
    "watermarks": "leads",
    "labels": "name in ('end_ms', 'lacks')",
}
"""Which rows of a table arrive, as SQL; a record that a new leader cut off has not been there for readers."""

RENAMED = {
    "operations": {"kind": "function", "state": "type"},
    "transactions": {
        "kind": "if(state in ('PrepareCommit', 'PrepareAbort'), 'decision', 'entry')",
        "state": "case state when 'PrepareCommit' then 'COMMIT' when 'PrepareAbort' then 'ABORT' else state end",
    },
    "log": {"kind": "if(control = '', 'record', 'marker')", "state": "control"},
    "watermarks": {"kind": "'watermark'"},
    "labels": {
        "kind": "if(name = 'lacks', 'lacks', 'clock')",
        "step": f"if(name = 'lacks', -1, {END_STEP})",
        "at_ms": "if(name = 'lacks', -1, try_cast(value as bigint))",
        "value": "if(name = 'lacks', value, null)",
    },
}
"""Columns that are no column of the table by that name, as SQL; what a table has not is left at its default."""

_PLAIN: dict[str, Callable[[Any], dict[str, Any] | None]] = {
    "operations": lambda r: (
        {"kind": r.function, "state": r.type} if r.function in ("send", "offsets", "commit", "abort") else None
    ),
    "transactions": lambda r: (
        {"kind": "decision" if r.state in PREPARED else "entry", "state": PREPARED.get(r.state, r.state)}
        if r.removed != "truncated"
        else None
    ),
    "log": lambda r: (
        {"kind": "marker" if r.control else "record", "state": r.control} if r.removed != "truncated" else None
    ),
    "watermarks": lambda r: {"kind": "watermark"} if r.leads else None,
    "labels": lambda r: (
        {"kind": "clock", "step": END_STEP, "at_ms": int(r.value), "value": None}
        if r.name == "end_ms"
        else {"kind": "lacks", "step": -1, "at_ms": -1}
        if r.name == LACKS
        else None
    ),
}
"""The same in Python, for histories that are objects."""


def arrivals_of(runs: Iterable[tuple[int, History]]) -> Iterator[Arrival]:
    """The arrivals of each history, in the order of its steps. Without sends, values of records prove nothing."""
    for run, history in runs:
        found = [a for table in ORDER for a in (_plain(run, table, row) for row in history.table(table)) if a]
        if "operations" in history.label(LACKS):
            found = [a._replace(value=None) if a.kind == "record" else a for a in found]
        yield from sorted(found, key=place_of)


def place_of(row: Any) -> tuple[int, int, str, int]:
    """Where an arrival stands in the order of its run."""
    return row.step, row.rank, row.key, row.offset


def _plain(run: int, table: str, row: Any) -> Arrival | None:
    other = _PLAIN[table](row)
    if other is None:
        return None
    same = {name: getattr(row, name) for name in NAMES if name not in other and name != "run" and hasattr(row, name)}
    return Arrival(run=run, rank=ORDER.index(table), **{**same, **other})
