"""One block of a synthetic history: who writes what when, drawn with numpy, and where every record then lies.

Time is a row of items: batches, ends of transactions, polls, windows. Offsets follow from the order of the items.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kafkalab.spark.per_key_audits.arrays import starts
from kafkalab.spark.synthetic.names import Ints
from kafkalab.spark.synthetic.shape import BLOCKS_OF_A_LEADER, EPOCHS, Shape
from kafkalab.spark.synthetic.windows import Window

INPUT, TAKE, BATCH, COMMIT, FILL, END, POLL, WINDOW = range(8)
"""Kinds of items in the order in which they come inside a slot: inputs are written, a processor takes them, batches of
transactions, the processor's offset, batches without a transaction, ends, polls of the lane's readers, windows."""
ITEM = 8
"""Steps of an item that is no window."""
POLL_EVERY = 16


@dataclass(frozen=True, slots=True)
class Runs:
    """Batches of records with consecutive offsets: `count` records each."""

    key: Ints
    count: Ints
    slot: Ints


def ranks(sorted_groups: Ints) -> Ints:
    """The place of each element among those of its group: `ranks([4, 4, 7]) == [0, 1, 0]`."""
    return before_in_group(sorted_groups, np.ones_like(sorted_groups))


def before(counts: Ints) -> Ints:
    """The sum of all counts in front of each."""
    sums: Ints = np.cumsum(counts) - counts
    return sums


def before_in_group(groups: Ints, counts: Ints) -> Ints:
    """The sum of the counts in front of each in the same group, in the order given."""
    order = np.argsort(groups, kind="stable")
    sums, result = before(counts[order]), np.empty_like(counts)
    result[order] = sums - np.maximum.accumulate(np.where(starts(groups[order]), sums, 0))
    return result


class Block:
    """Arrays of one cell. Transactions are numbered by slot; `keys` are counted from 0 inside the lane."""

    def __init__(self, shape: Shape, cell: int) -> None:
        self.shape, self.cell = shape, cell
        self.lane, self.number = cell % shape.lanes, cell // shape.lanes
        self.keys = shape.keys_of(self.lane)
        self.rng = np.random.default_rng([shape.seed, cell])
        self.rows = shape.rows_of_a_key(self.lane)
        self.base = self.number * self.rows
        self.leader_epoch = self.number // BLOCKS_OF_A_LEADER
        self._draw_windows()
        self._draw_transactions()
        self._fill()
        self._order()

    # what there is

    def _draw_windows(self) -> None:
        injected = self.shape.list_injected(self.cell)
        self.windows: list[tuple[str, int, Window]] = [injected[i] for i in self.rng.permutation(len(injected))]
        count, width = len(injected), len(self.keys)
        first = self.rng.integers(0, width, count)
        self.window_keys = np.stack([first, (first + 1 + self.rng.integers(0, max(width - 1, 1), count)) % width])
        used = [w.rows for _, _, w in self.windows]
        self.window_rows = np.array(used, np.int64).reshape(count, 2).T
        self.taken = np.zeros(width, np.int64)
        np.add.at(self.taken, self.window_keys.ravel(), self.window_rows.ravel())

    def _draw_transactions(self) -> None:
        shape, rng, width = self.shape, self.rng, len(self.keys)
        most = int(2 * self.rows * width / (shape.txn_size + 1)) + 8
        size = rng.geometric(1 / shape.txn_size, most).astype(np.int64)
        transforms = rng.random(most) < shape.transform
        wanted = np.where(transforms, size, 0)
        granted = np.clip(shape.inputs - before(wanted), 0, wanted)
        size = np.where(granted > 0, granted, size)
        spread = np.minimum(size, 1 + rng.integers(0, width, most))
        first = rng.integers(0, width, most)
        txn = np.repeat(np.arange(most), spread)
        place = ranks(txn)
        key = (first[txn] + place) % width
        count = size[txn] // spread[txn] + (place < size[txn] % spread[txn])
        used = before_in_group(key, count + 1) + count + 1
        budget = ((self.rows - self.taken) * (1 - shape.idempotent)).astype(np.int64)
        too_many = txn[used > budget[key]]
        self.txns = int(too_many.min()) if len(too_many) else most
        kept = txn < self.txns
        self.batch = Runs(key[kept], count[kept], txn[kept])
        self.transforms = granted[: self.txns] > 0
        self.granted = granted[: self.txns]
        self.aborted = (rng.random(most)[: self.txns] < shape.abort_rate) & ~self.transforms
        self._assign(most, rng.integers(0, 1 << 30, most)[: self.txns])

    def _assign(self, most: int, lags: Ints) -> None:
        """Producers take turns; a transaction ends before its producer's next one, and before the next window."""
        here = self.shape.producers_of(self.lane)
        self.active = min(len(here), max(8, -(-len(here) // self.shape.blocks)), most)
        turn = np.cumsum(~self.transforms) - 1
        self.producer = np.where(self.transforms, self.active, turn % self.active)
        self.nth = np.where(self.transforms, np.cumsum(self.transforms) - 1, turn // self.active)
        self.most_txns = most + 1
        self.slots = max(self.txns, 1)
        count = len(self.windows)
        self.window_slot = np.sort(self.rng.integers(0, self.slots, count))
        lag = np.where(self.transforms, 0, lags % self.active)
        limits = np.r_[self.window_slot, self.slots - 1]
        slot = np.arange(self.txns)
        self.end_slot = np.minimum(slot + lag, limits[np.searchsorted(self.window_slot, slot)])
        places = (self.number * self.active + np.arange(self.active), np.array([self.number]))
        sessions = np.r_[places[0] // len(here), places[1]]
        self.member = np.r_[here.start + places[0] % len(here), self.shape.producers + self.lane]
        """Numbers of the active producers; the last is the lane's processor."""
        per_session = self.most_txns + 1 if self.shape.bump else 1
        lasting = max(EPOCHS // per_session, 1)
        self.first_epoch = sessions % lasting * per_session
        self.pid = self.member + sessions // lasting * self.shape.numbers
        self.first_txn = sessions * self.most_txns + 1

    def _fill(self) -> None:
        """Records of the idempotent producer: what a partition still lacks, in batches at any time."""
        used = self.taken.copy()
        np.add.at(used, self.batch.key, self.batch.count + 1)
        lacking = self.rows - used
        assert (lacking >= 0).all(), "a block holds no more records than planned"
        batches = -(-lacking // self.shape.txn_size)
        key = np.repeat(np.arange(len(self.keys)), batches)
        place = ranks(key)
        count = np.minimum(self.shape.txn_size, lacking[key] - place * self.shape.txn_size)
        slot = self.rng.integers(0, self.slots, len(key))
        order = np.argsort(slot, kind="stable")
        self.filling = Runs(key[order], count[order], slot[order])
        self.filler = self.shape.producers + self.shape.lanes + self.cell

    # where it lies

    def _order(self) -> None:
        last = np.unique(np.r_[np.arange(POLL_EVERY - 1, self.slots, POLL_EVERY), self.window_slot, self.slots - 1])
        self.takes = np.flatnonzero(self.transforms)
        slots = [self.takes, self.takes, self.batch.slot, self.takes, self.filling.slot, self.end_slot, last]
        slots.append(self.window_slot)
        kind = np.repeat(np.arange(8), [len(s) for s in slots])
        order = np.argsort(np.concatenate(slots) * 8 + kind, kind="stable")
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        self.place = np.split(place, np.cumsum([len(s) for s in slots])[:-1])
        """For each kind of item: its place in the order of all."""
        durations = np.full(len(order), ITEM, np.int64)
        durations[self.place[WINDOW]] = [w.length for _, _, w in self.windows]
        first = self.cell * self.shape.steps
        self.inits = first + ITEM * np.arange(len(self.member))
        self.start = first + ITEM * len(self.member) + before(durations)
        taken = self.start[-1] + durations[-1] - first
        assert taken <= self.shape.steps, "a block takes no more steps than are kept for it"
        self._append()

    def _append(self) -> None:
        """Everything that partitions of the lane get, by key and time, and the offsets that follow."""
        batch, fill, width = self.batch, self.filling, len(self.keys)
        key = np.concatenate([batch.key, batch.key, fill.key, *self.window_keys])
        count = np.concatenate([batch.count, np.ones(len(batch.key), np.int64), fill.count, *self.window_rows])
        ends = self.place[END][batch.slot]
        at = np.concatenate([self.place[BATCH], ends, self.place[FILL], self.place[WINDOW], self.place[WINDOW]])
        order = np.argsort(key * len(self.start) + at, kind="stable")
        offset = np.empty(len(key), np.int64)
        offset[order] = before(count[order]) - key[order] * self.rows + self.base
        parts = np.split(offset, np.cumsum([len(batch.key), len(batch.key), len(fill.key), len(self.windows)]))
        self.batch_offset, self.marker_offset, self.fill_offset, *windows = parts
        self.window_offset = np.stack(windows)
        self.appends = [order[key[order] == k] for k in range(width)]
        self.append_at, self.append_end = at, offset + count

    def ends_at(self, key: int, places: Ints) -> Ints:
        """The log end offset of a partition after the items at these places."""
        mine = self.appends[key]
        ends = np.r_[self.base, self.append_end[mine]]
        found: Ints = ends[np.searchsorted(self.append_at[mine], places, side="right")]
        return found

    def stable_at(self, key: int, places: Ints) -> Ints:
        """The last stable offset of a partition after the items at these places."""
        mine = np.flatnonzero(self.batch.key == key)
        mine = mine[np.argsort(self.batch_offset[mine])]
        latest = np.maximum.accumulate(self.place[END][self.batch.slot[mine]]) if len(mine) else mine
        first = np.searchsorted(latest, places, side="right")
        opened = np.r_[self.batch_offset[mine], self.base + self.rows][first]
        found: Ints = np.minimum(opened, self.ends_at(key, places))
        return found

    # what other parts ask for

    @cached_property
    def epoch(self) -> Ints:
        """The producer epoch under which each transaction writes."""
        of: Ints = self.first_epoch[self.producer] + (self.nth if self.shape.bump else 0)
        return of

    @cached_property
    def txn_number(self) -> Ints:
        """The client's own count of each transaction."""
        of: Ints = self.first_txn[self.producer] + self.nth
        return of

    @cached_property
    def batch_sequence(self) -> Ints:
        """The first sequence of each batch of a transaction."""
        if self.shape.bump:
            return np.zeros(len(self.batch.key), np.int64)
        return before_in_group(self.producer[self.batch.slot] * len(self.keys) + self.batch.key, self.batch.count)

    @cached_property
    def fill_sequence(self) -> Ints:
        """The first sequence of each batch of the idempotent producer."""
        return before_in_group(self.filling.key, self.filling.count)

    def first_of(self, kind: int) -> Ints:
        """The steps at which the items of a kind begin."""
        steps: Ints = self.start[self.place[kind]]
        return steps
