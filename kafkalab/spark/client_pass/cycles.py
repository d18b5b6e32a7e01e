"""G0 and G1c, cycles among transactions: numpy finds the parts of the graph that cycles can lie in.

All transactions stand in one order. An edge that goes back in it spans an interval; intervals that overlap make a
block. A cycle must go back somewhere, so it lies in one block; what is in no block the checks never see.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np
import pyarrow as pa

from kafkalab.checks.all import BY_NAME
from kafkalab.checks.check import Check, Finding
from kafkalab.checks.dependencies import READ_COMMITTED, WRITE_READ, WRITE_WRITE, Graphs
from kafkalab.checks.g0 import g0, write_cycles
from kafkalab.checks.g1c import circular_flow, g1c
from kafkalab.checks.graph import add_edge
from kafkalab.checks.view import COMMITTED
from kafkalab.spark.client_pass.split import Split, last_of
from kafkalab.spark.per_key_audits.arrays import PLACE, Flags, Longs, Names, groups, longs, per_run
from kafkalab.spark.per_key_audits.edges import EDGES
from kafkalab.spark.per_key_audits.sends import value_codes

SEARCHES: dict[str, Callable[[Check, Graphs], Iterator[Finding]]] = {g0.name: write_cycles, g1c.name: circular_flow}
KINDS = {g0.name: (WRITE_WRITE,), g1c.name: (WRITE_WRITE, WRITE_READ)}
NEVER = PLACE - 1
"""The end of a transaction whose client never asked for it: later than any other."""


def reads_between(split: Split) -> tuple[pa.Table, dict[int, int]]:
    """Return the edges from who wrote a value to who read it, and how much was read under read_committed.

    What a process reads belongs to the transaction open in it, else to the next that begins there; of its transactions
    only those count that have a committed record.
    """
    reads, names = split.tables["taken"], split.names
    run, step = longs(reads, "run"), longs(reads, "step")
    process = names.codes(reads.column("process"))
    txn, run_of, name_of = _committing(split)
    clients = split.clients
    end = np.where(clients.end_step[txn] >= 0, clients.end_step[txn], NEVER)
    both = groups(np.concatenate([run_of, run]), np.concatenate([clients.process[txn], process]))
    theirs, mine = both[: len(txn)], both[len(txn) :]
    order = np.lexsort((clients.first[txn], end, theirs))
    at = np.searchsorted((theirs * PLACE + end)[order], mine * PLACE + step)
    found = at < len(order)
    found[found] = theirs[order[at[found]]] == mine[found]
    committed = names.where(reads.column("isolation_level"), "read_committed")
    rows = np.flatnonzero(found & names.where(reads.column("outcome"), COMMITTED))
    rows = rows[reads.column("txn").is_valid().to_numpy().astype(bool)[rows]]
    read = reads.take(pa.array(rows))
    edges = pa.table(
        {
            "run": read.column("run"),
            "start": read.column("txn"),
            "end": pa.array([name_of[at] for at in order[at[rows]].tolist()], pa.string()),
            "kind": pa.array([WRITE_READ] * len(rows), pa.string()),
            "committed": pa.array(committed[rows]),
            "place": pa.array([""] * len(rows), pa.string()),
            "rank": pa.array(step[rows] * 4096 + longs(read, "index")),
            "first": read.column("written"),
            "second": read.column("step"),
        }
    ).cast(EDGES)
    differ = edges.column("start").to_numpy() != edges.column("end").to_numpy()
    return edges.filter(pa.array(differ.astype(bool))), per_run(run[found & committed])


def _committing(split: Split) -> tuple[Longs, Longs, list[str]]:
    """Return the clients' transactions that have a committed record, and of each its run and its name."""
    rows = np.flatnonzero((split.txn >= 0) & split.owned & split.is_outcome(COMMITTED))
    txn, first = np.unique(split.txn[rows], return_index=True)
    named = split.clients.process[txn] != split.names.number("")
    rows = rows[first[named]]
    return txn[named], split.run[rows], split.records.column("txn").take(pa.array(rows)).to_pylist()


def cycles_in(edges: pa.Table, name: str) -> Iterator[tuple[int, Finding]]:
    """Yield what the check of this name finds in each block of these edges, with its run."""
    names = Names()
    kind = names.codes(edges.column("kind"))
    rows = np.flatnonzero(np.isin(kind, [names.number(one) for one in KINDS[name]]))
    run, first, second = (longs(edges, one)[rows] for one in ("run", "first", "second"))
    start, end = (codes[rows] for codes in value_codes(edges.column("start"), edges.column("end")))
    node = groups(np.concatenate([run, run]), np.concatenate([start, end]))
    size = int(node.max(initial=-1)) + 1
    low = last_of(node, np.concatenate([first, second]), size)[0]
    of_node = np.zeros(size, np.int64)
    of_node[node] = np.concatenate([run, run])
    rank = np.empty(size, np.int64)
    rank[np.lexsort((low, of_node))] = np.arange(size)
    begin, stop = rank[node[: len(rows)]], rank[node[len(rows) :]]
    block = _blocks(begin, stop)
    inside = np.flatnonzero(block >= 0)
    found = edges.take(pa.array(rows[inside])).to_pylist()
    for number in np.unique(block[inside]).tolist():
        yield from _in_block([row for row, of in zip(found, block[inside], strict=True) if of == number], name)


def _blocks(begin: Longs, stop: Longs) -> Longs:
    """Return the number of the block that both ends of an edge lie in, -1 for none."""
    back = np.flatnonzero(stop < begin)
    if not len(back):
        return np.full(len(begin), -1, np.int64)
    back = back[np.lexsort((begin[back], stop[back]))]
    low, high = stop[back], np.maximum.accumulate(begin[back])
    new: Flags = np.ones(len(back), np.bool_)
    new[1:] = low[1:] > high[:-1]
    lows, highs = low[new], high[np.append(np.flatnonzero(new)[1:], len(back)) - 1]
    at = np.searchsorted(lows, np.minimum(begin, stop), side="right") - 1
    return np.where((at >= 0) & (np.maximum(begin, stop) <= highs[at]), at, -1)


def _in_block(rows: Iterable[dict[str, object]], name: str) -> Iterator[tuple[int, Finding]]:
    graphs: Graphs = {}
    ordered = sorted(rows, key=lambda row: (row["kind"], row["start"], row["end"], row["place"], row["rank"]))
    run = -1
    for row in ordered:
        run, kinds = int(row["run"]), [str(row["kind"]), *([READ_COMMITTED] if row["committed"] else [])]  # type: ignore[call-overload]
        for kind in kinds:
            add_edge(graphs.setdefault(kind, {}), row["start"], row["end"], (row["first"], row["second"]))  # type: ignore[arg-type]
    for finding in SEARCHES[name](BY_NAME[name], graphs):
        yield run, finding
