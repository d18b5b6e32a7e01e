"""How many comparisons the audits of the order of polls make: between polls, and inside them."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from kafkalab.spark.audits.view import View
from kafkalab.spark.audits.walks import EACH


def between(view: View) -> DataFrame:
    """How many times a poll of a consumer and key followed another."""
    each = view.stretches.groupBy(*EACH).agg((F.count(F.lit(1)) - 1).alias("_n"))
    return each.groupBy("run").agg(F.sum("_n").alias("examined"))


def inside(view: View) -> DataFrame:
    """How many times a record followed another in a poll."""
    return view.stretches.groupBy("run").agg(F.sum(F.greatest(F.col("reads") - 1, F.lit(0))).alias("examined"))
