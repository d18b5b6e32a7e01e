"""G0, write cycle: a cycle of write-write edges only. Always allowed in Kafka."""

from __future__ import annotations

from collections.abc import Iterator

from kafkalab.checks.check import ALLOWED, Check, Examined, Finding, anomaly
from kafkalab.checks.dependencies import WRITE_WRITE, Graphs, write_write
from kafkalab.checks.graph import cycles, proof
from kafkalab.checks.view import View


@anomaly(
    "G0",
    "Each of two or more transactions wrote before another, on different keys: a cycle of write-write edges only.",
    ALLOWED,
    needs=("operations", "log"),
)
def g0(check: Check, view: View) -> Examined:
    """One finding for each group of transactions that precede each other on different keys."""
    graphs: Graphs = {WRITE_WRITE: {}}
    return write_write(view, graphs[WRITE_WRITE]), list(write_cycles(check, graphs))


def write_cycles(check: Check, graphs: Graphs) -> Iterator[Finding]:
    """Yield a finding for each cycle of `graphs`, which may be those of one run or of a part of it."""
    graph = graphs.get(WRITE_WRITE, {})
    for group in cycles(graph):
        yield check.make_finding(f"each wrote before the other: {'; '.join(group)}", proof(graph, group))
