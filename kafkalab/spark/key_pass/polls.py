"""Where one bucket's consumers jumped: the same walk as checks/order_of_polls.py, with numpy."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from kafkalab.checks.check import ALLOWED, FORBIDDEN
from kafkalab.spark.key_pass.arrays import PLACE, Flags, Log, Longs, Names, groups, longs, starts
from kafkalab.spark.key_pass.log import Examined, Found, Reads, sorted_steps


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
        seen = _running_count(known, begins)
        anew = read | (moved & (self.start >= 0)) | (known & (seen == 1))
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

    def jumps(self) -> Iterator[tuple[Longs, Longs, Longs, Longs, bool, bool]]:
        """Stretches, expected, offset, step before, inside, and whether the stretch's own move is the reason."""
        moved = (self.expected >= 0) & (self.begin >= 0) & self.has_moved & (self.begin != self.expected)
        at = np.flatnonzero(moved)
        yield at, self.expected[at], self.begin[at], self.before_step[at], False, True
        at = np.flatnonzero((self.count > 0) & (self.first != self.entered))
        yield at, self.entered[at], self.first[at], self.before_step[at], False, False
        at = np.flatnonzero((self.end > self.came_to) & (self.came_to >= 0))
        yield at, self.came_to[at], self.end[at], self.step[at], False, False
        inside = np.flatnonzero(~starts(self.of_read)) if len(self.of_read) else self.of_read
        inside = inside[self.offset[inside] != self.offset[inside - 1] + 1]
        at = self.of_read[inside]
        yield at, self.offset[inside - 1] + 1, self.offset[inside], self.step[at], True, False


def _running_count(chosen: Flags, begins: Flags) -> Longs:
    """How many were chosen since the beginning of the group, this row included."""
    total = np.cumsum(chosen)
    first = np.flatnonzero(begins)
    before = np.concatenate([[0], total[first[1:] - 1]]) if len(first) else total
    counted: Longs = total - np.repeat(before, np.diff(np.append(first, len(chosen))))
    return counted


def jumps(log: Log, walk: Walk) -> Examined:
    """poll-skip and nonmonotonic-poll: the polls that follow another, and the records that follow another in a poll."""
    between = walk.run[~starts(walk.each)] if len(walk.each) else walk.run
    in_one = np.repeat(walk.run, np.maximum(walk.count - 1, 0))
    names, found = ("poll-skip", "nonmonotonic-poll"), []
    known = log.place[log.known]
    step_of = log.step[log.known]
    may_go = np.array([walk.names.number("assign"), walk.names.number("seek")])
    group = log.groups_of(walk.run, walk.key)
    for at, expected, offset, before, inside, own in walk.jumps():
        prefix = "int-" if inside else ""
        policy = ALLOWED if own else FORBIDDEN
        back = np.flatnonzero(offset < expected)
        for i in back.tolist():
            text, steps = f"went back from {expected[i]} to {offset[i]} of", [before[i], walk.step[at[i]]]
            name = f"{prefix}nonmonotonic-poll"
            found.append(_found(walk, at[i], name, policy, [int(offset[i])], steps, text))
        forth = (offset > expected) & (group[at] >= 0)
        if own:
            forth &= ~np.isin(walk.moved[at], may_go)
        places = np.flatnonzero(forth)
        low = np.searchsorted(known, group[at[places]] * PLACE + expected[places])
        high = np.searchsorted(known, group[at[places]] * PLACE + offset[places])
        for i, a, b in zip(places.tolist(), low.tolist(), high.tolist(), strict=True):
            if a < b:
                steps = [step_of[a], before[i], walk.step[at[i]]]
                text, rest = f"went from {expected[i]} to {offset[i]} of", ", over committed values"
                missed = (known[a:b] % PLACE).tolist()
                found.append(_found(walk, at[i], f"{prefix}poll-skip", policy, missed, steps, text, rest))
    return found, dict.fromkeys(names, between) | {f"int-{name}": in_one for name in names}


def _found(
    walk: Walk, at: int, anomaly: str, policy: str, offsets: list[int], steps: list[int], text: str, rest: str = ""
) -> Found:
    who, key = walk.names.texts[walk.who[at]], walk.names.texts[walk.key[at]]
    return Found(
        anomaly=anomaly,
        run=int(walk.run[at]),
        key=key,
        offsets=offsets,
        steps=sorted_steps(steps),
        text=f"{who} {text} {key}{rest}",
        policy=policy,
    )
