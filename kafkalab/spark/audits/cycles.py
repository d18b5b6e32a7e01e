"""G0 and G1c, cycles among transactions of many runs: the parts that cycles can lie in are found first, in Spark.

All transactions of a run stand in one order. An edge that goes back in it spans an interval; intervals that overlap
make a block. A cycle must go back somewhere, so it lies in one block, and what is in no block is never looked at.
"""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from kafkalab.checks.all import BY_NAME
from kafkalab.checks.dependencies import Graphs
from kafkalab.checks.g0 import g0, write_cycles
from kafkalab.checks.g1c import circular_flow, g1c
from kafkalab.checks.graph import add_edge
from kafkalab.spark.audits.asof import last_before
from kafkalab.spark.audits.check import ARROW, Audit, counted, rows_of
from kafkalab.spark.audits.dependencies import readers, write_pairs, write_read, write_write
from kafkalab.spark.audits.derived_tables import DerivedTables

SEARCHES = {g0.name: write_cycles, g1c.name: circular_flow}


def blocks(edges: DataFrame) -> DataFrame:
    """The edges between transactions of one block, with `block`."""
    ends = edges.select("run", F.col("start").alias("txn"), F.col("first").alias("step"))
    ends = ends.unionByName(edges.select("run", F.col("end").alias("txn"), F.col("second").alias("step")))
    place = Window.partitionBy("run").orderBy("step", "txn")
    nodes = ends.groupBy("run", "txn").agg(F.min("step").alias("step")).withColumn("place", F.row_number().over(place))
    nodes = nodes.drop("step")
    placed = edges.join(nodes.withColumnsRenamed({"txn": "start", "place": "_from"}), ["run", "start"])
    placed = placed.join(nodes.withColumnsRenamed({"txn": "end", "place": "_to"}), ["run", "end"])
    back = placed.where("_to < _from").select("run", F.col("_to").alias("low"), F.col("_from").alias("high"))
    order = Window.partitionBy("run").orderBy("low", "high")
    reach = F.max("high").over(order.rowsBetween(Window.unboundedPreceding, -1))
    begins = back.withColumn("_reach", reach).withColumn(
        "_new", F.col("_reach").isNull() | (F.col("low") > F.col("_reach"))
    )
    numbered = begins.withColumn(
        "block", F.sum(F.col("_new").cast("int")).over(order.rowsBetween(Window.unboundedPreceding, 0))
    )
    spans = numbered.groupBy("run", "block").agg(F.min("low").alias("low"), F.max("high").alias("high"))
    return _inside(placed, spans)


def _inside(placed: DataFrame, spans: DataFrame) -> DataFrame:
    """The edges of which both ends lie in one span."""
    by = ("run",)
    found = last_before(placed, spans, by, F.col("_from"), F.col("low"), "span", inclusive=True)
    inside = F.col("_from").between(F.col("span.low"), F.col("span.high"))
    inside = inside & F.col("_to").between(F.col("span.low"), F.col("span.high"))
    return found.where(inside).withColumn("block", F.col("span.block")).drop("span", "_from", "_to")


def cycles_of(edges: DataFrame, name: str) -> DataFrame:
    """Return the findings of the check of this name in each block, given the block's graph of each kind of edge."""
    schema = from_arrow_schema(ARROW)
    return blocks(edges).groupBy("run", "block").applyInArrow(lambda block: _in_block(block, name), schema)


def _in_block(block: pa.Table, name: str) -> pa.Table:
    graphs: Graphs = {}
    rows = block.sort_by([(column, "ascending") for column in ("kind", "start", "end")])
    columns = [rows.column(column).to_pylist() for column in ("kind", "start", "end", "first", "second")]
    for kind, start, end, first, second in zip(*columns, strict=True):
        add_edge(graphs.setdefault(kind, {}), start, end, (first, second))
    run = rows.column("run")[0].as_py()
    return pa.Table.from_pylist(rows_of(run, SEARCHES[name](BY_NAME[name], graphs)), ARROW)


def find_write_cycles(derived: DerivedTables) -> DataFrame:
    """One finding for each group of transactions that precede each other on different keys."""
    return cycles_of(write_write(derived), g0.name)


def find_circular_flow(derived: DerivedTables) -> DataFrame:
    """One finding for each group of transactions that lie on cycles through each other."""
    edges = write_write(derived).unionByName(write_read(derived)).unionByName(write_read(derived, "read_committed"))
    return cycles_of(edges, g1c.name)


def count_reads(derived: DerivedTables) -> DataFrame:
    """The reads under read_committed that belong to a transaction."""
    return counted(readers(derived).where(F.col("isolation_level") == "read_committed"))


G0 = Audit(g0, find_write_cycles, lambda derived: counted(write_pairs(derived)))
G1C = Audit(g1c, find_circular_flow, count_reads)
