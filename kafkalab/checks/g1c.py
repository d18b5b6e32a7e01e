"""G1c, circular information flow: a cycle of write-write and write-read edges between committed transactions."""

from __future__ import annotations

from collections.abc import Iterator

from kafkalab.checks.check import ALLOWED, Check, Examined, Finding, anomaly
from kafkalab.checks.dependencies import READ_COMMITTED, WRITE_READ, WRITE_WRITE, Graphs, write_read, write_write
from kafkalab.checks.graph import add_edge, cycles, proof
from kafkalab.checks.view import View


@anomaly(
    "G1c",
    "Committed transactions read from each other in a circle; allowed through an inferred write-write edge.",
    needs=("operations", "log", "reads"),
)
def g1c(check: Check, view: View) -> Examined:
    """Examine the reads under read_committed; see `circular_flow` for what is forbidden."""
    graphs: Graphs = {READ_COMMITTED: {}, WRITE_WRITE: {}, WRITE_READ: {}}
    examined = write_read(view, graphs[READ_COMMITTED], "read_committed")
    write_write(view, graphs[WRITE_WRITE])
    write_read(view, graphs[WRITE_READ])
    return examined, list(circular_flow(check, graphs))


def circular_flow(check: Check, graphs: Graphs) -> Iterator[Finding]:
    """Yield a finding for each cycle of `graphs`, which may be those of one run or of a part of it.

    A cycle of write-read edges alone is forbidden under read_committed; one with an inferred edge is allowed.
    """
    reads = graphs.get(READ_COMMITTED, {})
    forbidden: dict[str, None] = {}
    for group in cycles(reads):
        forbidden.update(dict.fromkeys(group))
        yield check.make_finding(f"each read from the other: {'; '.join(group)}", proof(reads, group))
    mixed = graphs.get(WRITE_WRITE, {})
    alone = {tuple(group) for group in cycles(mixed)}
    for start, ends in graphs.get(WRITE_READ, {}).items():
        for end, steps in ends.items():
            add_edge(mixed, start, end, steps)
    for group in cycles(mixed):
        if tuple(group) not in alone and not all(member in forbidden for member in group):
            text = f"a cycle through the order of the log: {'; '.join(group)}"
            yield check.make_finding(text, proof(mixed, group), policy=ALLOWED)
