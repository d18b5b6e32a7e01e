"""inconsistent-offsets: one offset of a key shows two different values, in any sends or polls."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from kafkalab.checks.inconsistent_offsets import CHECK
from kafkalab.spark.audits.check import Audit, audit_of, shown
from kafkalab.spark.audits.view import View

SENT, READ = 0, 1


def _shown(view: View) -> DataFrame:
    """Every value that a client was told or shown for an offset, and when first: sends come before reads."""
    told = view.sends.where(F.col("offset") >= 0)
    sent = told.select("run", "key", "offset", "value", F.struct(F.lit(SENT).alias("why"), "index").alias("order"), F.col("end_step").alias("step"))  # fmt: skip  # noqa: E501
    read = F.struct(F.lit(READ).alias("why"), (F.col("step") * 4096 + F.col("index")).alias("index"))
    reads = view.histories.reads.select("run", "key", "offset", "value", read.alias("order"), "step")
    both = sent.unionByName(reads)
    return both.groupBy("run", "key", "offset", "value").agg(
        F.min("order").alias("order"), F.min_by("step", "order").alias("step")
    )


def find(audit: Audit, view: View) -> DataFrame:
    """Offsets with two values or more."""
    each = F.array_sort(F.collect_list(F.struct("order", "value", "step")))
    one = F.count(F.lit(1)).alias("values")
    split = _shown(view).groupBy("run", "key", "offset").agg(one, each.alias("each")).where("values > 1")
    values = F.array_join(F.transform("each", lambda e: shown(e["value"])), " and ")
    text = F.concat("key", F.lit(" offset "), "offset", F.lit(" shows "), values)
    return audit.found(split, text, F.col("each.step"), [F.col("key")], [F.col("offset")])


def count(view: View) -> DataFrame:
    """The offsets of which any value was told or shown."""
    return _shown(view).groupBy("run").agg(F.countDistinct("key", "offset").alias("examined"))


AUDIT = audit_of(CHECK, find, count)
