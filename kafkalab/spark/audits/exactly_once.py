"""The exactly-once verdict: how many committed effects every input record has in the output, by isolation level.

It speaks of exactly-once effects inside Kafka, never of exactly-once delivery.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from kafkalab.checks.check import ALLOWED
from kafkalab.checks.exactly_once import DUPLICATED, IN_FLIGHT, LOST, ONCE, exactly_once
from kafkalab.checks.view import OPEN
from kafkalab.protocol.partitions import OFFSETS_TOPIC
from kafkalab.spark.audits.check import Audit, counted, findings_of, sentence, shown
from kafkalab.spark.audits.derived_tables import FINAL, DerivedTables, has_text, once


def source_of(value: Column) -> Column:
    """The input value that an output value goes back to, as `kafkalab.checks.exactly_once.source_of` has it."""
    return F.regexp_replace(value, r"^[+-]+", "")


@once("committed offsets")
def committed_offsets(derived: DerivedTables) -> DataFrame:
    """The committed offsets that took effect: record_key, group, of (the input's key), committed, place, step, txn."""
    kept = derived.records.where((F.col("topic") == OFFSETS_TOPIC) & has_text("record_key"))
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


def _asked(derived: DerivedTables) -> DataFrame:
    """What clients sent, however that ended: run, process, key, value."""
    sends = derived.histories.operations.where("function = 'send' AND type = 'invoke'")
    return sends.select("run", "process", "key", "value")


@once("inputs")
def _inputs(derived: DerivedTables) -> DataFrame:
    """The keys that a process read which also wrote: run, key."""
    writers = F.broadcast(_asked(derived).select("run", "process").distinct())
    polled = derived.histories.polls.select("run", "process", "key").distinct()
    read = derived.histories.reads.select("run", "process", "key").distinct()
    return polled.unionByName(read).join(writers, ["run", "process"], "left_semi").select("run", "key").distinct()


@once("outputs")
def _outputs(derived: DerivedTables) -> DataFrame:
    """The keys that somebody wrote to, but for inputs: run, key, topic."""
    keys = _asked(derived).select("run", "key").distinct().join(_inputs(derived), ["run", "key"], "left_anti")
    return keys.withColumn("topic", F.regexp_extract("key", r"^(.*)-[^-]*$", 1))


def _held(derived: DerivedTables) -> DataFrame:
    """The records of the outputs: run, topic, value, outcome, step."""
    held = derived.records.where((F.col("control") == "") & F.col("value").isNotNull())
    held = held.join(F.broadcast(_outputs(derived).select("run", "key")), ["run", "key"], "left_semi")
    return held.select("run", "topic", "value", "outcome", "step")


def _written(derived: DerivedTables) -> DataFrame:
    """For each source value its outputs, told apart by topic and value: how often each is committed, there, open.

    One row for each run and source: fewest, most, least, alive, undecided.
    """
    sends = _asked(derived).where(F.col("value").isNotNull()).join(F.broadcast(_outputs(derived)), ["run", "key"])
    asked = sends.select("run", "topic", "value", F.lit(None).cast("string").alias("outcome"))
    each = asked.unionByName(_held(derived).drop("step")).groupBy("run", "topic", "value")
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


@once("effects")
def effects(derived: DerivedTables) -> DataFrame:
    """One row for each committed input record: run, key, offset, value, source, step, read_committed, read_uncommitted,
    verdict; as `kafkalab.checks.exactly_once.Effect`."""
    done = committed_offsets(derived).groupBy("run", F.col("of").alias("key")).agg(F.max("committed").alias("done"))
    known = derived.known.join(F.broadcast(_inputs(derived)), ["run", "key"], "left_semi")
    known = known.join(F.broadcast(done), ["run", "key"], "left").withColumn("source", F.coalesce("value", F.lit("")))
    rows = known.join(_written(derived), ["run", "source"], "left")
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


def _not_once(derived: DerivedTables) -> DataFrame:
    """The effects of which there is not exactly one, with `steps`: those of all records that the outputs hold."""
    rows = derived.once("not once", lambda: effects(derived).where(F.col("verdict") != ONCE))
    held = _held(derived).withColumn("source", source_of(F.col("value")))
    held = held.join(rows.select("run", "source").distinct(), ["run", "source"])
    steps = held.groupBy("run", "source").agg(F.collect_list("step").alias("steps"))
    return rows.join(steps, ["run", "source"], "left").withColumn(
        "steps", F.coalesce("steps", F.array().cast("array<bigint>"))
    )


def _all_through_transactions(derived: DerivedTables) -> DataFrame:
    """Whether all of a run's committed offsets went through transactions; only then are the effects promised."""
    offsets = derived.records.where((F.col("topic") == OFFSETS_TOPIC) & has_text("record_key"))
    return offsets.groupBy("run").agg(F.min("transactional").alias("through"))


def find(derived: DerivedTables) -> DataFrame:
    """A finding for every input without exactly one effect."""
    rows = _not_once(derived).join(F.broadcast(_all_through_transactions(derived)), "run", "left")
    text = sentence(
        "{value} at offset {offset} of {key} is {verdict}: {read_committed} effect(s) under read_committed, "
        "{read_uncommitted} under read_uncommitted",
        value=shown(F.coalesce("value", F.lit(""))),
    )
    promised = F.coalesce("through", F.lit(False)) & (F.col("verdict") != IN_FLIGHT)
    policy = F.when(promised, exactly_once.policy).otherwise(ALLOWED)
    steps = F.concat(F.array("step"), "steps")
    return findings_of(exactly_once, rows, text, steps, ["key"], ["offset"], policy)


def count(derived: DerivedTables) -> DataFrame:
    """The inputs whose fate is certain."""
    return counted(effects(derived).where(F.col("verdict") != IN_FLIGHT))


AUDIT = Audit(exactly_once, find, count)
