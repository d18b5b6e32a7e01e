"""partial visibility: between two markers of one committed transaction a reader sees one part and not yet the other.

Allowed: Kafka promises an atomic outcome, not a snapshot.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from kafkalab.checks.partial_visibility import partial_visibility
from kafkalab.checks.view import COMMITTED
from kafkalab.spark.audits.check import Audit, counted, findings_of, sentence
from kafkalab.spark.audits.derived_tables import DerivedTables


def _reads(derived: DerivedTables) -> DataFrame:
    """What read_committed readers were given of committed transactions."""
    committed = (F.col("isolation_level") == "read_committed") & (F.col("record.outcome") == COMMITTED)
    return derived.seen.where(committed & F.col("record.txn").isNotNull()).withColumn("txn", F.col("record.txn"))


def _committed(derived: DerivedTables) -> DataFrame:
    return derived.records.where(F.col("txn").isNotNull() & (F.col("outcome") == COMMITTED))


def _seen_early(derived: DerivedTables) -> DataFrame:
    """The transactions of which something was read before the last of their markers was there: run, txn."""
    last = _committed(derived).groupBy("run", "txn").agg(F.max("marker.step").alias("_last"))
    early = _reads(derived).join(last, ["run", "txn"]).where(F.col("step") < F.col("_last"))
    return early.select("run", "txn").distinct()


def _subscribed(derived: DerivedTables) -> DataFrame:
    """Which consumers polled or read which keys."""
    columns = ("run", "consumer", F.col("key").alias("other"))
    polled, read = derived.histories.polls.select(*columns), derived.histories.reads.select(*columns)
    return polled.distinct().unionByName(read.distinct()).distinct()


def find(derived: DerivedTables) -> DataFrame:
    """One finding for each consumer and transaction: the consumer reads both keys, one of them too early."""
    few = derived.once("seen early", lambda: _seen_early(derived))
    parts = (
        _committed(derived)
        .join(few, ["run", "txn"])
        .groupBy("run", "txn", F.col("key").alias("other"))
        .agg(F.min("ordinal").alias("place"), F.max_by("marker.step", "ordinal").alias("late"))
    )
    last = parts.groupBy("run", "txn").agg(F.max("late").alias("_last"))
    early = _reads(derived).join(few, ["run", "txn"]).join(last, ["run", "txn"]).where(F.col("step") < F.col("_last"))
    pairs = early.join(parts, ["run", "txn"]).join(_subscribed(derived), ["run", "consumer", "other"], "left_semi")
    pairs = pairs.where((F.col("other") != F.col("key")) & (F.col("late") > F.col("step")))
    order = Window.partitionBy("run", "consumer", "txn").orderBy("step", "index", "place")
    first = pairs.withColumn("_n", F.row_number().over(order)).where("_n = 1")
    text = sentence("{consumer} saw {key} of {txn} before {other} had its marker")
    return findings_of(partial_visibility, first, text, ["record.marker.step", "step", "late"], ["key", "other"])


def count(derived: DerivedTables) -> DataFrame:
    """The reads of committed transactions under read_committed."""
    return counted(_reads(derived))


AUDIT = Audit(partial_visibility, find, count)
