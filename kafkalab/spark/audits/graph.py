"""Cycles among transactions of many runs: the parts of a run that cycles can lie in are found first, in Spark.

All transactions of a run stand in one order. An edge that goes back in it spans an interval; intervals that overlap
make a block. A cycle must go back somewhere, so it lies in one block, and what is in no block is never looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pyarrow as pa
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from kafkalab.checks.graph import Graph, add_edge
from kafkalab.spark.audits.asof import last_before

Found = Iterator[tuple[list[str], list[int], str, str]]
"""The members of a cycle, the steps that prove it, a policy, and how the text begins."""

CYCLES = pa.schema(
    [("run", pa.int64()), ("members", pa.list_(pa.string())), ("steps", pa.list_(pa.int64())),
     ("policy", pa.string()), ("text", pa.string())]
)  # fmt: skip


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


def cycles_of(edges: DataFrame, search: Callable[[dict[str, Graph]], Found]) -> DataFrame:
    """What `search` finds in each block, given the block's graph of each kind of edge; rows of CYCLES."""

    def in_block(block: pa.Table) -> pa.Table:
        graphs: dict[str, Graph] = {}
        rows = block.sort_by([(name, "ascending") for name in ("kind", "start", "end")])
        columns = [rows.column(name).to_pylist() for name in ("kind", "start", "end", "first", "second")]
        for kind, start, end, first, second in zip(*columns, strict=True):
            add_edge(graphs.setdefault(kind, {}), start, end, (first, second))
        run = rows.column("run")[0].as_py()
        found = [(run, members, sorted(set(steps)), policy, text) for members, steps, policy, text in search(graphs)]
        return pa.Table.from_pylist([dict(zip(CYCLES.names, row, strict=True)) for row in found], CYCLES)

    return blocks(edges).groupBy("run", "block").applyInArrow(in_block, from_arrow_schema(CYCLES))
