"""G1c, circular information flow: a cycle of write-write and write-read edges between committed transactions."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from kafkalab.checks.check import ALLOWED, FORBIDDEN
from kafkalab.checks.g1c import CHECK
from kafkalab.checks.graph import Graph, add_edge, cycles, proof
from kafkalab.spark.audits.check import Audit, counted, findings_of
from kafkalab.spark.audits.dependencies import READ_COMMITTED, WRITE_READ, WRITE_WRITE, readers, write_read, write_write
from kafkalab.spark.audits.derived_tables import DerivedTables
from kafkalab.spark.audits.graph import Found, cycles_of


def search(graphs: dict[str, Graph]) -> Found:
    """A cycle of write-read edges alone is forbidden under read_committed; one with an inferred edge is allowed."""
    reads = graphs.get(READ_COMMITTED, {})
    forbidden: dict[str, None] = {}
    for group in cycles(reads):
        forbidden.update(dict.fromkeys(group))
        yield group, proof(reads, group), FORBIDDEN, f"each read from the other: {'; '.join(group)}"
    mixed = graphs.get(WRITE_WRITE, {})
    alone = {tuple(group) for group in cycles(mixed)}
    for start, ends in graphs.get(WRITE_READ, {}).items():
        for end, steps in ends.items():
            add_edge(mixed, start, end, steps)
    for group in cycles(mixed):
        if tuple(group) not in alone and not all(member in forbidden for member in group):
            yield group, proof(mixed, group), ALLOWED, f"a cycle through the order of the log: {'; '.join(group)}"


def find(derived: DerivedTables) -> DataFrame:
    """One finding for each group of transactions that lie on cycles through each other."""
    edges = write_write(derived).unionByName(write_read(derived)).unionByName(write_read(derived, "read_committed"))
    return findings_of(CHECK, cycles_of(edges, search), F.col("text"), F.col("steps"), policy=F.col("policy"))


def count(derived: DerivedTables) -> DataFrame:
    """The reads under read_committed that belong to a transaction."""
    return counted(readers(derived).where(F.col("isolation_level") == "read_committed"))


AUDIT = Audit(CHECK, find, count)
