"""Who wrote before whom, and who read from whom: the edges of G0 and G1c, between committed transactions."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from kafkalab.checks.dependencies import READ_COMMITTED, WRITE_READ, WRITE_WRITE
from kafkalab.checks.view import COMMITTED
from kafkalab.spark.audits.asof import last_before
from kafkalab.spark.audits.derived_tables import DerivedTables, once

NEVER = 1 << 62


@once("neighbours in logs")
def write_pairs(derived: DerivedTables) -> DataFrame:
    """Each committed record with the committed transaction before it in its key's log, its own or another."""
    committed = derived.data.where(F.col("txn").isNotNull() & (F.col("outcome") == COMMITTED))
    order = Window.partitionBy("run", "key").orderBy("offset")
    pairs = committed.select("run", "key", "offset", "step", "txn")
    pairs = pairs.withColumn("before", F.lag(F.struct("txn", "step")).over(order))
    return pairs.where(F.col("before").isNotNull())


@once("who wrote before whom")
def write_write(derived: DerivedTables) -> DataFrame:
    """An edge from each committed transaction to the next one in the log of a key, with its first proof."""
    pairs = write_pairs(derived).where(F.col("before.txn") != F.col("txn"))
    proof = F.struct("key", "offset", F.col("before.step").alias("first"), F.col("step").alias("second"))
    edges = pairs.groupBy("run", F.col("before.txn").alias("start"), F.col("txn").alias("end"))
    return _edges(edges.agg(F.min(proof).alias("proof")), WRITE_WRITE)


@once("readers")
def readers(derived: DerivedTables) -> DataFrame:
    """The transaction that each read belongs to: the one open in its process, else the next that begins there.

    The reads that have one: run, process, isolation_level, index, step, `reader`, and of its record `writer` (null
    unless committed) and `written`, its step.
    """
    committed = derived.records.where(F.col("txn").isNotNull() & (F.col("outcome") == COMMITTED)).select("run", "txn")
    mine = derived.transactions.where(F.col("process") != "").join(committed, ["run", "txn"], "left_semi")
    end = F.when(F.col("end_step") >= 0, F.col("end_step")).otherwise(F.lit(NEVER))
    mine = mine.select(
        "run", "process", F.col("txn").alias("reader"), (-end).alias("_end"), (-F.col("first")).alias("_rank")
    )
    by = ("run", "process")
    reads = derived.seen.join(F.broadcast(mine.select(*by).distinct()), list(by), "left_semi")
    writer = F.when(F.col("record.outcome") == COMMITTED, F.col("record.txn")).alias("writer")
    kept = (*by, "isolation_level", "index", "step")
    reads = reads.select(*kept, writer, F.col("record.step").alias("written"), (-F.col("step")).alias("_time"))
    found = last_before(reads, mine, by, F.col("_time"), F.col("_end"), "of", inclusive=True, order="_rank")
    return found.where(F.col("of").isNotNull()).withColumn("reader", F.col("of.reader")).drop("of", "_time")


def write_read(derived: DerivedTables, isolation_level: str = "") -> DataFrame:
    """An edge from the transaction that wrote a value to the one that read it, with its first proof."""
    name = f"who read from whom {isolation_level}".strip()
    return derived.once(name, lambda: _write_read(derived, isolation_level))


def _write_read(derived: DerivedTables, isolation_level: str) -> DataFrame:
    reads = readers(derived).where(F.col("writer") != F.col("reader"))
    if isolation_level:
        reads = reads.where(F.col("isolation_level") == isolation_level)
    proof = F.struct("step", "index", F.col("written").alias("first"), F.col("step").alias("second"))
    edges = reads.groupBy("run", F.col("writer").alias("start"), F.col("reader").alias("end"))
    return _edges(edges.agg(F.min(proof).alias("proof")), READ_COMMITTED if isolation_level else WRITE_READ)


def _edges(proved: DataFrame, kind: str) -> DataFrame:
    return proved.select("run", "start", "end", F.lit(kind).alias("kind"), "proof.first", "proof.second")
