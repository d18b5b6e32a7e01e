"""duplicate: one value at more than one offset of a key."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from kafkalab.checks.check import ALLOWED, FORBIDDEN
from kafkalab.checks.duplicate import CHECK
from kafkalab.spark.audits.check import Audit, audit_of, counted, shown
from kafkalab.spark.audits.view import View


def find(audit: Audit, view: View) -> DataFrame:
    """Forbidden where one producer id holds more copies than its application sent; else the application's resend."""
    value = ["run", "key", "value"]
    data = view.data.where(F.col("value").isNotNull()).select(*value, "offset", "step", "producer_id")
    twice = data.groupBy(*value).agg(F.count(F.lit(1)).alias("copies")).where("copies > 1").drop("copies")
    return judged(audit, data.join(twice, value), view)


def judged(audit: Audit, copies: DataFrame, view: View) -> DataFrame:
    """The findings, given all records of values that lie more than once: run, key, value, offset, step, producer_id."""
    value = ["run", "key", "value"]
    twice = copies.select(*value).distinct()
    sent = view.sends.select(*value, "producer_id").join(twice, value, "left_semi")
    sent = sent.groupBy(*value, "producer_id").agg(F.count(F.lit(1)).alias("sent"))
    each = copies.groupBy(*value, "producer_id").agg(F.collect_list(F.struct("offset", "step")).alias("places"))
    each = each.join(sent, [*value, "producer_id"], "left")
    too_many = (F.col("producer_id") >= 0) & (F.size("places") > F.coalesce("sent", F.lit(1)))
    found = each.groupBy(*value).agg(
        F.array_sort(F.flatten(F.collect_list("places"))).alias("places"), F.max(too_many).alias("too_many")
    )
    policy = F.when(F.col("too_many"), FORBIDDEN).otherwise(ALLOWED)
    why = F.when(F.col("too_many"), ", though it was sent once").otherwise(": sent again, or without idempotence")
    offsets = F.array_join(F.col("places.offset").cast("array<string>"), ", ")
    text = F.concat(shown(F.col("value")), F.lit(" lies at the offsets "), offsets, F.lit(" of "), "key", why)
    return audit.found(found, text, F.col("places.step"), [F.col("key")], F.col("places.offset"), policy)


def count(view: View) -> DataFrame:
    """The records of topics that are not internal."""
    return counted(view.data)


AUDIT = audit_of(CHECK, find, count)
