"""What one bucket's sends, reads and log say together: what clients were told, and what nobody was given."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from kafkalab.checks.transactions import ClientTxn
from kafkalab.checks.view import Place, View
from kafkalab.spark.key_pass.arrays import PLACE, Flags, Log, Longs, groups, starts
from kafkalab.spark.key_pass.log import Reads
from kafkalab.spark.key_pass.polls import Walk
from kafkalab.spark.key_pass.sends import Owners, Sends, value_codes
from kafkalab.spark.key_pass.suspects import Suspected, plain, views
from kafkalab.spark.storage.schemas import arrow_schema

Passages = dict[tuple[int, int], list[tuple[int, int, int]]]
"""For each run and key what was read in one go: first position, last offset seen and its step; in order."""


class Told:
    """Sends and then reads: `sent` and `read` number the places (run, key, offset) that both speak of."""

    def __init__(self, sends: Sends, reads: Reads) -> None:
        told = self.told = np.flatnonzero(sends.offset >= 0)
        pairs = ((sends.run[told], reads.run), (sends.key[told], reads.key), (sends.offset[told], reads.offset))
        self.run, *where = (np.concatenate(pair) for pair in pairs)
        place = groups(self.run, *where)
        self.sent, self.read = place[: len(told)], place[len(told) :]
        values = value_codes(sends.table.column("value"), reads.table.column("value"))
        self.sent_value, self.read_value = values[0][told], values[1]


def inconsistent_offsets(sends: Sends, reads: Reads, both: Told) -> Suspected:
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
    for row in pairs.tolist():
        place = (log.names.texts[log.key[row]], int(log.offset[row]))
        of.setdefault(int(log.run[row]), {})[place] = ClientTxn(owners.name(row))
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


COUNTS = pa.schema({"run": pa.int64(), "client": pa.string(), "number": pa.int64(), "examined": pa.int64()})
_LONGS = pa.list_(pa.int64())
_OWN = ("run", "client", "key", "value", "producer_id", "transaction", "step")
_MORE = {"number": pa.int64(), "held": pa.bool_(), "end_step": pa.int64(), "offset": pa.int64()}
_LISTS = dict.fromkeys(("passage", "before", "gone"), _LONGS)
SUSPECTS = pa.schema([*(arrow_schema("operations").field(name) for name in _OWN), *(_MORE | _LISTS).items()])
"""A send that may be lost, and how it ended. `held`: the log has it, committed. `passage` came by: start, last offset
and step. `before`, of what no log has: offset and step of the last record before. `gone`: when it was truncated."""


class LostWrites:
    """What was acknowledged on keys that were polled: `counts` says how much, `suspects` what may be lost.

    Where the log does not show that a write of a transaction is committed, its client's commit decides: then `number`
    is that of the transaction, else it is -1.
    """

    def __init__(self, log: Log, sends: Sends, both: Told, passages: Passages) -> None:
        self.log, self.sends, self.passages = log, sends, passages
        told = both.told
        read = groups(sends.run[told], sends.key[told])
        first = told[np.unique(read, return_index=True)[1]].tolist()
        polled = np.array([(int(sends.run[at]), int(sends.key[at])) in passages for at in first], np.bool_)
        in_log = _in_log(log, sends)
        self.held = in_log == 1
        self.number = np.where(self.held | (sends.transaction < 1), -1, sends.transaction)
        asked = polled[read] & ((in_log != 0) | (self.number >= 1))[told] if len(read) else read.astype(np.bool_)
        self.counts = self._counts(told[asked])
        self.suspects = self._suspects(told[asked & ~_given(both) & ~_cleaned(log, sends)[told]])

    def _counts(self, at: Longs) -> pa.Table:
        named = self.sends.table.select(["run", "client"]).take(pa.array(at))
        named = plain(named.append_column("number", pa.array(self.number[at])))
        return named.group_by(named.column_names).aggregate([([], "count_all")]).rename_columns(COUNTS.names)

    def _suspects(self, told: Longs) -> pa.Table:
        sends = self.sends
        places: list[tuple[int, int, tuple[int, ...]]] = [(at, int(sends.offset[at]), ()) for at in told.tolist()]
        places += [(at, offset + 1, (offset, step)) for at, offset, step in self._unwritten()]
        came_by = ((at, self._passage(at, offset), before) for at, offset, before in places)
        found = [one for one in came_by if one[1]]
        at = np.array([one[0] for one in found], np.int64)
        gone = self._gone(at)
        more = (self.number[at], self.held[at], sends.end_step[at], sends.offset[at])
        lists = ([one[1] for one in found], [one[2] for one in found], [gone.get(one[0], ()) for one in found])
        own = plain(sends.table.select(_OWN).take(pa.array(at))).columns
        columns = [*own, *map(pa.array, more), *(pa.array(each, _LONGS) for each in lists)]
        return pa.table(columns, SUSPECTS.names).cast(SUSPECTS)

    def _passage(self, at: int, offset: int) -> tuple[int, int, int] | None:
        """Return the first passage that begins at or before the offset and comes by it, if any does."""
        spans = self.passages.get((int(self.sends.run[at]), int(self.sends.key[at])), ())
        return next((span for span in spans if span[0] <= offset <= span[1]), None)

    def _gone(self, at: Longs) -> dict[int, list[int]]:
        """By send the steps at which records that it led to were truncated."""
        sends, size = self.sends, len(self.log.offset)
        found: dict[int, list[int]] = {}
        links = np.flatnonzero(np.isin(sends.link_send, at) & (sends.link_row >= size))
        steps = self.log.truncated.column("removed_step").take(pa.array(sends.link_row[links] - size)).to_pylist()
        for send, step in zip(sends.link_send[links].tolist(), steps, strict=True):
            found.setdefault(send, []).append(step)
        return found

    def _unwritten(self) -> Iterator[tuple[int, int, int]]:
        """Yield sends of which no log has a record, though they were acknowledged, with the last record before."""
        sends, log = self.sends, self.log
        linked = np.zeros(len(sends.offset), np.bool_)
        linked[sends.link_send] = True
        for at in np.flatnonzero(sends.ok & (sends.offset < 0) & (sends.pid >= 0) & ~linked).tolist():
            before = np.flatnonzero((log.group == sends.group[at]) & (log.step < sends.step[at]))[-1:]
            yield at, int(log.offset[before].max(initial=-1)), int(log.step[before].max(initial=-1))


def _given(both: Told) -> Flags:
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


def _cleaned(log: Log, sends: Sends) -> Flags:
    """Whether a record that a send led to was compacted or deleted."""
    links = np.flatnonzero(sends.link_row < len(log.offset))
    removed = log.removed[sends.link_row[links]] != log.names.number("")
    found = np.zeros(len(sends.offset), np.bool_)
    found[sends.link_send[links[removed]]] = True
    return found
