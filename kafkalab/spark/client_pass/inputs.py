"""Inputs of consume-transform-produce: what was read of each, in which transactions that took effect, and what was not.

This pass comes last: whatever concerns one input key is in one split of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafkalab.checks.check import Finding
from kafkalab.checks.offset_output_split import offset_output_split
from kafkalab.checks.transactions import ClientTxn
from kafkalab.checks.view import COMMITTED, PLAIN, View
from kafkalab.history.history import History
from kafkalab.history.schema import LogRecord, Poll, Read
from kafkalab.protocol.partitions import OFFSETS_TOPIC, topic_of
from kafkalab.spark.client_pass.endings import Judged
from kafkalab.spark.client_pass.split import Split
from kafkalab.spark.client_pass.views import by_run, judge, view_of_rows
from kafkalab.spark.per_key_audits.arrays import PLACE, Longs, Names, groups, longs, per_run
from kafkalab.spark.per_key_audits.handover import TABLES
from kafkalab.spark.per_key_audits.sends import pairs_of

Tables = Mapping[str, pa.Table]


def disagreeing(split: Split) -> Judged:
    """Judge the transactions of which some records are committed and some aborted: offsets and output may differ."""
    rows = np.flatnonzero((split.txn >= 0) & split.ended)
    committed = split.is_outcome(COMMITTED)[rows]
    kinds = np.zeros(split.many, np.int64)
    for flag, bit in ((committed, 1), (~committed, 2)):
        kinds[split.txn[rows[flag]]] |= bit
    found: list[tuple[int, Finding]] = []
    for run, mine in by_run(split.run, np.flatnonzero(np.isin(split.txn, np.flatnonzero(kinds == 3)))):
        found += judge(run, offset_output_split, view_of_rows(split, mine))
    return found, per_run(np.array([run for run, _ in found], np.int64))


def commits_of(split: Split) -> pa.Table:
    """Return the committed offsets that took effect, each with the process of its transaction and when that ended."""
    texts = split.names.texts
    topic = np.isin(split.key, [n for n, text in enumerate(texts) if topic_of(text) == OFFSETS_TOPIC])
    rows = np.flatnonzero(topic & ~split.marker & split.is_outcome(COMMITTED, PLAIN))
    found = split.records.take(pa.array(rows))
    keyed = pc.not_equal(pc.fill_null(found.column("record_key"), ""), "").to_numpy().astype(bool)
    rows, found = rows[keyed], found.filter(pa.array(keyed))
    txn, clients = split.txn[rows], split.clients
    owned = split.owned[rows]
    process = [texts[code] for code in np.where(owned, clients.process[txn], split.names.number("")).tolist()]
    key = [text.rpartition("/")[2] for text in found.column("record_key").to_pylist()]
    return pa.table(
        {
            "run": found.column("run"),
            "record_key": found.column("record_key"),
            "input": pa.array(key, pa.string()),
            "key": found.column("key"),
            "offset": found.column("offset"),
            "value": found.column("value"),
            "step": found.column("step"),
            "txn": found.column("txn"),
            "process": pa.array(process, pa.string()),
            "end_step": pa.array(np.where(owned, clients.end_step[txn], -1)),
            "outcome": found.column("outcome"),
        }
    ).cast(TABLES["commits"])


class Inputs:
    """One split of inputs: `commits` in the order of the log, `takers` the transactions that committed offsets."""

    def __init__(self, tables: Tables) -> None:
        self.tables, self.names = tables, Names()
        order = [(name, "ascending") for name in ("run", "key", "offset", "step")]
        self.commits = commits = tables["commits"].sort_by(order)
        codes = self.names.codes
        self.run, self.key = longs(commits, "run"), codes(commits.column("input"))
        self.of = groups(self.run, codes(commits.column("record_key")))
        self.process = codes(commits.column("process"))
        self.committed = np.array([int(text or -1) for text in commits.column("value").to_pylist()], np.int64)
        self.owned = commits.column("txn").is_valid().to_numpy().astype(bool)
        self.many = int(self.of.max(initial=-1)) + 1
        self.newest = np.zeros(self.many, np.int64)
        self.newest[self.of] = np.arange(len(self.of))
        owned = np.flatnonzero(self.owned)
        owner = groups(self.of[owned], codes(commits.column("txn"))[owned])
        last = np.zeros(int(owner.max(initial=-1)) + 1, np.int64)
        last[owner] = owned
        self.takers = last
        self._take()

    def _take(self) -> None:
        """Give reads to transactions: `read` and `taker`, a row of commits, for each read that took effect."""
        reads, takers, codes = self.tables["reads"], self.takers, self.names.codes
        text = self.commits.column("txn").take(pa.array(takers)).to_pylist()
        rank = np.empty(len(takers), np.int64)
        rank[sorted(range(len(takers)), key=text.__getitem__)] = np.arange(len(takers))
        end_step = longs(self.commits, "end_step")[takers]
        end = np.where(end_step >= 0, end_step, PLACE - 1)
        place = groups(self.of[takers], self.process[takers])
        order = np.lexsort((rank, end, place))
        takers, end, place = takers[order], end[order], place[order]
        each, first = np.unique(place, return_index=True)
        of_pair = takers[first]
        sides = (
            (self.run[of_pair], longs(reads, "run")),
            (self.key[of_pair], codes(reads.column("key"))),
            (self.process[of_pair], codes(reads.column("process"))),
        )
        same = groups(*(np.concatenate(side) for side in sides))
        pair, read = pairs_of(same[: len(each)], same[len(each) :])
        offset, step = longs(reads, "offset"), longs(reads, "step")
        at = np.searchsorted(place * PLACE + end, each[pair] * PLACE + step[read])
        committed = self.committed[takers]
        most = _most_to_come(place, committed)
        chosen = np.full(len(pair), -1, np.int64)
        left = np.arange(len(pair))
        while len(left):
            here = at[left]
            left = left[here < len(place)]
            here = at[left]
            left = left[(place[here] == each[pair[left]]) & (most[here] > offset[read[left]])]
            here = at[left]
            done = committed[here] > offset[read[left]]
            chosen[left[done]] = here[done]
            left = left[~done]
            at[left] += 1
        took = chosen >= 0
        self.read, self.taker = read[took], takers[chosen[took]]


def _most_to_come(place: Longs, committed: Longs) -> Longs:
    """Return the highest offset that this taker, or one after it at the same place, has committed."""
    high = int(committed.max(initial=0)) + 2
    turned = (place.max(initial=0) - place)[::-1] * high + committed[::-1] + 1
    found: Longs = (np.maximum.accumulate(turned) % high)[::-1] - 1 if len(place) else place
    return found


def offset_splits(tables: Tables) -> Judged:
    """Judge the inputs of which an offset took effect in two transactions, or one below the committed in none."""
    inputs = Inputs(tables)
    return _offset_splits(inputs), per_run(inputs.run[inputs.takers])


def _offset_splits(inputs: Inputs) -> Iterator[tuple[int, Finding]]:
    offset = longs(inputs.tables["reads"], "offset")[inputs.read]
    of = inputs.of[inputs.taker]
    place = of * PLACE + offset
    each = np.unique(groups(place, inputs.taker), return_index=True)[1]
    once, counts = np.unique(place[each], return_counts=True)
    twice = np.isin(place, once[counts > 1])
    order = np.lexsort((offset, of))
    first = order[np.unique(of[order], return_index=True)[1]]
    lost = _find_lost(inputs, dict(zip(of[first].tolist(), offset[first].tolist(), strict=True)), once)
    for one in sorted({*of[twice].tolist(), *lost}):
        reads = np.flatnonzero((of == one) & twice)
        if one in lost:
            reads = np.union1d(reads, first[of[first] == one])
        view = _view(inputs, one, reads, lost.get(one))
        yield from judge(int(inputs.run[inputs.newest[one]]), offset_output_split, view)


def _find_lost(inputs: Inputs, first: dict[int, int], read: Longs) -> dict[int, pa.Table]:
    """Return by input the known records between the first read and the offset committed last that nobody read."""
    known, names = inputs.tables["known"], inputs.names
    newest = inputs.newest
    key = groups(
        np.concatenate([longs(known, "run"), inputs.run[newest]]),
        np.concatenate([names.codes(known.column("key")), inputs.key[newest]]),
    )
    theirs, mine = key[: known.num_rows], key[known.num_rows :]
    offset = longs(known, "offset")
    order = np.lexsort((offset, theirs))
    places = (theirs * PLACE + offset)[order]
    found: dict[int, pa.Table] = {}
    for one, begin in first.items():
        low, high = np.searchsorted(places, mine[one] * PLACE + np.array([begin, inputs.committed[newest[one]]]))
        rows = order[low:high]
        rows = rows[~np.isin(one * PLACE + offset[rows], read)]
        if len(rows):
            found[one] = known.take(pa.array(rows))
    return found


def _view(inputs: Inputs, one: int, reads: Longs, lost: pa.Table | None) -> View:
    """Return the view of one input: these reads, who took them, and what nobody read."""
    rows = inputs.tables["reads"].take(pa.array(inputs.read[reads])).to_pylist()
    rows.sort(key=lambda row: (row["step"], row["index"]))
    key, process = inputs.key[inputs.newest[one]], {row["process"] for row in rows}
    run = int(inputs.run[inputs.newest[one]])
    text = inputs.names.texts[key]
    polls = inputs.tables["moves"]
    moved = pc.and_(pc.equal(polls.column("run"), run), pc.equal(polls.column("key"), text))
    moves = [row for row in polls.filter(moved).to_pylist() if row["process"] in process]
    view = View(
        History(
            reads=tuple(Read(**{name: value for name, value in row.items() if name != "run"}) for row in rows),
            polls=tuple(Poll(process=row["process"], key=text, moved=row["moved"], step=row["step"]) for row in moves),
        )
    )
    for row in lost.to_pylist() if lost is not None else ():
        view.known.setdefault(text, []).append(row["offset"])
        view.at[text, row["offset"]] = LogRecord(step=row["step"])
    mine = np.flatnonzero(inputs.of == one)
    plain = mine[~inputs.owned[mine]][:1]
    taken = mine[np.isin(_owners(inputs, mine), _owners(inputs, inputs.taker[reads]))]
    chosen = np.unique(np.concatenate([plain, taken, inputs.newest[[one]]]))
    transactions: dict[str, ClientTxn] = {}
    for row in inputs.commits.take(pa.array(chosen)).to_pylist():
        record = LogRecord(**{name: row[name] for name in ("key", "offset", "record_key", "value", "step")})
        view.logs.setdefault(record.key, []).append(record)
        view.outcomes[record.key, record.offset] = row["outcome"]
        if row["txn"] is not None:
            owner = ClientTxn(row["txn"], row["process"], end_step=row["end_step"])
            view.transaction_of[record.key, record.offset] = transactions.setdefault(row["txn"], owner)
    return view


def _owners(inputs: Inputs, rows: Longs) -> Longs:
    """Return a number for the transaction of each of these commits."""
    found: Longs = inputs.names.codes(inputs.commits.column("txn"))[rows]
    return found
