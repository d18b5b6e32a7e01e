"""Records of producer ids and epochs that were fenced before, by the transaction log or by a later epoch on the key."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from kafkalab.checks.check import Finding
from kafkalab.checks.zombie_write import AT_REST, ROTATED, zombie_write
from kafkalab.spark.client_pass.endings import Judged
from kafkalab.spark.client_pass.split import Entries, Split
from kafkalab.spark.client_pass.views import by_run, entries_at, judge, view_of_rows
from kafkalab.spark.per_key_audits.arrays import PLACE, Longs, groups, per_run, starts

EPOCH = 1 << 20
"""More than any epoch."""


def zombies(split: Split) -> Judged:
    """Judge records with a lower epoch than one before them, on their key or at rest in the transaction log."""
    rows = np.flatnonzero(split.pid >= 0)
    data = rows[~split.marker[rows]]
    known, first = _highest_before(split, rows)
    fence, entry = _fences(split, data)
    mine = np.searchsorted(rows, data)
    wrong = split.epoch[data] < np.maximum(known[mine], fence)
    suspects = data[wrong]
    before = first[mine][wrong]
    chosen = np.unique(np.concatenate([suspects, before[before >= 0]]))
    return _zombies(split, chosen, entry[wrong & (entry >= 0)]), per_run(split.run[data])


def _zombies(split: Split, rows: Longs, entries: Longs) -> Iterator[tuple[int, Finding]]:
    needed = np.union1d(entries, _before(split.entries, entries))
    needed = needed[needed >= 0]
    for run, mine in by_run(split.run, rows):
        theirs = needed[split.entries.run[needed] == run]
        yield from judge(run, zombie_write, view_of_rows(split, mine, entries=entries_at(split, theirs)))


def _highest_before(split: Split, rows: Longs) -> tuple[Longs, Longs]:
    """Return the highest epoch before each row on its key, of its producer id, and the row that had it first; or -1."""
    together = groups(split.group[rows], split.pid[rows])
    order = np.lexsort((split.offset[rows], together))
    group, epoch = together[order], split.epoch[rows][order]
    reached = np.maximum.accumulate(group * EPOCH + epoch) if len(group) else group
    at = np.searchsorted(reached, reached, side="left")
    later = np.flatnonzero(~starts(group))
    known, first = np.full(len(rows), -1, np.int64), np.full(len(rows), -1, np.int64)
    known[order[later]] = reached[later - 1] - group[later] * EPOCH
    first[order[later]] = rows[order[at[later - 1]]]
    return known, first


def _fences(split: Split, rows: Longs) -> tuple[Longs, Longs]:
    """Return the highest epoch below which a row was fenced before its step, and the entry that did it first; or -1."""
    entries = split.entries
    counted = _find_at_rest(entries)
    before = _before(entries, counted)
    rotated = np.flatnonzero((before >= 0) & (entries.pid[before] != entries.pid[counted]))
    pid = np.concatenate([entries.pid[counted], entries.pid[before[rotated]]])
    entry = np.concatenate([counted, counted[rotated]])
    epoch = np.concatenate([entries.epoch[counted], np.full(len(rotated), ROTATED)])
    both = groups(np.concatenate([entries.run[entry], split.run[rows]]), np.concatenate([pid, split.pid[rows]]))
    theirs, mine = both[: len(pid)], both[len(pid) :]
    order = np.lexsort((epoch, entries.step[entry], theirs))
    place, reached = (theirs * PLACE + entries.step[entry])[order], theirs[order] * EPOCH + epoch[order]
    reached = np.maximum.accumulate(reached) if len(reached) else reached
    at = np.searchsorted(place, mine * PLACE + split.step[rows], side="left") - 1
    found = at >= 0
    found[found] = theirs[order[at[found]]] == mine[found]
    if not len(place):
        return np.full(len(rows), -1, np.int64), np.full(len(rows), -1, np.int64)
    first = np.searchsorted(reached, reached[at], side="left")
    return np.where(found, reached[at] - mine * EPOCH, -1), np.where(found, entry[order[first]], -1)


def _find_at_rest(entries: Entries) -> Longs:
    """Return the entries at rest after which the coordinator never went on with an older producer id or epoch."""
    size = len(entries.run)
    producer = groups(entries.owner, entries.pid)
    first = np.unique(producer, return_index=True)[1][producer] if size else producer
    identity = first * EPOCH + entries.epoch + 1
    order = np.lexsort((np.arange(size), entries.owner))[::-1]
    rank = np.cumsum(starts(entries.owner[order]))
    shift = int(identity.max(initial=0)) + 1
    oldest = np.minimum.accumulate(identity[order] - rank * shift) + rank * shift if size else identity
    counts = np.zeros(size, np.bool_)
    counts[order] = oldest == identity[order]
    return np.flatnonzero(counts & entries.in_state(*AT_REST))


def _before(entries: Entries, rows: Longs) -> Longs:
    """Return the counted entry of the same transactional id before each of these; -1 for none."""
    counted = _find_at_rest(entries)
    order = counted[np.lexsort((counted, entries.owner[counted]))]
    previous = np.full(len(entries.run), -1, np.int64)
    later = np.flatnonzero(~starts(entries.owner[order])) if len(order) else order
    previous[order[later]] = order[later - 1]
    found: Longs = previous[rows]
    return found
