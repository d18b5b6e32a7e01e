"""precommitted-read: a transaction polls a value that it wrote itself, before it committed."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from kafkalab.checks.check import ALLOWED, FORBIDDEN
from kafkalab.checks.precommitted_read import CHECK
from kafkalab.spark.audits.check import Audit, counted, findings_of, shown
from kafkalab.spark.audits.derived_tables import DerivedTables


def find(derived: DerivedTables) -> DataFrame:
    """Reads by a process that also writes transactions, against what its own transactions had not ended yet."""
    own = derived.transactions.select("run", F.col("txn").alias("own"), "process", "end_step")
    writers = F.broadcast(own.select("run", "process").distinct())
    reads = derived.seen.where(F.col("record.txn").isNotNull()).withColumn("own", F.col("record.txn"))
    reads = reads.join(writers, ["run", "process"], "left_semi")
    early = reads.join(own, ["run", "own", "process"])
    early = early.where((F.col("end_step") == -1) | (F.col("step") < F.col("end_step")))
    text = F.concat(
        "consumer", F.lit(" polled "), shown(F.col("value")), F.lit(", which "), "own",
        F.lit(" of the same process had not committed"),
    )  # fmt: skip
    policy = F.when(F.col("isolation_level") == "read_committed", FORBIDDEN).otherwise(ALLOWED)
    steps = [F.col("record.step"), F.col("step"), F.col("end_step")]
    return findings_of(CHECK, early, text, steps, [F.col("key")], [F.col("offset")], policy)


def count(derived: DerivedTables) -> DataFrame:
    """The reads of processes that write transactions."""
    writers = F.broadcast(derived.transactions.select("run", "process").distinct())
    return counted(derived.histories.reads.join(writers, ["run", "process"], "left_semi"))


AUDIT = Audit(CHECK, find, count)
