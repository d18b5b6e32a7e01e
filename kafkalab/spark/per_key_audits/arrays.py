"""One bucket's tables as numpy arrays: keys as numbers, rows in the order that the audits walk over them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafkalab.protocol.partitions import INTERNAL_TOPICS, topic_of

Longs = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

TABLE = 4
"""A table of so many numbers for each row is quicker than sorting them."""

PLACE = 1 << 40
"""More offsets, or polls, than any key or consumer has: group * PLACE + offset is one number."""


@dataclass(slots=True)
class Names:
    """Texts by number, the same in all tables."""

    texts: list[str] = field(default_factory=list)
    numbers: dict[str, int] = field(default_factory=dict)

    def codes(self, column: pa.ChunkedArray) -> Longs:
        """The number of each text of the column; null is like an empty one."""
        encoded = column.combine_chunks().dictionary_encode()
        if isinstance(encoded, pa.ChunkedArray):
            encoded = encoded.combine_chunks()
        here = [self.number(text or "") for text in encoded.dictionary.to_pylist()]
        known = np.array([*here, self.number("")], np.int64)
        places = encoded.indices.fill_null(len(here)).to_numpy(zero_copy_only=False)
        found: Longs = known[places]
        return found

    def where(self, column: pa.ChunkedArray, text: str) -> Flags:
        """Return a mask of the rows that have this text; null is like an empty one."""
        found: Flags = self.codes(column) == self.number(text)
        return found

    def number(self, text: str) -> int:
        """The number of one text."""
        found = self.numbers.get(text)
        if found is None:
            found = self.numbers[text] = len(self.texts)
            self.texts.append(text)
        return found


def longs(table: pa.Table, name: str) -> Longs:
    """Return a column of numbers or flags. ValueError for nulls, which numpy would make the smallest number."""
    if nulls := table.column(name).null_count:
        raise ValueError(f"{nulls:,} rows have nulls in the column {name}, which may have none")
    found: Longs = table.column(name).to_numpy().astype(np.int64, copy=False)
    return found


def groups(*columns: Longs) -> Longs:
    """A number for each different row of these columns, in their order, from 0."""
    if not len(columns[0]):
        return columns[0]
    found, many = _number(columns[0])
    for column in columns[1:]:
        codes, wide = _number(column)
        if many * wide >= 1 << 62:
            found, many = _number(found, sparse=False)
        found, many = _number(found * wide + codes)
    return _number(found, sparse=False)[0]


def _number(column: Longs, sparse: bool = True) -> tuple[Longs, int]:
    """Return numbers from 0 in the order of the column's values, and how many there may be.

    There are gaps only where a table of all values would be large, and `sparse` allows it.
    """
    found = column - column.min()
    many = int(found.max()) + 1
    if many <= TABLE * len(found):
        there = np.zeros(many, np.int32)
        there[found] = 1
        places = np.cumsum(there, dtype=np.int32)
        return (places[found] - 1).astype(np.int64), int(places[-1])
    if sparse:
        return found, many
    values, found = np.unique(found, return_inverse=True)
    return found.astype(np.int64), len(values)


def per_run(run: Longs) -> dict[int, int]:
    """Return how often each run is there."""
    return dict(zip(*(found.tolist() for found in np.unique(run, return_counts=True)), strict=True))


def starts(group: Longs) -> Flags:
    """Return a mask of the rows that are the first of their group; rows of a group are adjacent."""
    first = np.ones(len(group), np.bool_)
    first[1:] = group[1:] != group[:-1]
    return first


def last_where(chosen: Flags, group: Longs) -> Longs:
    """For each row the place of the last chosen row before it in its group, -1 for none; groups stand together."""
    place = np.arange(len(group))
    seen = np.maximum.accumulate(np.where(chosen, place, -1)) if len(group) else place
    before = np.full(len(group), -1, np.int64)
    before[1:] = seen[:-1]
    first = np.maximum.accumulate(np.where(starts(group), place, 0)) if len(group) else place
    before[before < first] = -1
    return before


def next_where(chosen: Flags, group: Longs) -> Longs:
    """For each row the place of the next chosen row behind it in its group, -1 for none; groups stand together."""
    found = last_where(chosen[::-1], group[::-1])[::-1]
    return np.where(found >= 0, len(group) - 1 - found, -1)


class Log:
    """The records of a bucket that were not truncated, by run, key and offset; markers among them.

    `group` numbers the (run, key) pairs; `place` is group * PLACE + offset, rising; `values` are in the same order.
    A row is the row `at` of `table`, which has the other columns; what was truncated is in `truncated`.
    """

    def __init__(self, table: pa.Table, names: Names) -> None:
        removed = names.codes(table.column("removed"))
        gone: Flags = removed == names.number("truncated")
        keep = np.flatnonzero(~gone)
        self.truncated = table.filter(pa.array(gone))
        if len(keep) < len(removed):
            table, removed = table.take(pa.array(keep)), removed[keep]
        run, key, offset, step = longs(table, "run"), names.codes(table.column("key")), longs(table, "offset"), longs(table, "step")  # fmt: skip  # noqa: E501
        group = groups(run, key)
        order = np.lexsort((step, offset, group))
        if len(order) and (np.diff(order) == 1).all():
            order = slice(None)  # type: ignore[assignment]
        self.run, self.key, self.offset, self.step = run[order], key[order], offset[order], step[order]
        self.group, self.removed = group[order], removed[order]
        self.pid, self.epoch = longs(table, "producer_id")[order], longs(table, "producer_epoch")[order]
        self.sequence, self.at_ms = longs(table, "sequence")[order], longs(table, "at_ms")[order]
        self.transactional: Flags = longs(table, "transactional")[order] > 0
        control = names.codes(table.column("control"))[order]
        self.marker: Flags = control != names.number("")
        self.abort: Flags = control == names.number("ABORT")
        self.place = self.group * PLACE + self.offset
        whole = isinstance(order, slice)
        self.values = table.column("value") if whole else table.column("value").take(pa.array(order))
        self.table, self.at = table, np.arange(table.num_rows)[order]
        self.names = names
        self._group_of: dict[tuple[int, int], int] = {}
        for at in np.flatnonzero(starts(self.group)):
            self._group_of[int(self.run[at]), int(self.key[at])] = int(self.group[at])
        self._end()

    def _end(self) -> None:
        """`ended_by`: the place of the marker that ended a record of a transaction, -1 for none."""
        together = groups(self.group, self.pid)
        order = np.lexsort((np.arange(len(together)), together))
        behind = next_where(self.marker[order], together[order])
        found = np.full(len(order), -1, np.int64)
        found[order] = np.where(behind >= 0, order[behind], -1)
        found[self.marker | ~self.transactional] = -1
        self.ended_by: Longs = found
        self.aborted: Flags = (found >= 0) & self.abort[found]
        committed: Flags = (found >= 0) & ~self.abort[found]
        self.final: Flags = ~self.marker & (committed | ~self.transactional)
        self.known: Flags = self.final & (self.removed == self.names.number(""))

    def rows(self, places: Longs) -> pa.Table:
        return self.table.take(pa.array(self.at[places]))

    def of_topics(self, *topics: str) -> Flags:
        """Return a mask of the records in one of these topics."""
        numbers = [n for n, text in enumerate(self.names.texts) if topic_of(text) in topics]
        found: Flags = np.isin(self.key, numbers)
        return found

    @cached_property
    def data(self) -> Flags:
        """A mask of the records that are no markers, and of a topic that is not internal."""
        return ~self.marker & ~self.of_topics(*INTERNAL_TOPICS)

    @cached_property
    def keyed(self) -> Flags:
        """A mask of the records that have a key of their own."""
        found: Flags = self.names.codes(self.table.column("record_key"))[self.at] != self.names.number("")
        return found

    def groups_of(self, run: Longs, key: Longs) -> Longs:
        """The group of each pair, -1 for a key without a log."""
        if not len(run):
            return run
        pair = groups(run, key)
        _, first, back = np.unique(pair, return_index=True, return_inverse=True)
        here = [self._group_of.get((int(run[at]), int(key[at])), -1) for at in first]
        return np.array(here, np.int64)[back]

    def find(self, group: Longs, offset: Longs) -> Longs:
        """The row that lies at each place, -1 for none; the newest where there are two."""
        wanted = group * PLACE + offset
        at = np.searchsorted(self.place, wanted, side="right") - 1
        found = (at >= 0) & (group >= 0)
        found[found] = self.place[at[found]] == wanted[found]
        return np.where(found, at, -1)
