"""hanging transaction: open on a partition, and no coordinator will ever end it; the last stable offset stays."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from kafkalab.broker.transaction_coordinator.metadata import TWO_PHASE_TIMEOUT_MS
from kafkalab.checks.hanging_transaction import LONGEST_MS, OVERDUE_MS, hanging_transaction
from kafkalab.checks.view import OPEN
from kafkalab.spark.audits.check import Audit, counted, findings_of, sentence
from kafkalab.spark.audits.derived_tables import DerivedTables

GROUP = ("run", "key", "producer_id")


def find(derived: DerivedTables) -> DataFrame:
    """Not hanging: one that its coordinator knows on this key, and that is decided or not overdue.

    Hanging, too: records that are still there although compaction has removed the marker that ended them.
    """
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
    waits = sentence("it never times out, and has been open for {open_ms} ms", open_ms=open_ms)
    late = sentence("it timed out {overdue} ms ago, and nothing aborts it", overdue=overdue)
    why = (
        F.when(F.col("entry").isNull(), "no coordinator knows the producer")
        .when(
            F.col("entry.state").isin("PrepareCommit", "PrepareAbort"),
            F.when(~here, "it is not among the partitions of the decision"),
        )
        .when(F.col("entry.state") != "Ongoing", sentence("its coordinator is in {entry.state}"))
        .when(~here, "its coordinator does not know of the partition")
        .when(endless, F.when(open_ms > LONGEST_MS, waits))
        .when(overdue > OVERDUE_MS, late)
    )
    hanging = groups.withColumn("why", why).where(F.col("why").isNotNull())
    text = sentence("{key} has an open transaction of producer {producer_id} from offset {record.offset} on: {why}")
    steps = [F.col("record.step"), F.coalesce(F.col("entry.step"), F.lit(-1))]
    open_ = findings_of(hanging_transaction, hanging, text, steps, ["key"], ["record.offset"])
    return open_.unionByName(_without_marker(derived))


def _without_marker(derived: DerivedTables) -> DataFrame:
    """Return a finding for each key and marker that was compacted away before all the records that it ended."""
    gone = derived.histories.log.where((F.col("control") != "") & (F.col("removed") == "compacted"))
    gone = gone.select("run", "key", F.col("offset").alias("_marker"), "removed_step")
    there = derived.records.where(F.col("marker").isNotNull() & (F.col("removed") == ""))
    there = there.select("run", "key", F.col("marker.offset").alias("_marker"), "offset", "step", "producer_id")
    first = there.join(gone, ["run", "key", "_marker"]).groupBy("run", "key", "_marker")
    one = first.agg(F.min(F.struct("offset", "step", "producer_id", "removed_step")).alias("record"))
    text = sentence(
        "{key} has an open transaction of producer {record.producer_id} from offset {record.offset} on: "
        "compaction removed its marker at offset {_marker}"
    )
    steps = ["record.step", "record.removed_step"]
    return findings_of(hanging_transaction, one, text, steps, ["key"], ["record.offset"])


def count(derived: DerivedTables) -> DataFrame:
    """The keys and producer ids that have transactional records."""
    return counted(derived.records.where("transactional").select(*GROUP).distinct())


AUDIT = Audit(hanging_transaction, find, count)
