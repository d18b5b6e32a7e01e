"""lost-write: an acknowledged, committed value that nobody polled although some poll of its key came past it."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from kafkalab.checks.lost_write import CHECK
from kafkalab.spark.audits.asof import last_before
from kafkalab.spark.audits.check import Audit, audit_of, counted, shown
from kafkalab.spark.audits.view import FINAL, View
from kafkalab.spark.audits.walks import passed_over


def committed(view: View, sends: DataFrame) -> DataFrame:
    """Those of these sends that were acknowledged and are of no transaction, or of one that committed.

    The log decides where it holds the record at the place that the client was told, else what the client was told.
    """
    there = view.links.where(F.col("removed") != "truncated").select("run", "index", "key", "offset").distinct()
    outcome = view.records.select("run", "key", "offset", F.col("outcome").alias("_outcome"))
    there = there.join(outcome, ["run", "key", "offset"])
    told = view.transactions.where("told_committed").select(
        "run", "client", F.col("number").alias("transaction"), F.lit(True).alias("_told")
    )
    found = sends.join(there, ["run", "index", "key", "offset"], "left").join(
        told, ["run", "client", "transaction"], "left"
    )
    by_client = (F.col("transaction") < 1) | F.coalesce("_told", F.lit(False))
    final = F.when(F.col("_outcome").isNotNull(), F.col("_outcome").isin(*FINAL)).otherwise(by_client)
    return found.where(final).drop("_outcome", "_told")


def _told(view: View) -> DataFrame:
    """The committed sends with an offset, on keys that somebody read."""
    passed = view.passages.select("run", "key").distinct()
    asked = view.sends.where(F.col("offset") >= 0).join(F.broadcast(passed), ["run", "key"], "left_semi")
    return view.once("acknowledged", lambda: committed(view, asked))


def find(audit: Audit, view: View) -> DataFrame:
    """A poll that began behind the offset, by seek or by committed offset, has not come past it."""
    given = view.histories.reads.select("run", "key", "offset", "value").alias("g")
    asked = _told(view).alias("s")
    same = F.col("s.value").eqNullSafe(F.col("g.value"))
    for name in ("run", "key", "offset"):
        same = same & (F.col(f"s.{name}") == F.col(f"g.{name}"))
    missing = asked.join(given, same, "left_anti")
    missing = passed_over(missing, view.passages, "offset")
    gone = (
        view.links.where(F.col("removed") != "")
        .groupBy("run", "index")
        .agg(
            F.collect_list("removed_step").alias("gone"),
            F.max(F.col("removed").isin("compacted", "deleted")).alias("cleaned"),
        )
    )
    missing = missing.join(gone, ["run", "index"], "left").where(~F.coalesce("cleaned", F.lit(False)))
    text = F.concat(
        shown(F.col("value")), F.lit(" was acknowledged at offset "), "offset", F.lit(" of "), "key",
        F.lit("; a poll came past it, nobody was given it"),
    )  # fmt: skip
    steps = F.concat(F.array("step", "end_step", "passed_step"), F.coalesce("gone", F.array().cast("array<bigint>")))
    found = audit.found(missing, text, steps, [F.col("key")], [F.col("offset")])
    return found.unionByName(_never_written(audit, view))


def _never_written(audit: Audit, view: View) -> DataFrame:
    """A leader that knows a batch but not its offset (DUPLICATE_SEQUENCE_NUMBER) vouches for it all the same."""
    asked = view.sends.where((F.col("end_type") == "ok") & (F.col("offset") < 0) & (F.col("producer_id") >= 0))
    asked = asked.join(view.links.select("run", "index").distinct(), ["run", "index"], "left_anti")
    log = view.records.select("run", "key", "offset", "step")
    log = log.join(F.broadcast(asked.select("run", "key").distinct()), ["run", "key"], "left_semi")
    earlier = log.groupBy("run", "key", "step").agg(F.max("offset").alias("offset"))
    so_far = Window.partitionBy("run", "key").orderBy("step").rowsBetween(Window.unboundedPreceding, 0)
    earlier = earlier.withColumn("highest", F.max("offset").over(so_far))
    asked = last_before(asked, earlier, ("run", "key"), F.col("step"), F.col("step"), "log")
    asked = asked.withColumn("_place", F.coalesce(F.col("log.highest"), F.lit(-1)) + 1).drop("log")
    past = passed_over(asked, view.passages, "_place")
    lost = committed(view, past.where(F.col("passed_step") > F.col("end_step")))
    text = F.concat(
        shown(F.col("value")),
        F.lit(" was acknowledged on "),
        "key",
        F.lit(", but no log ever held it; a poll came past"),
    )
    return audit.found(lost, text, [F.col("step"), F.col("end_step"), F.col("passed_step")], [F.col("key")])


def count(view: View) -> DataFrame:
    """The committed sends on keys that somebody read."""
    return counted(_told(view))


AUDIT = audit_of(CHECK, find, count)
