"""The transactions, markers and decisions that the checks of endings have to look at."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow.compute as pc

from kafkalab.checks.check import Finding
from kafkalab.checks.hanging_transaction import hanging_transaction
from kafkalab.checks.markers_and_decisions import decision_without_marker, marker_without_decision
from kafkalab.checks.torn_transaction import torn_transaction
from kafkalab.checks.view import OPEN, PREPARED
from kafkalab.history.history import History
from kafkalab.history.schema import FrameRow, Leader, LogRecord, TxnEntry
from kafkalab.spark.client_pass.split import Split, last_of
from kafkalab.spark.client_pass.views import add_entries, by_run, entries_at, judge, view_of_rows
from kafkalab.spark.per_key_audits.arrays import Longs, groups, per_run, starts

Judged = tuple[Iterable[tuple[int, Finding]], dict[int, int]]
"""The findings of a check with their runs, and for each run how many things it examined."""


def judge_torn(split: Split) -> Judged:
    """Judge transactions that ended in more than one way, and those that share a decision to commit."""
    rows = np.flatnonzero((split.txn >= 0) & split.ended)
    txn, decision = split.txn[rows], split.decision[rows]
    aborted = split.ended_as[rows] == split.names.number("ABORT")
    low, high = last_of(txn, 2 * decision + aborted, split.many)
    examined = per_run(split.run[rows[np.unique(txn, return_index=True)[1]]])
    shared = np.flatnonzero(~aborted & (decision >= 0) & split.owned[rows])
    one = groups(split.run[rows[shared]], split.pid[rows[shared]], decision[shared])
    least, most = last_of(one, txn[shared], int(one.max(initial=-1)) + 1)
    joined = txn[shared][(least != most)[one]]
    suspects = np.unique(np.concatenate([np.flatnonzero(low != high), joined]))
    return _find_torn(split, np.flatnonzero(np.isin(split.txn, suspects))), examined


def _find_torn(split: Split, rows: Longs) -> Iterator[tuple[int, Finding]]:
    for run, mine in by_run(split.run, rows):
        view = view_of_rows(split, mine, entries=entries_at(split, _deciding(split, mine)))
        yield from judge(run, torn_transaction, view)


def _deciding(split: Split, rows: Longs) -> Longs:
    """Return the entries that decided how these records ended."""
    entries = split.entries
    prepared = np.flatnonzero(entries.prepared)
    pairs = ((entries.run, split.run), (entries.pid, split.pid), (entries.step, split.decision))
    same = groups(*(np.concatenate([theirs[prepared], ours[rows]]) for theirs, ours in pairs))
    return prepared[np.isin(same[: len(prepared)], same[len(prepared) :])]


def markers(split: Split) -> Judged:
    """Judge markers without a decision, in runs that have a transaction log."""
    logged = split.tables["logged"].column("run").to_numpy()
    rows = np.flatnonzero(split.marker & np.isin(split.run, logged))
    return _markers(split, rows[split.decision[rows] < 0]), per_run(split.run[rows])


def _markers(split: Split, rows: Longs) -> Iterator[tuple[int, Finding]]:
    if not len(rows):
        return
    ids = pc.unique(split.records.column("frame").take(rows))
    frames = split.elsewhere("frames", ("run", "id", "sender"), pc.field("id").isin(ids)).to_pylist()
    for run, mine in by_run(split.run, rows):
        sent = tuple(FrameRow(id=row["id"], sender=row["sender"]) for row in frames if row["run"] == run)
        view = view_of_rows(split, mine, History(frames=sent))
        commits: list[Longs] = []
        for row in mine.tolist():
            ended = np.flatnonzero((split.group == split.group[row]) & (split.ended_at == split.offset[row]))
            if len(ended):
                first = ended[np.argmin(split.offset[ended])]
                place = (split.names.texts[split.key[row]], int(split.offset[row]))
                view.ended[place] = LogRecord(step=int(split.step[first]))
                commits.append(_commits(split, row, int(split.step[first])))
        add_entries(view, [TxnEntry(), *(entries_at(split, np.concatenate(commits)) if commits else ())])
        yield from judge(run, marker_without_decision, view)


def _commits(split: Split, marker: int, after: int) -> Longs:
    """Return the decisions to commit of a marker's producer id between a step and the marker."""
    entries = split.entries
    same = (entries.run == split.run[marker]) & (entries.pid == split.pid[marker]) & entries.in_state("PrepareCommit")
    return np.flatnonzero(same & (entries.step > after) & (entries.step < split.step[marker]))


def decisions(split: Split) -> Judged:
    """Judge the transactional ids whose newest entry is a decision."""
    entries = split.entries
    newest = np.zeros(int(entries.owner.max(initial=-1)) + 1, np.int64)
    newest[entries.owner] = np.arange(len(entries.owner))
    stuck = newest[entries.prepared[newest]]
    return _decisions(split, stuck), per_run(entries.run[entries.in_state(*PREPARED)])


def _decisions(split: Split, rows: Longs) -> Iterator[tuple[int, Finding]]:
    if not len(rows):
        return
    runs = np.unique(split.entries.run[rows]).tolist()
    leaders = split.elsewhere("leaders", ("run", "key", "leader", "step"), pc.field("run").isin(runs))
    every = leaders.sort_by("step").to_pylist()
    for run, mine in by_run(split.entries.run, rows):
        known = tuple(Leader(key=row["key"], leader=row["leader"]) for row in every if row["run"] == run)
        history = History(leaders=known, labels=split.labels.get(run, ()))
        view = view_of_rows(split, mine[:0], history, entries_at(split, mine))
        view.end_ms = split.ended_ms(run)
        yield from judge(run, decision_without_marker, view)


def hanging(split: Split) -> Judged:
    """Judge the first open record of each key and producer id, and the first one whose marker was compacted away."""
    place = groups(split.group, split.pid)
    inside = np.flatnonzero(split.transactional)
    examined = per_run(split.run[inside[np.unique(place[inside], return_index=True)[1]]])
    open_ = np.flatnonzero(split.transactional & split.is_outcome(OPEN))
    names = split.names
    gone = names.codes(split.records.column("marker_removed")) == names.number("compacted")
    there = names.codes(split.records.column("removed")) == names.number("")
    bare = np.flatnonzero(gone & there & (split.ended_at >= 0))
    rows = (_first(split, open_, place), _first(split, bare, groups(split.group, split.ended_at)))
    return _hanging(split, *rows), examined


def _first(split: Split, rows: Longs, place: Longs) -> Longs:
    """Return of these rows those with the lowest offset at each place."""
    rows = rows[np.lexsort((split.offset[rows], place[rows]))]
    return rows[starts(place[rows])]


def _hanging(split: Split, open_: Longs, bare: Longs) -> Iterator[tuple[int, Finding]]:
    entries = split.entries
    for run, mine in by_run(split.run, np.union1d(open_, bare)):
        of_producers = (entries.run == run) & np.isin(entries.pid, split.pid[np.intersect1d(mine, open_)])
        chosen = np.flatnonzero(of_producers)
        newest = dict(zip(entries.pid[chosen].tolist(), chosen.tolist(), strict=True))
        view = view_of_rows(split, mine, entries=entries_at(split, np.array(list(newest.values()), np.int64)))
        view.open = [record for place, record in view.at.items() if view.outcomes[place] == OPEN]
        view.end_ms = split.ended_ms(run)
        yield from judge(run, hanging_transaction, view)
