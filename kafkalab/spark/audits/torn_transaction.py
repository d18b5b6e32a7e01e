"""torn transaction: of one transaction some records took effect and others did not, or joined another transaction."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from kafkalab.checks.torn_transaction import torn_transaction
from kafkalab.checks.view import OPEN
from kafkalab.spark.audits.check import Audit, counted, findings_of, sentence
from kafkalab.spark.audits.derived_tables import DerivedTables, once


@once("decided records")
def _decided(derived: DerivedTables) -> DataFrame:
    """The records of transactions that a marker ended, with the decision that the marker carries out."""
    records = derived.records.where(F.col("txn").isNotNull() & (F.col("outcome") != OPEN))
    marks = derived.decided.select("run", "key", F.col("offset").alias("_marker"), "decision")
    kept = records.select(
        "run", "key", "offset", "step", "txn", "client", "ordinal", "marker", F.col("marker.offset").alias("_marker")
    )
    return kept.join(marks, ["run", "key", "_marker"], "left")


def find(derived: DerivedTables) -> DataFrame:
    """Records that are still undecided do not count: a marker that is late is no tear."""
    decided = _decided(derived)
    records = decided.join(derived.once("torn transactions", lambda: _torn(derived)), ["run", "txn"])
    one = F.struct("ordinal", "key", "offset", "step", "marker")
    found = records.groupBy("run", "txn").agg(F.array_sort(F.collect_list(one)).alias("all"))
    part = "{key} {control} at offset {offset}"
    parts = F.transform(
        "all", lambda r: sentence(part, key=r["key"], **{n: r["marker"][n] for n in ("control", "offset")})
    )
    text = sentence("{txn} ended in more than one way: {ways}", ways=F.array_join(F.array_distinct(parts), ", "))
    steps = F.concat("all.step", "all.marker.step")
    torn = findings_of(torn_transaction, found, text, steps, F.col("all.key"), F.col("all.offset"))
    return torn.unionByName(_joined(derived))


def _torn(derived: DerivedTables) -> DataFrame:
    """The transactions whose records ended in more than one way; a way, decision and outcome, is one number."""
    committed = F.when(F.col("marker.control") == "COMMIT", 1).otherwise(0)
    ending = 2 * F.coalesce(F.col("decision.step"), F.lit(-1)) + committed
    each = _decided(derived).groupBy("run", "txn").agg(F.min(ending).alias("first"), F.max(ending).alias("last"))
    return each.where(F.col("first") != F.col("last")).select("run", "txn")


def _shared(derived: DerivedTables) -> DataFrame:
    """The decisions to commit that ended more than one transaction of clients: run, decision."""
    each = _by_one_decision(derived).select("run", "decision", "txn").distinct()
    many = each.groupBy("run", "decision").agg(F.count(F.lit(1)).alias("n"))
    return many.where("n > 1").drop("n")


def _by_one_decision(derived: DerivedTables) -> DataFrame:
    committed = (F.col("marker.control") == "COMMIT") & F.col("decision").isNotNull()
    return _decided(derived).where((F.col("client") != "") & committed)


def _joined(derived: DerivedTables) -> DataFrame:
    """Two transactions of clients with one COMMIT between them: the one took effect because the other did."""
    shared = derived.once("shared decisions", lambda: _shared(derived))
    several = _by_one_decision(derived).join(shared, ["run", "decision"])
    one = several.groupBy("run", "decision", "txn").agg(
        F.min(F.struct("ordinal", "key", "offset", "step")).alias("record")
    )
    one = one.join(derived.transactions.select("run", "txn", "first"), ["run", "txn"])
    all_of = F.array_sort(F.collect_list(F.struct("first", "txn", "record")))
    found = one.groupBy("run", "decision").agg(all_of.alias("all"))
    text = sentence("{both} were committed by one decision", both=F.array_join(F.col("all.txn"), " and "))
    steps = F.concat(F.array("decision.step"), "all.record.step")
    return findings_of(torn_transaction, found, text, steps, F.col("all.record.key"), F.col("all.record.offset"))


def count(derived: DerivedTables) -> DataFrame:
    """The transactions of which any record was decided."""
    ended = derived.records.where(F.col("txn").isNotNull() & (F.col("outcome") != OPEN))
    return counted(ended.select("run", "txn").distinct())


AUDIT = Audit(torn_transaction, find, count)
