"""hanging transaction: open on a partition, and no coordinator will ever end it; the last stable offset stays."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from kafkalab.broker.transaction_coordinator.metadata import TWO_PHASE_TIMEOUT_MS
from kafkalab.checks.hanging_transaction import CHECK, LONGEST_MS, OVERDUE_MS
from kafkalab.checks.view import OPEN
from kafkalab.spark.audits.check import Audit, counted, findings_of
from kafkalab.spark.audits.derived_tables import DerivedTables

GROUP = ("run", "key", "producer_id")


def find(derived: DerivedTables) -> DataFrame:
    """Not hanging: one that its coordinator knows on this key, and that is decided or not overdue."""
    newest = derived.entries.groupBy("run", "producer_id").agg(
        F.max(F.struct("n", "state", "partitions", "timeout_ms", "start_ms", "step")).alias("entry")
    )
    first = (
        derived.records.where(F.col("outcome") == OPEN)
        .groupBy(*GROUP)
        .agg(F.min(F.struct("offset", "step")).alias("record"))
    )
    groups = first.join(newest, ["run", "producer_id"], "left").join(F.broadcast(derived.end_ms), "run")
    here = F.array_contains("entry.partitions", F.col("key"))
    endless = F.col("entry.timeout_ms") == TWO_PHASE_TIMEOUT_MS
    open_ms = F.col("end_ms") - F.col("entry.start_ms")
    overdue = open_ms - F.col("entry.timeout_ms")
    waits = F.concat(F.lit("it never times out, and has been open for "), open_ms, F.lit(" ms"))
    late = F.concat(F.lit("it timed out "), overdue, F.lit(" ms ago, and nothing aborts it"))
    why = (
        F.when(F.col("entry").isNull(), "no coordinator knows the producer")
        .when(
            F.col("entry.state").isin("PrepareCommit", "PrepareAbort"),
            F.when(~here, "it is not among the partitions of the decision"),
        )
        .when(F.col("entry.state") != "Ongoing", F.concat(F.lit("its coordinator is in "), "entry.state"))
        .when(~here, "its coordinator does not know of the partition")
        .when(endless, F.when(open_ms > LONGEST_MS, waits))
        .when(overdue > OVERDUE_MS, late)
    )
    hanging = groups.withColumn("why", why).where(F.col("why").isNotNull())
    text = F.concat(
        "key", F.lit(" has an open transaction of producer "), "producer_id", F.lit(" from offset "), "record.offset",
        F.lit(" on: "), "why",
    )  # fmt: skip
    steps = [F.col("record.step"), F.coalesce(F.col("entry.step"), F.lit(-1))]
    return findings_of(CHECK, hanging, text, steps, [F.col("key")], [F.col("record.offset")])


def count(derived: DerivedTables) -> DataFrame:
    """The keys and producer ids that have transactional records."""
    return counted(derived.records.where("transactional").select(*GROUP).distinct())


AUDIT = Audit(CHECK, find, count)
