"""The exactly-once verdict: how many committed effects every input record has in the output, by isolation level.

It speaks of exactly-once effects inside Kafka, never of exactly-once delivery.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from kafkalab.checks.check import ALLOWED
from kafkalab.checks.exactly_once import CHECK, DUPLICATED, IN_FLIGHT, LOST, ONCE
from kafkalab.checks.view import OPEN
from kafkalab.protocol.partitions import OFFSETS_TOPIC
from kafkalab.spark.audits.check import Audit, audit_of, counted, shown
from kafkalab.spark.audits.view import FINAL, View, has_text


def source_of(value: Column) -> Column:
    """The input value that an output value goes back to, as `kafkalab.checks.exactly_once.source_of` has it."""
    return F.regexp_replace(value, r"^[+-]+", "")


def committed_offsets(view: View) -> DataFrame:
    """The committed offsets that took effect: record_key, group, of (the input's key), committed, place, step, txn."""
    return view.once("committed offsets", lambda: _committed_offsets(view))


def _committed_offsets(view: View) -> DataFrame:
    kept = view.records.where((F.col("topic") == OFFSETS_TOPIC) & has_text("record_key"))
    kept = kept.where(F.col("outcome").isin(*FINAL))
    of = F.substring_index("record_key", "/", -1)
    return kept.select(
        "run",
        "record_key",
        F.substring("record_key", F.lit(1), F.length("record_key") - F.length(of) - 1).alias("group"),
        of.alias("of"),
        F.coalesce(F.col("value").try_cast("bigint"), F.lit(-1)).alias("committed"),
        F.struct(F.col("key").alias("log"), "offset").alias("place"),
        "step",
        "txn",
    )


def _asked(view: View) -> DataFrame:
    """What clients sent, however that ended: run, process, key, value."""
    sends = view.histories.operations.where("function = 'send' AND type = 'invoke'")
    return sends.select("run", "process", "key", "value")


def _inputs(view: View) -> DataFrame:
    """The keys that a process read which also wrote: run, key."""
    return view.once("inputs", lambda: _read_by_writers(view))


def _read_by_writers(view: View) -> DataFrame:
    writers = F.broadcast(_asked(view).select("run", "process").distinct())
    polled = view.histories.polls.select("run", "process", "key").distinct()
    read = view.histories.reads.select("run", "process", "key").distinct()
    return polled.unionByName(read).join(writers, ["run", "process"], "left_semi").select("run", "key").distinct()


def _outputs(view: View) -> DataFrame:
    """The keys that somebody wrote to, but for inputs: run, key, topic."""
    return view.once("outputs", lambda: _written_but_inputs(view))


def _written_but_inputs(view: View) -> DataFrame:
    keys = _asked(view).select("run", "key").distinct().join(_inputs(view), ["run", "key"], "left_anti")
    return keys.withColumn("topic", F.regexp_extract("key", r"^(.*)-[^-]*$", 1))


def _held(view: View) -> DataFrame:
    """The records of the outputs: run, topic, value, outcome, step."""
    held = view.records.where((F.col("control") == "") & F.col("value").isNotNull())
    held = held.join(F.broadcast(_outputs(view).select("run", "key")), ["run", "key"], "left_semi")
    return held.select("run", "topic", "value", "outcome", "step")


def _written(view: View) -> DataFrame:
    """For each source value its outputs, told apart by topic and value: how often each is committed, there, open.

    One row for each run and source: fewest, most, least, alive, undecided.
    """
    sends = _asked(view).where(F.col("value").isNotNull()).join(F.broadcast(_outputs(view)), ["run", "key"])
    asked = sends.select("run", "topic", "value", F.lit(None).cast("string").alias("outcome"))
    each = asked.unionByName(_held(view).drop("step")).groupBy("run", "topic", "value")
    final = F.col("outcome").isin(*FINAL)
    one = each.agg(
        F.count_if(final).alias("committed"),
        F.count("outcome").alias("there"),
        F.coalesce(F.max(F.col("outcome") == OPEN), F.lit(False)).alias("open"),
    )
    return one.groupBy("run", source_of(F.col("value")).alias("source")).agg(
        F.min("committed").alias("fewest"),
        F.max("committed").alias("most"),
        F.min("there").alias("least"),
        F.max("there").alias("alive"),
        F.max("open").alias("undecided"),
    )


def effects(view: View) -> DataFrame:
    """One row for each committed input record: run, key, offset, value, source, step, read_committed, read_uncommitted,
    verdict; as `kafkalab.checks.exactly_once.Effect`."""
    return view.once("effects", lambda: _effects(view))


def _effects(view: View) -> DataFrame:
    done = committed_offsets(view).groupBy("run", F.col("of").alias("key")).agg(F.max("committed").alias("done"))
    known = view.known.join(F.broadcast(_inputs(view)), ["run", "key"], "left_semi")
    known = known.join(F.broadcast(done), ["run", "key"], "left").withColumn("source", F.coalesce("value", F.lit("")))
    rows = known.join(_written(view), ["run", "source"], "left")
    fewest, most = F.coalesce("fewest", F.lit(0)), F.coalesce("most", F.lit(0))
    least, alive = F.coalesce("least", F.lit(0)), F.coalesce("alive", F.lit(0))
    behind = F.coalesce(F.col("done") > F.col("offset"), F.lit(False)) & ~F.coalesce("undecided", F.lit(False))
    verdict = F.when(most > 1, DUPLICATED).when(fewest == 1, ONCE).when(behind, LOST).otherwise(IN_FLIGHT)
    return rows.select(
        "run",
        "key",
        "offset",
        "value",
        "source",
        "step",
        F.when(most > 1, most).otherwise(fewest).alias("read_committed"),
        F.when(alive > 1, alive).otherwise(least).alias("read_uncommitted"),
        verdict.alias("verdict"),
    )


def _not_once(view: View) -> DataFrame:
    """The effects of which there is not exactly one, with `steps`: those of all records that the outputs hold."""
    rows = view.once("not once", lambda: effects(view).where(F.col("verdict") != ONCE))
    held = _held(view).withColumn("source", source_of(F.col("value")))
    held = held.join(rows.select("run", "source").distinct(), ["run", "source"])
    steps = held.groupBy("run", "source").agg(F.collect_list("step").alias("steps"))
    return rows.join(steps, ["run", "source"], "left").withColumn(
        "steps", F.coalesce("steps", F.array().cast("array<bigint>"))
    )


def _all_through_transactions(view: View) -> DataFrame:
    """Whether all of a run's committed offsets went through transactions; only then are the effects promised."""
    offsets = view.records.where((F.col("topic") == OFFSETS_TOPIC) & has_text("record_key"))
    return offsets.groupBy("run").agg(F.min("transactional").alias("through"))


def find(audit: Audit, view: View) -> DataFrame:
    """A finding for every input without exactly one effect."""
    rows = _not_once(view).join(F.broadcast(_all_through_transactions(view)), "run", "left")
    text = F.concat(
        shown(F.coalesce("value", F.lit(""))), F.lit(" at offset "), "offset", F.lit(" of "), "key", F.lit(" is "),
        "verdict", F.lit(": "), "read_committed", F.lit(" effect(s) under read_committed, "), "read_uncommitted",
        F.lit(" under read_uncommitted"),
    )  # fmt: skip
    promised = F.coalesce("through", F.lit(False)) & (F.col("verdict") != IN_FLIGHT)
    policy = F.when(promised, audit.policy).otherwise(ALLOWED)
    steps = F.concat(F.array("step"), "steps")
    return audit.found(rows, text, steps, [F.col("key")], [F.col("offset")], policy)


def count(view: View) -> DataFrame:
    """The inputs whose fate is certain."""
    return counted(effects(view).where(F.col("verdict") != IN_FLIGHT))


AUDIT = audit_of(CHECK, find, count)
