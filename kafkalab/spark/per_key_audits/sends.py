"""One bucket's sends: how each ended, which records it led to, and whose transaction a record is, by numpy."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafkalab.protocol.partitions import INTERNAL_TOPICS
from kafkalab.spark.per_key_audits.arrays import PLACE, Flags, Log, Longs, Names, groups, longs

OFFSETS, SENT, UNCLAIMED = 0, 1, 2
"""The evidence that a record is its transaction's, in the order in which transactions take them."""
Decisions = Callable[[list[int]], pa.Table]
"""The PREPARE entries of these producer ids: run, producer_id, step."""


def value_codes(*columns: Any) -> list[Longs]:
    """The same number for the same value in all columns; -1 for null."""
    chunks = [chunk for column in columns for chunk in column.chunks]
    encoded = pa.chunked_array(chunks, pa.string()).combine_chunks().dictionary_encode()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.combine_chunks()
    codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    return np.split(codes, np.cumsum([len(column) for column in columns])[:-1])


class Sends:
    """A bucket's sends by run and index; `offset` is where the client was told that the record lies, else -1.

    `link_send`, `link_row`: a send led to a row of the log, or, from len(log.offset) on, of what was truncated.
    Columns that begin with end_ are -1 where nothing is known. `calls` has invocations and ends.
    """

    def __init__(self, table: pa.Table, log: Log, names: Names) -> None:
        table = table.filter(pa.array(names.where(table.column("function"), "send")))
        kind = names.codes(table.column("type"))
        invoke = kind == names.number("invoke")
        run, index = longs(table, "run"), longs(table, "index")
        asked, ends = np.flatnonzero(invoke), np.flatnonzero(~invoke)
        asked = asked[np.lexsort((index[asked], run[asked]))]
        here = groups(run) * PLACE
        end = find((here + longs(table, "invocation"))[ends], (here + index)[asked])
        self.has_end = end >= 0
        end = ends[end] if len(ends) else end
        self.calls, self.at, self.end = table, asked, np.where(self.has_end, end, -1)
        self.table, self.names = table.take(pa.array(asked)), names
        self.run, self.index, self.step = run[asked], index[asked], longs(table, "step")[asked]
        self.key, self.client = (names.codes(table.column(name))[asked] for name in ("key", "client"))
        self.pid, self.epoch = longs(table, "producer_id")[asked], longs(table, "producer_epoch")[asked]
        self.sequence, self.transaction = longs(table, "sequence")[asked], longs(table, "transaction")[asked]

        def of_end(column: Longs) -> Longs:
            return np.where(self.has_end, column[end], -1) if len(column) else self.run

        self.end_step, self.end_pid = of_end(longs(table, "step")), of_end(longs(table, "producer_id"))
        self.end_epoch = of_end(longs(table, "producer_epoch"))
        self.end_sequence = of_end(longs(table, "sequence"))
        self.ok: Flags = self.has_end & (of_end(kind) == names.number("ok"))
        self.failed: Flags = self.has_end & (of_end(kind) == names.number("fail"))
        self.offset = np.where(self.ok, of_end(longs(table, "offset")), -1)
        self.group = log.groups_of(self.run, self.key)
        self.transactional: Flags = self.table.column("transactional_id").is_valid().to_numpy()
        self._link(log)

    def rows(self, places: Longs) -> pa.Table:
        """Return invocations and ends of these sends, as operations."""
        end = self.end[places]
        return self.calls.take(pa.array(np.concatenate([self.at[places], end[end >= 0]])))

    def _link(self, log: Log) -> None:
        self.value, log_value, gone_value = value_codes(
            self.table.column("value"), log.values, log.truncated.column("value")
        )
        plain = self.pid < 0
        changed = (
            ~plain
            & self.has_end
            & (self.end_pid >= 0)
            & ((self.end_pid != self.pid) | (self.end_epoch != self.epoch) | (self.end_sequence != self.sequence))
        )
        first, anew = np.flatnonzero(~plain | (self.offset >= 0)), np.flatnonzero(changed)
        gone, rows = log.truncated, np.flatnonzero(~log.marker)
        lost = np.flatnonzero(log.names.where(gone.column("control"), ""))
        who = np.concatenate([first, anew])
        parts = (
            (self.run[who], log.run[rows], longs(gone, "run")[lost]),
            (self.key[who], log.key[rows], log.names.codes(gone.column("key"))[lost]),
            *_identities(
                (
                    np.concatenate([self.pid[first], self.end_pid[anew]]),
                    np.concatenate([self.epoch[first], self.end_epoch[anew]]),
                    np.concatenate([self.sequence[first], self.end_sequence[anew]]),
                    self.offset[who],
                ),
                (log.pid[rows], log.epoch[rows], log.sequence[rows], log.offset[rows]),
                tuple(longs(gone, n)[lost] for n in ("producer_id", "producer_epoch", "sequence", "offset")),
            ),
            (self.value[who], log_value[rows], gone_value[lost]),
        )
        same = groups(*(np.concatenate(part) for part in parts))
        claims, held = same[: len(who)], same[len(who) :]
        places = np.concatenate([rows, len(log.offset) + lost])
        claim, row = pairs_of(claims, held)
        self.link_send, self.link_row = who[claim], places[row]


