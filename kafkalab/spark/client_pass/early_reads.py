"""Records of transactions that were read too early, or although their clients had aborted them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafkalab.checks.check import Check, Finding
from kafkalab.checks.g1a import g1a
from kafkalab.checks.partial_visibility import partial_visibility
from kafkalab.checks.precommitted_read import precommitted_read
from kafkalab.checks.view import ABORTED, COMMITTED
from kafkalab.history.history import History
from kafkalab.spark.client_pass.endings import Judged
from kafkalab.spark.client_pass.split import Split, last_of
from kafkalab.spark.client_pass.views import by_run, judge, reads_at, rows_at, view_of_rows
from kafkalab.spark.per_key_audits.arrays import Flags, Longs, longs, per_run


def partly_visible(split: Split) -> Judged:
    """Judge reads of committed transactions before the last of their markers was there."""
    committed = np.flatnonzero((split.txn >= 0) & split.is_outcome(COMMITTED))
    last = last_of(split.txn[committed], split.ended_step[committed], split.many)[1]
    run, step = longs(split.seen, "run"), longs(split.seen, "step")
    chosen = _mark_read_committed(split) & _had_outcome(split, COMMITTED)
    early = np.flatnonzero(chosen & (step < last[split.read_txn]))
    return _partly_visible(split, early), per_run(run[chosen])


def _partly_visible(split: Split, reads: Longs) -> Iterator[tuple[int, Finding]]:
    for run, mine in by_run(longs(split.seen, "run"), reads):
        rows = np.flatnonzero(np.isin(split.txn, split.read_txn[mine]))
        read = reads_at(split, mine)
        view = view_of_rows(split, rows, History(reads=read))
        consumers = pc.is_in(split.tables["consumers"].column("consumer"), pa.array({one.consumer for one in read}))
        of_run = pc.equal(split.tables["consumers"].column("run"), run)
        for row in split.tables["consumers"].filter(pc.and_(consumers, of_run)).to_pylist():
            view.stretches[row["consumer"], row["key"]] = []
        yield from judge(run, partial_visibility, view)


def judge_precommitted(split: Split) -> Judged:
    """Judge reads by the process of the transaction that wrote what it read, before it had asked to end that."""
    clients, names = split.clients, split.names
    same = clients.process[split.read_txn] == names.codes(split.seen.column("process"))
    end = clients.end_step[split.read_txn]
    early = np.flatnonzero(same & ((end == -1) | (longs(split.seen, "step") < end)))
    return _read(split, early, precommitted_read), _reads_of_writers(split)


def _reads_of_writers(split: Split) -> dict[int, int]:
    """Return how much processes that write transactions have read."""
    process = split.clients.process[split.call_txn]
    writers = dict.fromkeys(zip(longs(split.calls, "run").tolist(), process.tolist(), strict=True))
    found: dict[int, int] = {}
    rows = split.tables["consumers"].group_by(["run", "process"]).aggregate([("reads", "sum")]).to_pylist()
    for row in rows:
        if row["reads_sum"] and (row["run"], split.names.number(row["process"])) in writers:
            found[row["run"]] = found.get(row["run"], 0) + row["reads_sum"]
    return found


def told_aborted(split: Split) -> Judged:
    """Judge reads under read_committed of what no ABORT marker, only the answer to the client says is aborted."""
    aborted = split.clients.definitely_aborted[split.read_txn] & ~_had_outcome(split, "", ABORTED)
    return _read(split, np.flatnonzero(aborted & _mark_read_committed(split)), g1a), {}


def _read(split: Split, reads: Longs, check: Check) -> Iterator[tuple[int, Finding]]:
    for run, mine in by_run(longs(split.seen, "run"), reads):
        read = reads_at(split, mine)
        rows = rows_at(split, run, [one.key for one in read], [one.offset for one in read])
        yield from judge(run, check, view_of_rows(split, rows, History(reads=read)))


def _mark_read_committed(split: Split) -> Flags:
    names = split.names
    found: Flags = names.codes(split.seen.column("isolation_level")) == names.number("read_committed")
    return found


def _had_outcome(split: Split, *outcomes: str) -> Flags:
    """Return the condition that the record's transaction ended in one of these ways."""
    names = split.names
    found: Flags = np.isin(names.codes(split.seen.column("outcome")), [names.number(one) for one in outcomes])
    return found
