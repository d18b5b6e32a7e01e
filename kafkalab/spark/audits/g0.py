"""G0, write cycle: a cycle of write-write edges only. Always allowed in Kafka."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from kafkalab.checks.check import ALLOWED
from kafkalab.checks.g0 import CHECK
from kafkalab.checks.graph import Graph, cycles, proof
from kafkalab.spark.audits.check import Audit, counted, findings_of
from kafkalab.spark.audits.dependencies import WRITE_WRITE, write_pairs, write_write
from kafkalab.spark.audits.derived_tables import DerivedTables
from kafkalab.spark.audits.graph import Found, cycles_of


def search(graphs: dict[str, Graph]) -> Found:
    """Each group of transactions that precede each other on different keys."""
    graph = graphs.get(WRITE_WRITE, {})
    for group in cycles(graph):
        yield group, proof(graph, group), ALLOWED, f"each wrote before the other: {'; '.join(group)}"


def find(derived: DerivedTables) -> DataFrame:
    """One finding for each group."""
    return findings_of(CHECK, cycles_of(write_write(derived), search), F.col("text"), F.col("steps"))


def count(derived: DerivedTables) -> DataFrame:
    """The pairs of neighbours in logs, both of committed transactions."""
    return counted(write_pairs(derived))


AUDIT = Audit(CHECK, find, count)