class Owners:
    """Of each record of a transaction whose it is: `client` and `number`, and where it stands in the transaction.

    `client` is the number of "" where only producer id, epoch and the decisions before tell; then `number` is how many
    of these there are, and one. `why` is -1 for what is in no transaction.
    """

    def __init__(
        self, log: Log, sends: Sends, names: Names, decisions: Decisions, offsets: Callable[[], pa.Table]
    ) -> None:
        size = len(log.offset)
        self.log, self.names = log, names
        self.client, self.number = np.full(size, names.number(""), np.int64), np.full(size, -1, np.int64)
        self.why, self.index = np.full(size, -1, np.int64), np.zeros(size, np.int64)
        mine = log.transactional & ~log.marker
        free = mine.copy()
        chosen = np.flatnonzero((sends.transaction[sends.link_send] >= 1) & (sends.link_row < size))
        chosen = chosen[mine[sends.link_row[chosen]]]
        send, claimed = sends.link_send[chosen], sends.link_row[chosen]
        ranks = _ranks(log.step[claimed], sends.step[send], sends.ok[send], sends.failed[send], sends.end_step[send])
        rows, by = _best(claimed, ranks, send)
        send = send[by]
        self.client[rows], self.number[rows] = sends.client[send], sends.transaction[send]
        self.why[rows], self.index[rows] = SENT, sends.index[send]
        free[rows] = False
        of_groups = np.flatnonzero(mine & log.of_topics(*INTERNAL_TOPICS) & log.keyed)
        if len(of_groups):
            free[self._by_offsets(of_groups, offsets())] = False
        rest = np.flatnonzero(free)
        self.why[rest], self.number[rest] = UNCLAIMED, 1
        if len(rest):
            self._by_decisions(rest, decisions(np.unique(log.pid[rest]).tolist()))

    def _by_offsets(self, rows: Longs, asked: pa.Table) -> Longs:
        """Return the positions that transactions committed: of equal commits the one that explains a record best."""
        log, names = self.log, self.names
        held = log.table.select(["record_key", "value"]).take(pa.array(log.at[rows]))
        what, asked_what = value_codes(held.column("record_key"), asked.column("record_key"))
        value, asked_value = value_codes(held.column("value"), asked.column("value"))
        same = groups(
            *(
                np.concatenate(pair)
                for pair in (
                    (log.run[rows], longs(asked, "run")),
                    (what, asked_what),
                    (value, asked_value),
                    (log.pid[rows], longs(asked, "producer_id")),
                    (log.epoch[rows], longs(asked, "producer_epoch")),
                )
            )
        )
        record, attempt = pairs_of(same[: len(rows)], same[len(rows) :])
        kind = names.codes(asked.column("end_type"))[attempt]
        ranks = _ranks(
            log.step[rows][record],
            longs(asked, "step")[attempt],
            kind == names.number("ok"),
            kind == names.number("fail"),
            longs(asked, "end_step")[attempt],
        )
        record, attempt, ranks = record[ranks > 0], attempt[ranks > 0], ranks[ranks > 0]
        index = longs(asked, "index")
        which, by = _best(record, ranks, index[attempt])
        found: Longs = rows[which]
        chosen = attempt[by]
        self.client[found], self.number[found] = (
            names.codes(asked.column("client"))[chosen],
            longs(asked, "transaction")[chosen],
        )
        self.why[found], self.index[found] = OFFSETS, index[chosen]
        return found

    def _by_decisions(self, rows: Longs, decided: pa.Table) -> None:
        log = self.log
        pair = groups(
            np.concatenate([log.run[rows], longs(decided, "run")]),
            np.concatenate([log.pid[rows], longs(decided, "producer_id")]),
        )
        mine, theirs = pair[: len(rows)], pair[len(rows) :]
        places = np.sort(theirs * PLACE + longs(decided, "step"))
        before = np.searchsorted(places, mine * PLACE + log.step[rows]) - np.searchsorted(places, mine * PLACE)
        self.number[rows] = before + 1

    @cached_property
    def transaction(self) -> Longs:
        """A number for each transaction of this bucket, -1 outside one."""
        log, free = self.log, self.why == UNCLAIMED
        pid, epoch = np.where(free, log.pid, -1), np.where(free, log.epoch, -1)
        return np.where(self.why >= 0, groups(log.run, free.astype(np.int64), self.client, self.number, pid, epoch), -1)

    def names_of(self, rows: Longs) -> pa.Array:
        """Return the name of each record's transaction, as in checks/transactions.py; null outside one."""
        free, log = self.why[rows] == UNCLAIMED, self.log
        pid, epoch = (pc.cast(pa.array(of[rows[free]]), pa.string()) for of in (log.pid, log.epoch))
        producer = pc.binary_join_element_wise("producer ", pid, ", epoch ", epoch, "")
        client = pa.array(self.names.texts, pa.string()).take(pa.array(self.client[rows]))
        number = pc.cast(pa.array(self.number[rows], mask=self.why[rows] < 0), pa.string())
        who = pc.replace_with_mask(client, pa.array(free), producer)
        return pc.binary_join_element_wise(who, number, ", transaction ")


