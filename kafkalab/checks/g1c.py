"""G1c, circular information flow: a cycle of write-write and write-read edges between committed transactions."""

from __future__ import annotations

from kafkalab.checks.check import ALLOWED, FORBIDDEN, Check, Examined, Finding
from kafkalab.checks.dependencies import write_read, write_write
from kafkalab.checks.graph import Graph, cycles, proof
from kafkalab.checks.view import View


def examine(check: Check, view: View) -> Examined:
    """A cycle of write-read edges alone is forbidden under read_committed; one with an inferred edge is allowed."""
    reads: Graph = {}
    examined = write_read(view, reads, "read_committed")
    found: list[Finding] = []
    forbidden: dict[str, None] = {}
    for group in cycles(reads):
        forbidden.update(dict.fromkeys(group))
        found.append(check.found(f"each read from the other: {'; '.join(group)}", proof(reads, group)))
    mixed: Graph = {}
    write_write(view, mixed)
    alone = {tuple(group) for group in cycles(mixed)}
    write_read(view, mixed)
    for group in cycles(mixed):
        if tuple(group) not in alone and not all(member in forbidden for member in group):
            text = f"a cycle through the order of the log: {'; '.join(group)}"
            found.append(check.found(text, proof(mixed, group), policy=ALLOWED))
    return examined, found


CHECK = Check(
    name="G1c",
    policy=FORBIDDEN,
    meaning="Committed transactions read from each other in a circle; allowed through an inferred write-write edge.",
    examine=examine,
)
