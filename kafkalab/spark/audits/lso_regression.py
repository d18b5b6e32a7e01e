"""LSO regression: the last stable offset of a key goes back while its leader stays the same."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from kafkalab.checks.lso_regression import CHECK
from kafkalab.spark.audits.check import Audit, audit_of, counted
from kafkalab.spark.audits.view import View


def find(audit: Audit, view: View) -> DataFrame:
    """Within one leader epoch; a new leader may know less for a moment."""
    order = Window.partitionBy("run", "key", "node", "leader_epoch").orderBy("step")
    marks = view.histories.watermarks.where("leads")
    marks = marks.withColumn("before", F.lag(F.struct("last_stable_offset", "step")).over(order))
    back = marks.where(F.col("last_stable_offset") < F.col("before.last_stable_offset"))
    text = F.concat(
        "key", F.lit(" on "), "node", F.lit(": from "), "before.last_stable_offset", F.lit(" back to "),
        "last_stable_offset",
    )  # fmt: skip
    steps = [F.col("before.step"), F.col("step")]
    return audit.found(back, text, steps, [F.col("key")], [F.col("last_stable_offset")])


def count(view: View) -> DataFrame:
    """The leaders' watermarks."""
    return counted(view.histories.watermarks.where("leads"))


AUDIT = audit_of(CHECK, find, count)
