"""One bucket's sends, reads and log compared: the answers to clients, and the records that no consumer was given."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa

from kafkalab.checks.transactions import ClientTxn
from kafkalab.checks.view import Place, Stretch, View
from kafkalab.history.schema import Operation, Read
from kafkalab.spark.per_key_audits.arrays import PLACE, Flags, Log, Longs, groups, longs, starts
from kafkalab.spark.per_key_audits.log import Reads
from kafkalab.spark.per_key_audits.polls import Walk
from kafkalab.spark.per_key_audits.sends import Owners, Sends, value_codes
from kafkalab.spark.per_key_audits.suspects import Suspected, views

Passages = dict[tuple[int, int], list[tuple[int, int, int]]]
"""For each run and key what was read in one go: first position, last offset seen and its step; in order."""


class SendsAndReads:
    """Sends and then reads: `sent` and `read` number the places (run, key, offset) that both speak of."""

    def __init__(self, sends: Sends, reads: Reads) -> None:
        told = self.told = np.flatnonzero(sends.offset >= 0)
        pairs = ((sends.run[told], reads.run), (sends.key[told], reads.key), (sends.offset[told], reads.offset))
        self.run, *where = (np.concatenate(pair) for pair in pairs)
        place = groups(self.run, *where)
        self.sent, self.read = place[: len(told)], place[len(told) :]
        values = value_codes(sends.table.column("value"), reads.table.column("value"))
        self.sent_value, self.read_value = values[0][told], values[1]


def inconsistent_offsets(sends: Sends, reads: Reads, both: SendsAndReads) -> Suspected:
    """Suspect places at which clients were told of, or shown, different values."""
    place, value = np.concatenate([both.sent, both.read]), np.concatenate([both.sent_value, both.read_value])
    _, first = np.unique(groups(place, value), return_index=True)
    rows = np.flatnonzero(np.bincount(place[first], minlength=1)[place] > 1)
    sent = rows < len(both.told)
    found = views(operations=sends.rows(both.told[rows[sent]]), reads=reads.rows(rows[~sent] - len(both.told)))
    return found, {"inconsistent-offsets": both.run[np.unique(place, return_index=True)[1]]}


def nonmonotonic_sends(sends: Sends) -> Suspected:
    """Suspect sends that lie before the furthest of those before them."""
    told = np.flatnonzero(sends.offset >= 0)
    together = groups(sends.run[told], sends.client[told], sends.key[told], sends.pid[told])
    order = np.lexsort((told, together))
    at, together = told[order], together[order]
    reach = np.maximum.accumulate(together * PLACE + sends.offset[at])
    furthest = np.searchsorted(reach, reach)
    later = np.flatnonzero(~starts(together))
    now, before = at[later], at[furthest[later - 1]]
    same = (sends.transaction[now] >= 1) & (sends.transaction[now] == sends.transaction[before])
    back = sends.offset[now] < sends.offset[before]
    pairs = np.unique(np.concatenate([before[back], now[back]]))
    run = sends.run[now]
    return views(operations=sends.rows(pairs)), {"nonmonotonic-send": run[~same], "int-nonmonotonic-send": run[same]}


def skips_inside(log: Log, owners: Owners) -> Suspected:
    """Suspect neighbours in a transaction that are none in the log."""
    rows = np.flatnonzero(log.data)
    transaction = owners.transaction[rows]
    mine = np.flatnonzero(transaction >= 0)
    together = groups(log.group[rows[mine]], transaction[mine])
    order = np.lexsort((mine, together))
    mine, together = mine[order], together[order]
    later = np.flatnonzero(~starts(together))
    now, before = mine[later], mine[later - 1]
    apart = before + 1 < now
    pairs = np.unique(np.concatenate([before[apart], now[apart]]))
    found = _apart(log, owners, rows[pairs], rows[np.union1d(pairs, before[apart] + 1)])
    return found, {"int-send-skip": log.run[rows[now]]}


def _apart(log: Log, owners: Owners, pairs: Longs, rows: Longs) -> Iterator[tuple[int, View]]:
    """Yield these rows; only the pairs' transactions are told, for others may have more records in between."""
    of: dict[int, dict[Place, ClientTxn]] = {}
    for row, name in zip(pairs.tolist(), owners.names_of(pairs).to_pylist(), strict=True):
        place = (log.names.texts[log.key[row]], int(log.offset[row]))
        of.setdefault(int(log.run[row]), {})[place] = ClientTxn(name)
    for run, view in views(log=log.rows(rows)):
        view.transaction_of = of[run]
        yield run, view


def passages_of(walk: Walk, reads: Reads) -> Passages:
    """Return what was read in one go."""
    begins = starts(walk.each) | walk.has_moved
    part = np.cumsum(begins) - 1
    order = np.lexsort((-walk.offset, part[walk.of_read]))
    furthest = order[starts(part[walk.of_read[order]])]
    at = walk.of_read[furthest]
    start = np.maximum(walk.start[begins], 0)[part[at]]
    columns = (walk.run[at], walk.key[at], start, walk.offset[furthest], reads.step[walk.reads[furthest]])
    found: Passages = {}
    for run, key, *span in zip(*(column.tolist() for column in columns), strict=True):
        found.setdefault((run, key), []).append(tuple(span))
    return {place: sorted(spans) for place, spans in found.items()}


