"""nonmonotonic-send and int-nonmonotonic-send: a later send of a producer to a key gets an earlier offset."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from kafkalab.checks import nonmonotonic_send as checks
from kafkalab.checks.check import ALLOWED, FORBIDDEN
from kafkalab.spark.audits.check import Audit, audit_of, counted, shown
from kafkalab.spark.audits.view import View


def _pairs(view: View, inside: bool) -> DataFrame:
    """Each send with `before`: the one of the same client, key and producer id that lay furthest until then."""
    told = view.sends.where(F.col("offset") >= 0)
    order = Window.partitionBy("run", "client", "key", "producer_id").orderBy("index")
    order = order.rowsBetween(Window.unboundedPreceding, -1)
    one = F.struct("offset", (-F.col("index")).alias("rank"), "transaction", "value", "step", "end_step")
    pairs = told.withColumn("before", F.max(one).over(order)).where(F.col("before").isNotNull())
    same = (F.col("transaction") >= 1) & (F.col("transaction") == F.col("before.transaction"))
    return pairs.where(same if inside else ~same)


def find(audit: Audit, view: View) -> DataFrame:
    """Sends in the order of their sequences, which is the application's; without idempotence in that of sending."""
    back = _pairs(view, audit.name.startswith("int-")).where(F.col("offset") < F.col("before.offset"))
    text = F.concat(
        "client", F.lit(" sent "), shown(F.col("before.value")), F.lit(", then "), shown(F.col("value")), F.lit(" to "),
        "key", F.lit("; they lie at offsets "), "before.offset", F.lit(" and "), "offset",
    )  # fmt: skip
    policy = F.when(F.col("producer_id") >= 0, FORBIDDEN).otherwise(ALLOWED)
    steps = [F.col(name) for name in ("before.step", "step", "before.end_step", "end_step")]
    offsets = [F.col("before.offset"), F.col("offset")]
    return audit.found(back, text, steps, [F.col("key")], offsets, policy)


BETWEEN = audit_of(checks.BETWEEN, find, lambda view: counted(_pairs(view, False)))
INSIDE = audit_of(checks.INSIDE, find, lambda view: counted(_pairs(view, True)))
