"""The positions of one bucket's consumers before each poll, and the jumps that they may have made."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from kafkalab.checks.view import Stretch, View
from kafkalab.history.history import History
from kafkalab.history.schema import LogRecord, Read
from kafkalab.spark.per_key_audits.arrays import PLACE, Log, Longs, Names, groups, longs, starts
from kafkalab.spark.per_key_audits.files import POLLS
from kafkalab.spark.per_key_audits.log import Reads
from kafkalab.spark.per_key_audits.suspects import Suspected


class Walk:
    """Every poll of every key in a consumer's order, with what it read; columns are arrays of one length."""

    def __init__(self, polls: pa.Table, reads: Reads, names: Names) -> None:
        self.names = names
        consumer = names.codes(reads.table.column("consumer"))
        index = longs(reads.table, "index")
        run = np.concatenate([longs(polls, "run"), reads.run])
        who = np.concatenate([names.codes(polls.column("consumer")), consumer])
        key = np.concatenate([names.codes(polls.column("key")), reads.key])
        poll = np.concatenate([longs(polls, "poll"), longs(reads.table, "poll")])
        many = polls.num_rows
        each, one = groups(run, who, key), None
        stretch, first_at, one = np.unique(each * PLACE + poll, return_index=True, return_inverse=True)
        self.run, self.who, self.key = run[first_at], who[first_at], key[first_at]
        self.each = stretch // PLACE
        size = len(stretch)
        self.start, self.end = np.full(size, -1, np.int64), np.full(size, -1, np.int64)
        self.moved, self.step = np.full(size, names.number(""), np.int64), np.full(size, -1, np.int64)
        of_read, of_poll = one[many:], one[:many]
        order = np.lexsort((index, of_read))
        self.reads, self.of_read = order, of_read[order]
        offset = reads.offset[order]
        self.count = np.bincount(of_read, minlength=size)
        ends = np.cumsum(self.count) - 1
        has = self.count > 0
        self.first, self.last = np.full(size, -1, np.int64), np.full(size, -1, np.int64)
        self.first[has], self.last[has] = offset[(ends - self.count + 1)[has]], offset[ends[has]]
        self.step[has] = np.minimum.reduceat(reads.step[order], (ends - self.count + 1)[has]) if has.any() else 0
        self.start[of_poll], self.end[of_poll] = longs(polls, "start"), longs(polls, "end")
        self.moved[of_poll], self.step[of_poll] = names.codes(polls.column("moved")), longs(polls, "step")
        self.offset = offset
        self._positions()

    def _positions(self) -> None:
        """`expected` before each stretch, `entered` where it began, `came_to` where its reads ended."""
        read, moved = self.count > 0, self.moved != self.names.number("")
        begins = starts(self.each)
        known = read | (self.start >= 0) | (self.end >= 0)
        anew = read | (moved & (self.start >= 0))
        anew[np.flatnonzero(known)[starts(self.each[known])]] = True
        there = np.where(read, np.maximum(self.last + 1, self.end), np.where(anew, np.maximum(self.start, self.end), self.end))  # fmt: skip  # noqa: E501
        part = np.cumsum(anew | begins)
        after = np.maximum.accumulate(part * PLACE + there + 1) - part * PLACE - 1 if len(part) else there
        self.expected = np.full(len(after), -1, np.int64)
        self.expected[1:] = after[:-1]
        self.expected[begins] = -1
        self.before_step = self.step.copy()
        self.before_step[1:] = np.where(begins[1:], self.step[1:], self.step[:-1])
        self.begin = np.where(self.start >= 0, self.start, self.first)
        enters = (self.begin >= 0) & ((self.expected < 0) | moved)
        self.entered = np.where(enters, self.begin, self.expected)
        self.came_to = np.where(read, self.last + 1, self.entered)
        self.has_moved = moved

    def jumps(self) -> tuple[Longs, Longs, Longs]:
        """Return where a consumer did not go on where it was: the stretch, from where, and to where."""
        moved = (self.expected >= 0) & (self.begin >= 0) & self.has_moved
        moved &= (self.begin < self.expected) | (self.moved == self.names.number("rebalance"))
        inside = np.flatnonzero(~starts(self.of_read)) if len(self.of_read) else self.of_read
        parts = (
            (np.flatnonzero(moved), self.expected[moved], self.begin[moved]),
            (read := np.flatnonzero(self.count > 0), self.entered[read], self.first[read]),
            (on := np.flatnonzero(self.end > self.came_to), self.came_to[on], self.end[on]),
            (self.of_read[inside], self.offset[inside - 1] + 1, self.offset[inside]),
        )
        at, start, end = (np.concatenate(each) for each in zip(*parts, strict=True))
        jumped = (start != end) & (start >= 0)
        return at[jumped], start[jumped], end[jumped]

    def stretch(self, at: int) -> Stretch:
        """Return a stretch as the checks know it; of what was read only where it lay."""
        begin, end = np.searchsorted(self.of_read, [at, at + 1])
        key = self.names.texts[self.key[at]]
        found = Stretch(self.names.texts[self.who[at]], -1, key, "", int(self.step[at]), int(self.start[at]))
        found.end, found.moved = int(self.end[at]), self.names.texts[self.moved[at]]
        found.expected, found.before = int(self.expected[at]), int(self.before_step[at])
        found.reads = [Read(key=key, offset=offset) for offset in self.offset[begin:end].tolist()]
        return found


def jumps(log: Log, walk: Walk) -> Suspected:
    """Suspect the polls in which a consumer went back, or on over known values."""
    between = walk.run[~starts(walk.each)] if len(walk.each) else walk.run
    in_one = np.repeat(walk.run, np.maximum(walk.count - 1, 0))
    known = np.flatnonzero(log.known)
    at, start, end = walk.jumps()
    group = log.groups_of(walk.run, walk.key)[at] * PLACE
    low, high = (np.searchsorted(log.place[known], group + offset) for offset in (start, end))
    over = (group >= 0) & (low < high)
    found: dict[int, View] = {}
    for one in np.unique(at[over | (end < start)]).tolist():
        view, stretch = found.setdefault(int(walk.run[one]), View(History())), walk.stretch(one)
        view.stretches.setdefault((stretch.consumer, stretch.key), []).append(stretch)
    missed: dict[tuple[int, str], list[Longs]] = {}
    for one, first, last in zip(at[over].tolist(), low[over].tolist(), high[over].tolist(), strict=True):
        run, key, row = int(walk.run[one]), walk.names.texts[walk.key[one]], known[first]
        found[run].at[key, int(log.offset[row])] = LogRecord(step=int(log.step[row]))
        missed.setdefault((run, key), []).append(log.offset[known[first:last]])
    for (run, key), offsets in missed.items():
        found[run].known[key] = np.unique(np.concatenate(offsets)).tolist()
    examined = {name: in_one if name.startswith("int-") else between for name in POLLS}
    return found.items(), examined
