"""Dependencies by writes and by reads: the edges of G0 and G1c, between committed transactions."""

from __future__ import annotations

from bisect import bisect_left

from kafkalab.checks.graph import Graph, add_edge
from kafkalab.checks.transactions import ClientTxn
from kafkalab.checks.view import COMMITTED, View
from kafkalab.history.schema import Read

WRITE_WRITE, WRITE_READ, READ_COMMITTED = "ww", "wr", "rc"
"""Kinds of edges; the last are the write-read edges of reads under read_committed."""
Graphs = dict[str, Graph]
"""The graph of each kind of edges."""


def write_write(view: View, graph: Graph) -> int:
    """An edge from each committed transaction to the next one in the log of a key; how many were looked at."""
    examined = 0
    for key in view.data_keys:
        before = None
        for record in view.data(key):
            owner = view.transaction_of.get((key, record.offset))
            if owner is None or view.outcomes[key, record.offset] != COMMITTED:
                continue
            if before is not None:
                examined += 1
                if before[0] is not owner:
                    add_edge(graph, before[0].id, owner.id, (before[1].step, record.step))
            before = (owner, record)
    return examined


def write_read(view: View, graph: Graph, isolation_level: str = "") -> int:
    """An edge from the transaction that wrote a value to the one that read it; how many reads were looked at."""
    examined, readers = 0, _Readers(view)
    for read in view.history.reads:
        reader = readers.of(read)
        if reader is None or (isolation_level and read.isolation_level != isolation_level):
            continue
        examined += 1
        writer = view.transaction_of.get((read.key, read.offset))
        if writer is not None and writer is not reader and view.outcome(read) == COMMITTED:
            add_edge(graph, writer.id, reader.id, (view.at[read.key, read.offset].step, read.step))
    return examined


class _Readers:
    """The transaction that a read belongs to: the one open in its process, else the next that begins there."""

    def __init__(self, view: View) -> None:
        self.by_process: dict[str, list[ClientTxn]] = {}
        for transaction in view.transactions:
            outcomes = [view.outcomes[r.key, r.offset] for r in transaction.records]
            if transaction.process and COMMITTED in outcomes:
                self.by_process.setdefault(transaction.process, []).append(transaction)
        self.ends: dict[str, list[int]] = {}
        for process, transactions in self.by_process.items():
            transactions.sort(key=end_of)
            self.ends[process] = [end_of(t) for t in transactions]

    def of(self, read: Read) -> ClientTxn | None:
        """None for a process whose later transactions did not commit."""
        here = self.by_process.get(read.process, [])
        place = bisect_left(self.ends.get(read.process, []), read.step)
        return here[place] if place < len(here) else None


def end_of(transaction: ClientTxn) -> int:
    """The step at which its client heard of its end; later than any other where it never did."""
    return transaction.end_step if transaction.end_step >= 0 else 1 << 62
