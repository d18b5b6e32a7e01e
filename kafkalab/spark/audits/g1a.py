"""G1a, aborted read: a read_committed poll returns a value whose transaction definitely aborted."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from kafkalab.checks.g1a import CHECK
from kafkalab.checks.view import ABORTED
from kafkalab.spark.audits.check import Audit, audit_of, counted, shown
from kafkalab.spark.audits.view import View


def find(audit: Audit, view: View) -> DataFrame:
    """A transaction aborted if its ABORT marker says so, or if its client was told so and never asked for more."""
    marked = _reads(view).where(F.col("record.outcome") == ABORTED)
    why = F.lit("which an ABORT marker ended")
    return _found(audit, marked, why, F.col("record.marker.step")).unionByName(only_told(audit, view))


def only_told(audit: Audit, view: View) -> DataFrame:
    """Those of which only the client's operations say that they aborted."""
    reads = _reads(view).where(F.col("record.outcome") != ABORTED).withColumn("txn", F.col("record.txn"))
    told = view.transactions.where(F.col("told_aborted") & ~F.col("maybe_committed"))
    aborted = reads.join(told.select("run", "txn", "last_end"), ["run", "txn"])
    return _found(audit, aborted, F.concat(F.lit("which "), "record.client", F.lit(" aborted")), F.col("last_end"))


def _reads(view: View) -> DataFrame:
    return view.seen.where((F.col("isolation_level") == "read_committed") & (F.col("record.outcome") != ""))


def _found(audit: Audit, aborted: DataFrame, why: Column, step: Column) -> DataFrame:
    text = F.concat(
        "consumer", F.lit(" was given "), shown(F.col("value")), F.lit(" of "), "key", F.lit(" at offset "), "offset",
        F.lit(", "), why,
    )  # fmt: skip
    return audit.found(aborted, text, [F.col("record.step"), F.col("step"), step], [F.col("key")], [F.col("offset")])


def count(view: View) -> DataFrame:
    """The reads under read_committed."""
    return counted(view.histories.reads.where(F.col("isolation_level") == "read_committed"))


AUDIT = audit_of(CHECK, find, count)
