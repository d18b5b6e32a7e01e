"""sequence gap, reorder: the accepted sequences of a producer id, epoch and key do not follow each other."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from kafkalab.checks.sequence_gap import CHECK, EXPIRATION, IMPLICIT_ADD
from kafkalab.log.producer_state.state import EXPIRATION_MS
from kafkalab.protocol.partitions import OFFSETS_TOPIC
from kafkalab.spark.audits.check import Audit, audit_of, counted
from kafkalab.spark.audits.view import View


def walked(log: DataFrame) -> DataFrame:
    """Each record with `before` (the one its sequence goes on from), `holes`, and `first_offset` of its key.

    `holes` counts the offsets before it of which the history says nothing.
    """
    place = Window.partitionBy("run", "key").orderBy("offset")
    holes = F.col("offset") - F.col("first_offset") - (F.row_number().over(place) - 1)
    found = log.withColumn("first_offset", F.first("offset").over(place)).withColumn("holes", holes)
    found = found.where(F.col("producer_id") >= 0)
    order = Window.partitionBy("run", "key", "producer_id").orderBy("offset")
    epoch_before = F.lag("producer_epoch").over(order)
    found = found.withColumn(
        "_counts", (F.col("control") == "") | epoch_before.isNull() | (epoch_before != F.col("producer_epoch"))
    )
    one = F.struct(
        "offset", "step", "sequence", "producer_epoch", "control", "transactional", "removed", "at_ms", "holes"
    )
    before = F.last(F.when(F.col("_counts"), one), ignorenulls=True)
    before = before.over(order.rowsBetween(Window.unboundedPreceding, -1))
    return found.withColumn("before", before).where(F.col("control") == "").drop("_counts")


def _records(view: View) -> DataFrame:
    kept = ("run", "key", "offset", "step", "at_ms", "producer_id", "producer_epoch", "sequence", "control")
    log = view.histories.log.where((F.col("removed") != "truncated") & ~F.col("key").rlike(f"^{OFFSETS_TOPIC}-[^-]*$"))
    return log.select(*kept, "transactional", "removed")  # a group coordinator's batches all have sequence 0


def _wrong() -> Column:
    """What is wrong with this sequence after that one; null if nothing is."""
    unknown = F.col("holes") - F.col("before.holes")
    same = (F.col("before.control") == "") & (F.col("before.producer_epoch") == F.col("producer_epoch"))
    stateless = (F.col("before.control") != "") & (F.col("before.sequence") == -1) & (unknown != 0)
    begins = (F.col("sequence") == 0) | stateless | (unknown != 0)
    follows = F.when(F.col("before.sequence") == -1, F.lit(-1).cast("bigint")).otherwise(
        (F.col("before.sequence").cast("bigint") + 1).bitwiseAND(F.lit(0x7FFFFFFF))
    )
    jump = (F.col("sequence").cast("bigint") - follows).bitwiseAND(F.lit(0x7FFFFFFF))
    first = F.concat(F.lit("epoch "), "producer_epoch", F.lit(" begins at sequence "), "sequence")
    after = F.concat(F.lit("sequence "), "sequence", F.lit(" follows "), "before.sequence")
    return (
        F.when(F.col("before").isNull() | (F.col("before.removed") == "deleted"), None)
        .when(~same, F.when(~begins, first))
        .when(jump > unknown, after)
    )


def _version_2(view: View) -> DataFrame:
    """The sends that clients made with Produce 12 or later, in transactions: their sequences begin at 0 in each."""
    sent = view.histories.frames.where((F.col("name") == "Produce") & (F.col("version") >= IMPLICIT_ADD))
    sent = sent.select("run", F.col("sent_step").alias("step")).distinct()
    return view.sends.where(F.col("transactional_id").isNotNull()).join(sent, ["run", "step"], "left_semi")


def begun(view: View, first: DataFrame) -> DataFrame:
    """Those of these places (run, key, offset) that hold the record of a send under transaction version 2."""
    place = ["run", "key", "offset"]
    sent = view.links.join(_version_2(view).select("run", "index"), ["run", "index"], "left_semi")
    return first.join(sent.select(*place).distinct(), place, "left_semi")


def expirations(view: View) -> DataFrame:
    """producer.id.expiration.ms of the runs that say it: run, expiration."""
    config = view.histories.labels.where((F.col("name") == "config") & F.col("value").startswith(EXPIRATION))
    value = F.substring_index("value", "=", -1).cast("bigint")
    return config.groupBy("run").agg(F.max(value).alias("expiration"))


def find(audit: Audit, view: View) -> DataFrame:
    """They count records and wrap; a new epoch begins at 0 unless the leader knew nothing of the producer."""
    records = walked(_records(view)).join(F.broadcast(expirations(view)), "run", "left")
    age = F.col("at_ms") - F.col("before.at_ms")
    forgotten = (age >= F.coalesce("expiration", F.lit(EXPIRATION_MS))) & (
        (F.col("before.control") != "") | ~F.col("before.transactional")
    )
    records = records.withColumn("before", F.when(~F.coalesce(forgotten, F.lit(False)), F.col("before")))
    wrong = records.withColumn("wrong", _wrong()).where(F.col("wrong").isNotNull())
    first = records.where(
        F.col("before").isNull() & (F.col("holes") == 0) & (F.col("first_offset") == 0) & (F.col("sequence") > 0)
    )
    begin = F.concat(F.lit("a transaction of version 2 begins at sequence "), "sequence")
    first = begun(view, first).withColumn("wrong", begin)
    found = wrong.unionByName(first)
    text = F.concat(
        F.lit("offset "), "offset", F.lit(" of "), "key", F.lit(", producer "), "producer_id", F.lit(": "), "wrong"
    )
    offsets = F.when(F.col("before").isNull(), F.array("offset")).otherwise(F.array("before.offset", "offset"))
    steps = [F.coalesce(F.col("before.step"), F.lit(-1)), F.col("step")]
    return audit.found(found, text, steps, [F.col("key")], offsets)


def count(view: View) -> DataFrame:
    """The records with a producer id, but for committed offsets."""
    return counted(_records(view).where((F.col("producer_id") >= 0) & (F.col("control") == "")))


AUDIT = audit_of(CHECK, find, count)