def _ranks(step: Longs, invoked: Longs, ok: Flags, failed: Flags, ended: Longs) -> Longs:
    """`claim` of kafkalab/checks/transactions.py, for pairs of records and attempts."""
    told = np.where(step <= ended, 3, 1)
    return np.where((step < invoked) | failed, 0, np.where(ok, told, 2))


def _best(rows: Longs, ranks: Longs, order: Longs) -> tuple[Longs, Longs]:
    """Return each row once, and the place of its pair of the highest rank: the last in `order`, of rank 0 the first."""
    among = np.lexsort((np.where(ranks > 0, -order, order), -ranks, rows))
    once, first = np.unique(rows[among], return_index=True)
    return once, among[first]


def pairs_of(left: Longs, right: Longs) -> tuple[Longs, Longs]:
    """The places of all pairs of equal numbers."""
    order = np.argsort(right, kind="stable")
    low, high = (np.searchsorted(right[order], left, side) for side in ("left", "right"))
    many = high - low
    inside = np.arange(many.sum()) - np.repeat(np.cumsum(many) - many, many)
    return np.repeat(np.arange(len(left)), many), order[np.repeat(low, many) + inside]


def find(there: Longs, wanted: Longs) -> Longs:
    """The place in `there` of each wanted number, the last one where there are several, -1 for none."""
    order = np.argsort(there, kind="stable")
    at = np.searchsorted(there[order], wanted, side="right") - 1
    found = at >= 0
    found[found] = there[order[at[found]]] == wanted[found]
    result = np.full(len(wanted), -1, np.int64)
    result[found] = order[at[found]]
    return result


def _identities(*each: tuple[Longs, ...]) -> list[tuple[Longs, ...]]:
    """Producer id, epoch, and sequence; or -1, -1, and the offset without idempotence."""
    a, b, c = [], [], []
    for pid, epoch, sequence, offset in each:
        plain = pid < 0
        a.append(np.where(plain, -1, pid))
        b.append(np.where(plain, -1, epoch))
        c.append(np.where(plain, offset, sequence))
    return [tuple(a), tuple(b), tuple(c)]
