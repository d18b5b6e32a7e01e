"""precommitted-read: a transaction polls a value that it wrote itself, before it committed."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from kafkalab.checks.check import ALLOWED, FORBIDDEN
from kafkalab.checks.precommitted_read import precommitted_read
from kafkalab.spark.audits.check import Audit, counted, findings_of, sentence, shown
from kafkalab.spark.audits.derived_tables import DerivedTables


def find(derived: DerivedTables) -> DataFrame:
    """Reads by a process that also writes transactions, against what its own transactions had not ended yet."""
    own = derived.transactions.select("run", F.col("txn").alias("own"), "process", "end_step")
    writers = F.broadcast(own.select("run", "process").distinct())
    reads = derived.seen.where(F.col("record.txn").isNotNull()).withColumn("own", F.col("record.txn"))
    reads = reads.join(writers, ["run", "process"], "left_semi")
    early = reads.join(own, ["run", "own", "process"])
    early = early.where((F.col("end_step") == -1) | (F.col("step") < F.col("end_step")))
    text = "{consumer} polled {value}, which {own} of the same process had not committed"
    policy = F.when(F.col("isolation_level") == "read_committed", FORBIDDEN).otherwise(ALLOWED)
    said = sentence(text, value=shown(F.col("value")))
    return findings_of(precommitted_read, early, said, ["record.step", "step", "end_step"], ["key"], ["offset"], policy)


def count(derived: DerivedTables) -> DataFrame:
    """The reads of processes that write transactions."""
    writers = F.broadcast(derived.transactions.select("run", "process").distinct())
    return counted(derived.histories.reads.join(writers, ["run", "process"], "left_semi"))


AUDIT = Audit(precommitted_read, find, count)
