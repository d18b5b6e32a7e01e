"""All transactions of many runs: when each began and ended, and what its client was told (checks/transactions.py)."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F


def transactions(operations: DataFrame, records: DataFrame) -> DataFrame:
    """Return one row for each transaction of a client, and for each of records without one.

    Columns: run, txn, process, client, number, first (index of its first operation), end_step, told_aborted,
    told_committed, maybe_committed, last_end (step of the last answer to commit or abort).
    """
    found = _of_clients(operations).withColumn("txn", F.concat("client", F.lit(", transaction "), "number"))
    others = records.where((F.col("client") == "") & F.col("txn").isNotNull()).select("run", "txn", "client", "number")
    others = others.distinct().withColumn("process", F.lit("")).withColumn("end_step", F.lit(-1).cast("bigint"))
    for flag in ("told_aborted", "told_committed", "maybe_committed"):
        others = others.withColumn(flag, F.lit(False))
    return found.unionByName(others, allowMissingColumns=True)


def _of_clients(operations: DataFrame) -> DataFrame:
    """Everything that operations say of transactions; of numbers first, since those are what Spark adds up quickly."""
    ends = F.col("function").isin("commit", "abort")
    asked = ends & (F.col("type") == "invoke")
    answered = ends & (F.col("type") != "invoke")

    def told(function: str, *types: str) -> Column:
        this = (F.col("function") == function) & F.col("type").isin(*types)
        return F.coalesce(F.max(answered & this), F.lit(False))

    def newest(chosen: Column) -> tuple[Column, Column]:
        index = F.when(chosen, F.col("index"))
        return F.max(index), F.max_by(F.when(chosen, F.col("step")), index)

    asked_at, end_step = newest(asked)
    answered_at, last_end = newest(answered)
    number = F.col("transaction").alias("number")
    flags = ("told_aborted", "told_committed", "maybe_committed")
    by_process = operations.where(F.col("transaction") >= 1).groupBy("run", "client", "process", number)
    each = by_process.agg(
        F.min("index").alias("first"),
        asked_at.alias("asked_at"),
        end_step.alias("end_step"),
        told("abort", "ok").alias("told_aborted"),
        told("commit", "ok").alias("told_committed"),
        told("commit", "ok", "info").alias("maybe_committed"),
        answered_at.alias("answered_at"),
        last_end.alias("last_end"),
    )
    return each.groupBy("run", "client", "number").agg(
        F.min_by("process", "first").alias("process"),
        F.min("first").alias("first"),
        F.coalesce(F.max_by("end_step", "asked_at"), F.lit(-1)).alias("end_step"),
        *(F.max(flag).alias(flag) for flag in flags),
        F.max_by("last_end", "answered_at").alias("last_end"),
    )
