"""G1a, aborted read: a read_committed poll returns a value whose transaction definitely aborted."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from kafkalab.checks.g1a import CHECK
from kafkalab.checks.view import ABORTED
from kafkalab.spark.audits.check import Audit, audit_of, counted, shown
from kafkalab.spark.audits.view import View


def find(audit: Audit, view: View) -> DataFrame:
    """A transaction aborted if its ABORT marker says so, or if its client was told so and never asked for more."""
    reads = view.seen.where((F.col("isolation_level") == "read_committed") & (F.col("record.outcome") != ""))
    marked = F.col("record.outcome") == ABORTED
    told = view.transactions.where(F.col("told_aborted") & ~F.col("maybe_committed"))
    told = told.select("run", F.col("txn").alias("told"), F.col("last_end"))
    aborted = reads.withColumn("_txn", F.col("record.txn"))
    aborted = aborted.join(told, (aborted["run"] == told["run"]) & (aborted["_txn"] == told["told"]), "left").drop(
        told["run"]
    )
    aborted = aborted.where(marked | F.col("told").isNotNull())
    why = F.when(marked, "which an ABORT marker ended").otherwise(
        F.concat(F.lit("which "), "record.client", F.lit(" aborted"))
    )
    step = F.when(marked, F.col("record.marker.step")).otherwise(F.col("last_end"))
    text = F.concat(
        "consumer", F.lit(" was given "), shown(F.col("value")), F.lit(" of "), "key", F.lit(" at offset "), "offset",
        F.lit(", "), why,
    )  # fmt: skip
    steps = [F.col("record.step"), F.col("step"), step]
    return audit.found(aborted, text, steps, [F.col("key")], [F.col("offset")])


def count(view: View) -> DataFrame:
    """The reads under read_committed."""
    return counted(view.histories.reads.where(F.col("isolation_level") == "read_committed"))


AUDIT = audit_of(CHECK, find, count)
