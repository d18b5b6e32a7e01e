"""The audits of one bucket's log, reads and watermarks alone: copies, sequences, aborted reads, stable offsets."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafkalab.checks.sequence_gap import expiration_ms
from kafkalab.checks.transactions import Send
from kafkalab.checks.view import View
from kafkalab.history.history import History
from kafkalab.history.schema import Label, Operation
from kafkalab.protocol.partitions import OFFSETS_TOPIC
from kafkalab.spark.per_key_audits.arrays import Flags, Log, Longs, Names, groups, last_where, longs, starts
from kafkalab.spark.per_key_audits.sends import value_codes
from kafkalab.spark.per_key_audits.suspects import Suspected, plain, views
from kafkalab.spark.storage.rows import rows_of_table

SentWith = Callable[[Longs], tuple[dict[int, History], dict[int, list[int]]]]
"""The steps of the sends in transactions that led to each of these rows, and by run the frames that left at these."""
Labels = Mapping[int, tuple[Label, ...]]
"""The labels of each run that checks of one key look at."""


class Reads:
    """A bucket's reads, with `at`: the row of the log that each returned, -1 where the log has not that value.

    `place` is the row that lies there, whatever its value.
    """

    def __init__(self, table: pa.Table, log: Log, names: Names) -> None:
        self.table = table
        self.run, self.key = longs(table, "run"), names.codes(table.column("key"))
        self.offset, self.step = longs(table, "offset"), longs(table, "step")
        self.group = log.groups_of(self.run, self.key)
        self.place = log.find(self.group, self.offset)
        self.at = self.place.copy()
        there = np.flatnonzero(self.at >= 0)
        mine = table.column("value").take(pa.array(there))
        other = log.values.take(pa.array(self.at[there]))
        same = pc.or_kleene(pc.equal(mine, other), pc.and_(pc.is_null(mine), pc.is_null(other)))
        differ = there[~same.fill_null(False).to_numpy().astype(np.bool_)]
        self.at[differ] = -1
        committed = names.where(table.column("isolation_level"), "read_committed")
        self.committed: Flags = committed

    def rows(self, places: Longs) -> pa.Table:
        return self.table.take(pa.array(places))


def duplicates(log: Log, operations: Callable[[], pa.Table]) -> Suspected:
    """Suspect the copies of values in topics that are not internal, and whatever was sent with these values."""
    examined = {"duplicate": log.run[log.data]}
    chosen = np.flatnonzero(log.data)
    (value,) = value_codes(log.values.take(pa.array(chosen)))
    same = groups(log.group[chosen], value)
    twice = chosen[(value >= 0) & (np.bincount(same, minlength=1)[same] > 1)]
    if not len(twice):
        return (), examined
    copies, sent = log.rows(twice), operations()
    sent = sent.filter(pc.is_in(sent.column("value"), copies.column("value").combine_chunks()))
    return views(log=copies, operations=sent), examined


def sequence_gaps(log: Log, sent_with: SentWith, labels: Labels) -> Suspected:
    """Suspect records of producers whose sequence does not follow the one before."""
    numbered = (log.pid >= 0) & ~log.of_topics(OFFSETS_TOPIC)
    chosen = np.flatnonzero(numbered)
    row = np.arange(len(log.offset))
    unknown = log.offset - (row - np.maximum.accumulate(np.where(starts(log.group), row, 0))) if len(row) else row
    together = groups(log.group[chosen], log.pid[chosen])
    order = np.lexsort((chosen, together))
    r, together = chosen[order], together[order]
    changed = starts(together)
    changed[1:] |= log.epoch[r[1:]] != log.epoch[r[:-1]]
    before = last_where(~log.marker[r] | changed, together)
    had = before >= 0
    b = r[np.where(had, before, 0)]
    same = ~log.marker[b] & (log.epoch[b] == log.epoch[r])
    jump = (log.sequence[r] - log.sequence[b] - 1) & 0x7FFFFFFF
    limit = min([expiration_ms(History()), *(expiration_ms(History(labels=mine)) for mine in labels.values())])
    anew = ~had | (log.at_ms[r] - log.at_ms[b] >= limit)
    jumped = (jump > unknown[r] - unknown[b]) | (log.sequence[b] < 0)
    strange = np.where(same, jumped, log.sequence[r] != 0) & had
    strange |= anew & (log.sequence[r] > 0) & (unknown[r] == 0)
    at = np.flatnonzero(strange & ~log.marker[r])
    pairs = np.where(had, b, -1)[at], r[at], anew[at]
    found = _sequences(log, sent_with, labels, pairs, unknown) if len(at) else ()
    return found, {"sequence gap": log.run[numbered & ~log.marker]}


def _sequences(
    log: Log, sent_with: SentWith, labels: Labels, pairs: tuple[Longs, Longs, Flags], unknown: Longs
) -> Iterator[tuple[int, View]]:
    """Yield pairs of rows, the first -1 for none; of `anew`, whose second may be a first one, its sends, too."""
    before, rows, anew = pairs
    records, earlier = (rows_of_table("log", plain(log.rows(at))) for at in (rows, np.maximum(before, 0)))
    left, sent = sent_with(rows[anew]) if anew.any() else ({}, {})
    for record, first, a, b in zip(records, earlier, before.tolist(), rows.tolist(), strict=True):
        run = int(log.run[b])
        view = View(replace(left.get(run, History()), labels=labels.get(run, ())))
        view.logs[record.key] = [first, record] if a >= 0 else [record]
        view.unknown[record.key] = [int(unknown[at]) for at in (a, b) if at >= 0]
        view.sends = [Send(Operation(transactional_id="", step=step), None, [record]) for step in sent.get(b, ())]
        yield run, view


def aborted_reads(log: Log, reads: Reads) -> Suspected:
    """Suspect reads under read_committed of what an ABORT marker ended."""
    wrong = reads.committed & (reads.at >= 0)
    wrong[wrong] = log.aborted[reads.at[wrong]]
    places = np.flatnonzero(wrong)
    rows = np.unique(np.concatenate([reads.at[places], log.ended_by[reads.at[places]]]))
    return views(log=log.rows(rows), reads=reads.rows(places)), {"G1a": reads.run[reads.committed]}


def unseen(log: Log, reads: Reads) -> Suspected:
    """Suspect the known values, of keys that were polled, that nobody was given."""
    known = log.known & np.isin(log.group, reads.group)
    missed = known.copy()
    missed[reads.at[reads.at >= 0]] = False
    return _unseen(log, reads, np.flatnonzero(missed)), {"unseen": log.run[known]}


def _unseen(log: Log, reads: Reads, missed: Longs) -> Iterator[tuple[int, View]]:
    """Yield where values were missed; of these records the first of each key, and those whose place was read."""
    known: dict[int, dict[str, list[int]]] = {}
    first = missed[starts(log.group[missed])]
    for row in first.tolist():
        offsets = log.offset[missed[log.group[missed] == log.group[row]]].tolist()
        known.setdefault(int(log.run[row]), {})[log.names.texts[log.key[row]]] = offsets
    one_each = np.unique(reads.group, return_index=True)[1]
    chosen = np.isin(reads.place, missed)
    chosen[one_each] |= np.isin(reads.group[one_each], log.group[first])
    rows = np.union1d(first, np.intersect1d(reads.place, missed))
    for run, view in views(log=log.rows(rows), reads=reads.rows(np.flatnonzero(chosen))):
        view.known = known[run]
        yield run, view


def lso_regressions(marks: pa.Table, names: Names) -> Suspected:
    """Suspect last stable offsets of leaders that go back within one leader epoch."""
    marks = marks.filter(marks.column("leads"))
    run, key, node = longs(marks, "run"), names.codes(marks.column("key")), names.codes(marks.column("node"))
    together = groups(run, key, node, longs(marks, "leader_epoch"))
    order = np.lexsort((longs(marks, "step"), together))
    stable, first = longs(marks, "last_stable_offset")[order], starts(together[order])
    back = np.flatnonzero(~first[1:] & (stable[1:] < stable[:-1]))
    pairs = np.unique(np.concatenate([order[back], order[back + 1]]))
    return views(watermarks=marks.take(pa.array(pairs))), {"LSO regression": run}