def lost_writes(
    log: Log, sends: Sends, both: SendsAndReads, passages: Passages, committed: Callable[[], pa.Table]
) -> Suspected:
    """Suspect what was acknowledged and committed, and nobody was given though a poll passed it.

    Where the log does not show that a write of a transaction is committed, its client's commit decides.
    """
    told, in_log, linked = both.told, _in_log(log, sends), np.zeros(len(sends.offset), np.bool_)
    linked[sends.link_send] = True
    by_client = (in_log != 1) & (sends.transaction >= 1)
    final = (in_log != 0) & ~by_client
    asked = np.flatnonzero(by_client & sends.ok)
    final[asked] = _mark_told_committed(sends, asked, committed()) if len(asked) else False
    read = groups(sends.run[told], sends.key[told])
    keys = told[np.unique(read, return_index=True)[1]].tolist()
    polled = np.array([(int(sends.run[at]), int(sends.key[at])) in passages for at in keys], np.bool_)
    examined = polled[read] & final[told] if len(read) else read.astype(np.bool_)
    lost = told[examined & ~_mark_given(both) & ~_mark_cleaned(log, sends)[told]]
    places = list(zip(lost.tolist(), sends.offset[lost].tolist(), strict=True))
    before = [np.array([], np.int64)]
    for at in np.flatnonzero(sends.ok & (sends.offset < 0) & (sends.pid >= 0) & ~linked & final).tolist():
        before.append(np.flatnonzero((log.group == sends.group[at]) & (log.step < sends.step[at]))[-1:])
        places.append((at, int(log.offset[before[-1]].max(initial=-1)) + 1))
    spans = {at: span for at, offset in places if (span := _passage(sends, passages, at, offset))}
    found = _find_lost(log, sends, spans, np.concatenate(before), by_client) if spans else ()
    return found, {"lost-write": sends.run[told[examined]]}


def _passage(sends: Sends, passages: Passages, at: int, offset: int) -> tuple[int, int, int] | None:
    """Return the first passage over a send's key that begins at or before the offset and comes by it, if any does."""
    spans = passages.get((int(sends.run[at]), int(sends.key[at])), ())
    return next((span for span in spans if span[0] <= offset <= span[1]), None)


def _find_lost(
    log: Log, sends: Sends, spans: dict[int, tuple[int, int, int]], before: Longs, by_client: Flags
) -> Iterator[tuple[int, View]]:
    """Yield these sends and their records, with the passages that came by and what their clients were told."""
    at = np.array(sorted(spans), np.int64)
    rows = sends.link_row[np.isin(sends.link_send, at)]
    there = rows[rows < len(log.offset)]
    ends = log.ended_by[there]
    there = np.unique(np.concatenate([there, ends[ends >= 0], before]))
    gone = log.truncated.take(pa.array(rows[rows >= len(log.offset)] - len(log.offset)))
    texts = sends.names.texts
    told = {(int(sends.run[i]), texts[sends.client[i]], int(sends.transaction[i])) for i in at[by_client[at]].tolist()}
    for run, view in views(operations=sends.rows(at), log=pa.concat_tables([log.rows(there), gone])):
        for transaction in view.transactions:
            if (run, transaction.client, transaction.number) in told:
                transaction.ends.append(Operation(function="commit", type="ok"))
        for i in at[sends.run[at] == run].tolist():
            key, (start, last, step) = texts[sends.key[i]], spans[i]
            passage = Stretch("", -1, key, "", step, start, moved="seek", reads=[Read(offset=last, step=step)])
            view.stretches.setdefault(("", key), []).append(passage)
        yield run, view


def _mark_told_committed(sends: Sends, at: Longs, committed: pa.Table) -> Flags:
    """Say of each of these sends whether its client was told that its transaction is committed."""
    committed = committed.filter(pa.array(np.isin(longs(committed, "transaction"), sends.transaction[at])))
    pairs = (
        (sends.run[at], longs(committed, "run")),
        (sends.client[at], sends.names.codes(committed.column("client"))),
        (sends.transaction[at], longs(committed, "transaction")),
    )
    same = groups(*(np.concatenate(pair) for pair in pairs))
    found: Flags = np.isin(same[: len(at)], same[len(at) :])
    return found


def _mark_given(both: SendsAndReads) -> Flags:
    """Of each send with an offset whether somebody was given its value there."""
    pairs = ((both.sent, both.read), (both.sent_value, both.read_value))
    same = groups(*(np.concatenate(pair) for pair in pairs))
    found: Flags = np.isin(same[: len(both.told)], same[len(both.told) :])
    return found


def _in_log(log: Log, sends: Sends) -> Longs:
    """1 where the log has a send's record at the place that was told, committed or plain; 0 otherwise ended; -1 not."""
    row = log.find(sends.group, sends.offset)
    linked = np.zeros(len(sends.offset), np.bool_)
    here = sends.link_row == row[sends.link_send] if len(sends.link_row) else sends.link_row.astype(np.bool_)
    linked[sends.link_send[here]] = True
    final = log.final[row] if len(log.final) else linked
    return np.where(linked & (row >= 0), final.astype(np.int64), -1)


def _mark_cleaned(log: Log, sends: Sends) -> Flags:
    """Say of each send whether a record that it led to was compacted or deleted."""
    links = np.flatnonzero(sends.link_row < len(log.offset))
    removed = log.removed[sends.link_row[links]] != log.names.number("")
    found = np.zeros(len(sends.offset), np.bool_)
    found[sends.link_send[links[removed]]] = True
    return found
