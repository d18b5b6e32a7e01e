"""int-send-skip: a foreign record lands between two sends of one transaction. Always allowed."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from kafkalab.checks.int_send_skip import CHECK
from kafkalab.spark.audits.check import Audit, audit_of, counted
from kafkalab.spark.audits.view import View


def _pairs(view: View) -> DataFrame:
    """Each record of a transaction with `before`: the one of the same transaction before it on the key."""
    place = F.row_number().over(Window.partitionBy("run", "key").orderBy("offset"))
    order = Window.partitionBy("run", "key", "txn").orderBy("offset")
    records = view.data.select("run", "key", "offset", "step", "txn").withColumn("place", place)
    pairs = records.where(F.col("txn").isNotNull())
    pairs = pairs.withColumn("before", F.lag(F.struct("place", "offset", "step")).over(order))
    return pairs.where(F.col("before").isNotNull())


def find(audit: Audit, view: View) -> DataFrame:
    """One finding for each pair of neighbours in a transaction that has something of another one in between."""
    apart = _pairs(view).where(F.col("before.place") + 1 < F.col("place"))
    text = F.concat(
        F.lit("others lie between "), "before.offset", F.lit(" and "), "offset", F.lit(" of "), "key",
        F.lit(", both of "), "txn",
    )  # fmt: skip
    steps, offsets = [F.col("before.step"), F.col("step")], [F.col("before.offset"), F.col("offset")]
    return audit.found(apart, text, steps, [F.col("key")], offsets)


def count(view: View) -> DataFrame:
    """The pairs of neighbours."""
    return counted(_pairs(view))


AUDIT = audit_of(CHECK, find, count)
