"""precommitted-read: a transaction polls a value that it wrote itself, before it committed."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from kafkalab.checks.check import ALLOWED, FORBIDDEN
from kafkalab.checks.precommitted_read import CHECK
from kafkalab.spark.audits.check import Audit, audit_of, counted, shown
from kafkalab.spark.audits.view import View


def find(audit: Audit, view: View) -> DataFrame:
    """Reads by a process that also writes transactions, against what its own transactions had not ended yet."""
    own = view.transactions.select("run", F.col("txn").alias("own"), "process", "end_step")
    writers = F.broadcast(own.select("run", "process").distinct())
    reads = view.seen.where(F.col("record.txn").isNotNull()).withColumn("own", F.col("record.txn"))
    reads = reads.join(writers, ["run", "process"], "left_semi")
    early = reads.join(own, ["run", "own", "process"])
    early = early.where((F.col("end_step") == -1) | (F.col("step") < F.col("end_step")))
    text = F.concat(
        "consumer", F.lit(" polled "), shown(F.col("value")), F.lit(", which "), "own",
        F.lit(" of the same process had not committed"),
    )  # fmt: skip
    policy = F.when(F.col("isolation_level") == "read_committed", FORBIDDEN).otherwise(ALLOWED)
    steps = [F.col("record.step"), F.col("step"), F.col("end_step")]
    return audit.found(early, text, steps, [F.col("key")], [F.col("offset")], policy)


def count(view: View) -> DataFrame:
    """The reads of processes that write transactions."""
    writers = F.broadcast(view.transactions.select("run", "process").distinct())
    return counted(view.histories.reads.join(writers, ["run", "process"], "left_semi"))


AUDIT = audit_of(CHECK, find, count)
