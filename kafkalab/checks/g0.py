"""G0, write cycle: a cycle of write-write edges only. Always allowed in Kafka."""

from __future__ import annotations

from kafkalab.checks.check import ALLOWED, Check, Examined
from kafkalab.checks.dependencies import write_write
from kafkalab.checks.graph import Graph, cycles, proof
from kafkalab.checks.view import View


def examine(check: Check, view: View) -> Examined:
    """One finding for each group of transactions that precede each other on different keys."""
    graph: Graph = {}
    examined = write_write(view, graph)
    groups = list(cycles(graph))
    return examined, [check.found(f"each wrote before the other: {'; '.join(g)}", proof(graph, g)) for g in groups]


CHECK = Check(
    name="G0",
    policy=ALLOWED,
    meaning="Transactions wrote before each other, on different keys: a cycle of write-write edges only.",
    examine=examine,
)
