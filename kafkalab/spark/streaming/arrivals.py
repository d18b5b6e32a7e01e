"""Arrivals: one stream of all that a streaming audit looks at, made of the tables of a history, in the order of steps.

What comes first in a history also comes first here: a send before its record, a decision before its markers. So files
of arrivals that are written one after the other are a history that grows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated, Any, NamedTuple

from kafkalab.checks.view import END_MS, LACKS, PREPARED
from kafkalab.history.history import History
from kafkalab.history.schema import (
    Flag,
    HistoryRow,
    Int,
    Label,
    LogRecord,
    Long,
    NullableText,
    Operation,
    Text,
    Texts,
    TxnEntry,
)
from kafkalab.protocol.partitions import OFFSETS_TOPIC, topic_of

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
    call: Annotated[Long, "of an operation: the index of its invoke"] = -1


NAMES = Arrival._fields
ORDER = ("operations", "transactions", "log", "watermarks", "labels")
"""The tables that arrivals are made of; the place in here is the rank."""

FUNCTIONS = ("send", "offsets", "commit", "abort")
"""The operations that arrive."""
SAME: dict[type[HistoryRow], list[str]] = {
    kind: [name for name in NAMES if name in kind._fields] for kind in (LogRecord, Operation, TxnEntry)
}
"""The columns that such a row and its arrival have."""
STATES = {outcome: state for state, outcome in PREPARED.items()}


def arrivals_of(runs: Iterable[tuple[int, History]]) -> Iterator[Arrival]:
    """The arrivals of each history, in the order of its steps.

    Without sends, values of records prove nothing, but for committed offsets.
    """
    for run, history in runs:
        found = [a for table in ORDER for row in history.table(table) if (a := arrival_of(run, table, row))]
        if "operations" in history.label(LACKS):
            found = [a._replace(value=None) if a.kind == "record" and not is_commit(a) else a for a in found]
        yield from sorted(found, key=place_of)


def is_commit(row: Arrival) -> bool:
    """Return True if the row is of a partition of `__consumer_offsets`."""
    return topic_of(row.key) == OFFSETS_TOPIC


def arrival_of(run: int, table: str, row: Any) -> Arrival | None:
    """Return the arrival that a row of a table is; None for one that does not arrive.

    A record that a new leader cut off has not been there for readers.
    """
    other = _other(table, row)
    if other is None:
        return None
    same = {name: getattr(row, name) for name in NAMES if name not in other and name in row._fields}
    return Arrival(run=run, rank=ORDER.index(table), **{**same, **other})


def _other(table: str, row: Any) -> dict[str, object] | None:
    """Return what an arrival has under another name, or otherwise, than its row; None if the row does not arrive."""
    if table == "operations" and row.function in FUNCTIONS:
        call = row.index if row.type == "invoke" else row.invocation
        return {"kind": row.function, "state": row.type, "call": call}
    if table == "transactions" and row.removed != "truncated":
        return {"kind": "decision" if row.state in PREPARED else "entry", "state": PREPARED.get(row.state, row.state)}
    if table == "log" and row.removed != "truncated":
        return {"kind": "marker" if row.control else "record", "state": row.control}
    if table == "watermarks" and row.leads:
        return {"kind": "watermark"}
    if table == "labels" and row.name == END_MS:
        return {"kind": "clock", "step": END_STEP, "at_ms": int(row.value), "value": None}
    if table == "labels" and row.name == LACKS:
        return {"kind": "lacks", "step": -1, "at_ms": -1}
    return None


def history_of_arrivals(rows: Iterable[Arrival], lacks: Iterable[str]) -> History:
    """Return the operations, records and entries that these arrivals are, as checks look at them."""
    log, operations, entries = list[LogRecord](), list[Operation](), list[TxnEntry]()
    for row in rows:
        if row.kind in ("record", "marker"):
            log.append(LogRecord(control=row.state, **_same(LogRecord, row)))
        elif row.kind in ("decision", "entry"):
            entries.append(TxnEntry(**_same(TxnEntry, row) | {"state": STATES.get(row.state, row.state)}))
        else:
            invocation = -1 if row.state == "invoke" else row.call
            operation = Operation(type=row.state, function=row.kind, index=row.call, invocation=invocation)
            operations.append(operation._replace(**_same(Operation, row)))
    labels = tuple(Label(LACKS, table) for table in lacks)
    return History(log=tuple(log), operations=tuple(operations), transactions=tuple(entries), labels=labels)


def _same(kind: type[HistoryRow], row: Arrival) -> dict[str, Any]:
    return {name: getattr(row, name) for name in SAME[kind]}


def place_of(row: Arrival) -> tuple[int, int, str, int]:
    """Return the place of an arrival in the order of its run."""
    return row.step, row.rank, row.key, row.offset
