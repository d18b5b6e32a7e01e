"""One split as numpy arrays: records with their transactions, what was read of them, and what their clients called."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafkalab.checks.view import ABORTED, COMMITTED, ended_ms
from kafkalab.history.history import History
from kafkalab.history.schema import Label, LogRecord
from kafkalab.spark.per_key_audits.arrays import PLACE, Flags, Longs, Names, groups, longs, starts
from kafkalab.spark.per_key_audits.handover import times_of
from kafkalab.spark.per_key_audits.records import MARKED

Elsewhere = Callable[..., pa.Table]
Labels = Mapping[int, tuple[Label, ...]]
"""The labels of each run that checks of this pass look at."""
PREPARE_STATES = ["PrepareCommit", "PrepareAbort"]


class Split:
    """The tables of one split. `txn` numbers a transaction in records, reads (`read_txn`) and calls; -1 outside one.

    Arrays of records are in the order of `records`. `elsewhere` gives rows of tables that are not split.
    """

    def __init__(self, tables: Mapping[str, pa.Table], elsewhere: Elsewhere, labels: Labels) -> None:
        self.tables, self.elsewhere, self.labels, self.names = tables, elsewhere, labels, Names()
        self.records = records = tables["records"]
        self.seen = tables["seen"]
        self.run, self.offset, self.step = (longs(records, name) for name in ("run", "offset", "step"))
        self.pid, self.epoch = longs(records, "producer_id"), longs(records, "producer_epoch")
        self.key = self.names.codes(records.column("key"))
        self.control = self.names.codes(records.column("control"))
        self.transactional: Flags = longs(records, "transactional") > 0
        self.marker: Flags = self.control != self.names.number("")
        self.outcome = self.names.codes(records.column("outcome"))
        self.ended_at, self.ended_step, self.ended_epoch = (
            integers(records.column(MARKED + name)) for name in ("offset", "step", "producer_epoch")
        )
        self.ended_as = self.names.codes(records.column("marker_control"))
        self.calls = tables["calls"]
        self._number_transactions()

    def _number_transactions(self) -> None:
        columns = []
        for table in (self.records, self.seen):
            text, client, number = (table.column(name) for name in ("txn", "client", "number"))
            who, valid = self.names.codes(client), text.is_valid().to_numpy().astype(bool)
            mine = np.full(len(who), self.names.number(""), np.int64)
            unclaimed = np.flatnonzero(valid & (who == mine))
            mine[unclaimed] = self.names.codes(text.take(pa.array(unclaimed)))
            columns.append((longs(table, "run"), who, integers(number), mine, valid))
        calls = self.calls
        who, number = self.names.codes(calls.column("client")), longs(calls, "transaction")
        nothing = np.full(len(who), self.names.number(""), np.int64)
        columns.append((longs(calls, "run"), who, number, nothing, np.ones(len(who), np.bool_)))
        every = [np.concatenate(each) for each in zip(*columns, strict=True)]
        code = np.where(every[4], groups(*every[:4]), -1)
        ends = np.cumsum([len(column[0]) for column in columns])[:-1]
        self.txn, self.read_txn, self.call_txn = np.split(code, ends)
        self.many = int(code.max(initial=-1)) + 1

    def is_outcome(self, *names: str) -> Flags:
        """Return a mask of the records that ended in one of these ways."""
        found: Flags = np.isin(self.outcome, [self.names.number(name) for name in names])
        return found

    @property
    def ended(self) -> Flags:
        """A mask of the records whose transaction has ended."""
        return self.is_outcome(COMMITTED, ABORTED)

    @cached_property
    def owned(self) -> Flags:
        """A mask of the records that belong to a transaction of a client."""
        found: Flags = self.names.codes(self.records.column("client")) != self.names.number("")
        return found

    @cached_property
    def group(self) -> Longs:
        """A number for each key of a run."""
        return groups(self.run, self.key)

    @cached_property
    def clients(self) -> Clients:
        return Clients(self)

    @cached_property
    def entries(self) -> Entries:
        return Entries(self.tables["entries"], self.names)

    @cached_property
    def decision(self) -> Longs:
        """The step of the decision that ended each record, or that a marker carries out; -1 for none."""
        step = np.where(self.marker, self.step, self.ended_step)
        epoch = np.where(self.marker, self.epoch, self.ended_epoch)
        return self.entries.decisions(
            self.run, self.key, self.pid, epoch, np.where(self.marker, self.control, self.ended_as), step
        )

    @cached_property
    def last(self) -> dict[int, LogRecord]:
        """The last step of each run that has a time, as a row."""
        rows = times_of([self.tables["times"]]).to_pylist()
        return {row["run"]: LogRecord(step=row["step"], at_ms=row["at_ms"]) for row in rows}

    def ended_ms(self, run: int) -> int:
        """Return when a run ended."""
        log = (self.last[run],) if run in self.last else ()
        return ended_ms(History(log=log, labels=self.labels.get(run, ())))


class Clients:
    """The calls of the clients of transactions and their answers, by the number of the transaction."""

    def __init__(self, split: Split) -> None:
        calls, txn, names = split.calls, split.call_txn, split.names
        order = np.lexsort((longs(calls, "index"), txn))
        txn = txn[order]
        function, kind, process, step, index = (
            column[order]
            for column in (
                *(names.codes(calls.column(name)) for name in ("function", "type", "process")),
                longs(calls, "step"),
                longs(calls, "index"),
            )
        )
        size, first = split.many, starts(txn)
        self.process, self.first = np.full(size, names.number(""), np.int64), np.full(size, -1, np.int64)
        self.process[txn[first]], self.first[txn[first]] = process[first], index[first]
        ends = np.isin(function, [names.number("commit"), names.number("abort")])
        asked = ends & (kind == names.number("invoke"))
        self.end_step = np.full(size, -1, np.int64)
        self.end_step[txn[asked]] = step[asked]

        def flag(what: str, *kinds: str) -> Flags:
            rows = (function == names.number(what)) & np.isin(kind, [names.number(one) for one in kinds])
            found = np.zeros(size, np.bool_)
            found[txn[rows]] = True
            return found

        self.committed = flag("commit", "ok")
        self.definitely_aborted = flag("abort", "ok") & ~flag("commit", "ok", "info")


class Entries:
    """The entries of a split's producer ids in their order, without those that were truncated."""

    def __init__(self, table: pa.Table, names: Names) -> None:
        self.table = table.sort_by([(name, "ascending") for name in ("run", "step", "key", "offset")])
        self.names = names
        self.run, self.step = longs(self.table, "run"), longs(self.table, "step")
        self.pid, self.epoch = longs(self.table, "producer_id"), longs(self.table, "producer_epoch")
        self.owner = groups(self.run, names.codes(self.table.column("transactional_id")))
        self.state = names.codes(self.table.column("state"))
        self.prepared: Flags = np.isin(self.state, [names.number(name) for name in PREPARE_STATES])

    def in_state(self, *names: str) -> Flags:
        found: Flags = np.isin(self.state, [self.names.number(name) for name in names])
        return found

    def decisions(self, run: Longs, key: Longs, pid: Longs, epoch: Longs, control: Longs, step: Longs) -> Longs:
        """Return the step of the newest PREPARE of this outcome, not after `step`, that names the key; -1 for none."""
        rows = np.flatnonzero(self.prepared)
        partitions = self.table.column("partitions").take(pa.array(rows)).combine_chunks()
        named = self.names.codes(pa.chunked_array([pc.list_flatten(partitions)], pa.string()))
        rows = rows[pc.list_parent_indices(partitions).to_numpy()]
        commit = self.state[rows] == self.names.number("PrepareCommit")
        outcome = np.where(commit, self.names.number("COMMIT"), self.names.number("ABORT"))
        pairs = ((self.run[rows], run), (named, key), (self.pid[rows], pid), (self.epoch[rows], epoch))
        every = groups(*(np.concatenate(pair) for pair in (*pairs, (outcome, control))))
        there, wanted = every[: len(rows)], every[len(rows) :]
        places = np.sort(there * PLACE + self.step[rows])
        at = np.searchsorted(places, wanted * PLACE + step, side="right") - 1
        found = (at >= 0) & (step >= 0)
        found[found] = places[at[found]] // PLACE == wanted[found]
        return np.where(found, places[at] % PLACE, -1) if len(places) else np.full(len(run), -1, np.int64)


def integers(column: Any) -> Longs:
    """Return a column of numbers; -1 for null."""
    found: Longs = pc.fill_null(column, -1).to_numpy().astype(np.int64, copy=False)
    return found


def last_of(group: Longs, value: Longs, size: int) -> tuple[Longs, Longs]:
    """Return the smallest and the largest value of each group from 0 to `size`; -1 and -1 for a group without any."""
    low, high = np.full(size, -1, np.int64), np.full(size, -1, np.int64)
    order = np.lexsort((value, group))
    first = starts(group[order])
    low[group[order][first]] = value[order][first]
    high[group[order]] = value[order]
    return low, high
