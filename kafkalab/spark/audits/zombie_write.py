"""zombie write: a record of a fenced producer id and epoch is appended after the fencing was complete."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from kafkalab.checks.zombie_write import AT_REST, ROTATED, zombie_write
from kafkalab.spark.audits.asof import last_before
from kafkalab.spark.audits.check import Audit, counted, findings_of, sentence
from kafkalab.spark.audits.derived_tables import DerivedTables


def fences(derived: DerivedTables) -> DataFrame:
    """For each producer id the steps from which on epochs below `epoch` are fenced: run, producer_id, step, fence.

    An entry after which the coordinator goes on with an older producer id or epoch fenced nobody: its append had timed
    out.
    """
    first = F.min("n").over(Window.partitionBy("run", "transactional_id", "producer_id"))
    to_come = Window.partitionBy("run", "transactional_id").orderBy(F.desc("n"))
    to_come = to_come.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    entries = derived.entries.withColumn("identity", F.struct(first.alias("first"), "producer_epoch"))
    entries = entries.withColumn("oldest", F.min("identity").over(to_come))
    counts = F.col("state").isin(*AT_REST) & (F.col("oldest") == F.col("identity"))
    order = Window.partitionBy("run", "transactional_id").orderBy("n")
    counted_ = entries.where(counts).withColumn("before", F.lag("producer_id").over(order))
    own = counted_.select("run", "producer_id", "step", F.col("producer_epoch").cast("long").alias("epoch"))
    rotated = counted_.where(F.col("before") != F.col("producer_id")).select(
        "run", F.col("before").alias("producer_id"), "step", F.lit(ROTATED).cast("long").alias("epoch")
    )
    so_far = Window.partitionBy("run", "producer_id").orderBy("step", "epoch")
    so_far = so_far.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    highest = F.max(F.struct("epoch", (-F.col("step")).alias("rank"))).over(so_far)
    found = own.unionByName(rotated).withColumn("highest", highest)
    return found.select(
        "run", "producer_id", "step", F.struct("highest.epoch", (-F.col("highest.rank")).alias("step")).alias("fence")
    )


def _numbered(derived: DerivedTables) -> DataFrame:
    return derived.records.where(F.col("producer_id") >= 0)


def find(derived: DerivedTables) -> DataFrame:
    """Fenced by the transaction log (a later epoch or producer id is at rest there), or by a later epoch on the key."""
    earlier = Window.partitionBy("run", "key", "producer_id").orderBy("offset")
    earlier = earlier.rowsBetween(Window.unboundedPreceding, -1)
    one = F.struct(F.col("producer_epoch").cast("long").alias("epoch"), (-F.col("offset")).alias("rank"), "step")
    kept = ("run", "key", "producer_id", "producer_epoch", "offset", "step", "control")
    records = _numbered(derived).select(*kept).withColumn("known", F.max(one).over(earlier))
    records = records.where(F.col("control") == "")
    records = last_before(records, fences(derived), ("run", "producer_id"), F.col("step"), F.col("step"), "fenced")
    known = F.struct("known.epoch", "known.step")
    reached = F.greatest(F.when(F.col("known").isNotNull(), known), F.col("fenced.fence"))
    zombies = records.withColumn("reached", reached).where(F.col("producer_epoch") < F.col("reached.epoch"))
    rotated = F.col("reached.epoch") == ROTATED
    what = F.when(rotated, "another producer id").otherwise(sentence("epoch {reached.epoch}"))
    text = "offset {offset} of {key} is of producer {producer_id}, epoch {producer_epoch}; {what} came before"
    return findings_of(zombie_write, zombies, sentence(text, what=what), ["reached.step", "step"], ["key"], ["offset"])


def count(derived: DerivedTables) -> DataFrame:
    """The records that have a producer id."""
    return counted(_numbered(derived).where(F.col("control") == ""))


AUDIT = Audit(zombie_write, find, count)
