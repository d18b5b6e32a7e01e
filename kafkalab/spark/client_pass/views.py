"""A small View of what is suspect, for the check itself to judge: what `kafkalab.checks.view.view_of` makes of all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from kafkalab.checks.check import Check, Finding
from kafkalab.checks.transactions import ClientTxn, note
from kafkalab.checks.view import PREPARED, View
from kafkalab.history.history import History
from kafkalab.history.schema import LogRecord, Operation, Read, TxnEntry
from kafkalab.spark.client_pass.split import Split
from kafkalab.spark.per_key_audits.arrays import Longs
from kafkalab.spark.per_key_audits.records import MARKED, MARKER, ORDINAL, OWN, READ
from kafkalab.spark.per_key_audits.suspects import plain
from kafkalab.spark.storage.rows import rows_of_table


def by_run(run: Longs, rows: Longs) -> Iterator[tuple[int, Longs]]:
    """Yield the rows of each run; `run` is that of every row of the table."""
    for one in np.unique(run[rows]).tolist():
        yield one, rows[run[rows] == one]


def view_of_rows(split: Split, rows: Longs, history: History | None = None, entries: Iterable[TxnEntry] = ()) -> View:
    """Return the view of these records of one run: how they ended, and the transactions that they belong to."""
    view = View(history or History())
    found = split.records.take(pa.array(rows)).to_pylist()
    place_of = sorted(range(len(rows)), key=lambda at: (found[at]["key"], found[at]["offset"], found[at]["step"]))
    markers: dict[tuple[str, int], LogRecord] = {}
    transactions = transactions_of(split, np.unique(split.txn[rows][split.txn[rows] >= 0]))
    parts: dict[int, list[tuple[Any, ...]]] = {}
    for at in place_of:
        row, number = found[at], int(split.txn[rows[at]])
        record = LogRecord(**{name: row[name] for name in OWN if name != "run"} | {"headers": tuple(row["headers"])})
        place = (record.key, record.offset)
        view.at[place] = record
        view.logs.setdefault(record.key, []).append(record)
        if row["outcome"]:
            view.outcomes[place] = row["outcome"]
        if row[MARKED + "step"] is not None:
            ended = {name: row[MARKED + name] for name in MARKER}
            marker = LogRecord(key=record.key, producer_id=record.producer_id, **ended)
            view.markers[place] = markers.setdefault((record.key, marker.offset), marker)
        if number >= 0:
            transaction = transactions.setdefault(number, ClientTxn(row["txn"]))
            view.transaction_of[place] = transaction
            parts.setdefault(number, []).append((*(row[name] for name in ORDINAL), record))
    for number, own in parts.items():
        transactions[number].records = [one[-1] for one in sorted(own, key=lambda one: one[:-1])]
    view.transactions = list(transactions.values())
    add_entries(view, entries)
    return view


def add_entries(view: View, entries: Iterable[TxnEntry]) -> None:
    """Add entries of the transaction log, in their order."""
    for entry in entries:
        view.entries.append(entry)
        if entry.state in PREPARED:
            view.prepares.setdefault((entry.producer_id, entry.producer_epoch), []).append(entry)
            if PREPARED[entry.state] == "COMMIT":
                view.commits.setdefault(entry.producer_id, []).append(entry)


def transactions_of(split: Split, numbers: Longs) -> dict[int, ClientTxn]:
    """Return the clients' transactions of these numbers, in the order in which they began."""
    calls = np.flatnonzero(np.isin(split.call_txn, numbers))
    rows = sorted(
        zip(split.call_txn[calls].tolist(), split.calls.take(pa.array(calls)).to_pylist(), strict=True),
        key=lambda one: one[1]["index"],
    )
    found: dict[int, ClientTxn] = {}
    for number, row in rows:
        if number not in found:
            name = f"{row['client']}, transaction {row['transaction']}"
            found[number] = ClientTxn(name, row["process"], row["client"], row["transaction"])
        note(found[number], Operation(**{name: row[name] for name in ("type", "function", "step", "index")}))
    return found


def entries_at(split: Split, rows: Longs) -> list[TxnEntry]:
    """Return these entries of the transaction log, in their order."""
    return rows_of_table("transactions", plain(split.entries.table.take(pa.array(np.unique(rows)))))


def reads_at(split: Split, rows: Longs) -> tuple[Read, ...]:
    """Return what was read, in the order in which it was."""
    found: list[Read] = rows_of_table("reads", plain(split.seen.select(READ).take(pa.array(rows))))
    return tuple(sorted(found, key=lambda read: (read.step, read.consumer, read.index)))


def rows_at(split: Split, run: int, keys: Sequence[str], offsets: Sequence[int]) -> Longs:
    """Return the rows of the records that lie at these places."""
    wanted = set(zip(keys, offsets, strict=True))
    near = np.flatnonzero((split.run == run) & np.isin(split.offset, np.unique(offsets)) & ~split.marker)
    texts = split.names.texts
    return np.array([r for r in near.tolist() if (texts[split.key[r]], int(split.offset[r])) in wanted], np.int64)


def judge(run: int, check: Check, view: View) -> Iterator[tuple[int, Finding]]:
    """Yield what the check finds in a view, with the run."""
    for finding in check.examine(check, view)[1]:
        yield run, finding
