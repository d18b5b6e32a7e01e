"""The exactly-once verdict: how many committed effects every input record has in the output, by isolation level.

It speaks of exactly-once effects inside Kafka, never of exactly-once delivery.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from kafkalab.checks.check import ALLOWED, UNKNOWN
from kafkalab.checks.exactly_once import (
    DUPLICATED,
    EFFECTS,
    IN_FLIGHT,
    INPUT,
    LOST,
    NOT_CERTAIN,
    ONCE,
    POSITION,
    exactly_once,
)
from kafkalab.checks.view import OPEN
from kafkalab.protocol.partitions import INTERNAL_TOPICS, OFFSETS_TOPIC
from kafkalab.protocol.source_header import SOURCE
from kafkalab.spark.audits.check import Audit, counted, findings_of, sentence, shown
from kafkalab.spark.audits.derived_tables import FINAL, DerivedTables, has_text, once


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


def _sources(headers: Column) -> Column:
    """One row for each input that these headers declare, as `kafkalab.protocol.source_header.sources_of` has it."""
    begins = f"{SOURCE}="
    declared = F.filter(headers, lambda text: text.startswith(begins))
    return F.explode(F.array_distinct(F.transform(declared, lambda text: F.substr(text, F.lit(len(begins) + 1)))))


def _declared(frame: DataFrame) -> DataFrame:
    """Rows with `headers` that declare an input: `source`, and `input`, its key."""
    named = frame.where(F.size("headers") > 0).withColumn("source", _sources(F.col("headers"))).drop("headers")
    named = named.withColumn("input", F.regexp_extract("source", r"^(.*)@[^@]*$", 1))
    return named.where(F.col("input").rlike("^.+-[^-]*$"))


@once("outputs sent")
def _sent(derived: DerivedTables) -> DataFrame:
    """The sends of outputs, one row for each input: run, source, input, process, topic, value, txn, failed."""
    sends = derived.histories.operations.where("function = 'send'")
    failed = sends.where("type = 'fail'").select("run", F.col("invocation").alias("index"), F.lit(True).alias("failed"))
    asked = sends.where("type = 'invoke'")
    asked = _declared(asked.select("run", "index", "process", "client", "transaction", "key", "value", "headers"))
    asked = asked.join(failed.distinct(), ["run", "index"], "left")
    name = F.concat("client", F.lit(", transaction "), "transaction")
    txn = F.when(F.col("transaction") >= 1, name).otherwise("").alias("txn")
    failed_ = F.coalesce("failed", F.lit(False)).alias("failed")
    return asked.select("run", "source", "input", "process", _topic(F.col("key")).alias("topic"), "value", txn, failed_)


@once("outputs held")
def _held(derived: DerivedTables) -> DataFrame:
    """The records of outputs, one row for each input: run, source, input, topic, value, txn, outcome, step."""
    held = derived.data.select("run", "topic", "value", "txn", "outcome", "step", "headers")
    txn = F.coalesce("txn", F.lit("")).alias("txn")
    return _declared(held).select("run", "source", "input", "topic", "value", txn, "outcome", "step")


def _topic(key: Column) -> Column:
    return F.regexp_extract(key, r"^(.*)-[^-]*$", 1)


def _groups(derived: DerivedTables) -> DataFrame:
    """The group for which each process polls each key or commits its offsets: run, process, input, group."""
    input_ = F.col("key").alias("input")
    polls = derived.histories.polls.select("run", "process", input_, "group").distinct()
    commits = derived.histories.operations.where("function = 'offsets'")
    commits = commits.select("run", "process", input_, F.col("value").alias("group")).distinct()
    known = polls.unionByName(commits).where(F.col("group").isNotNull())
    return known.groupBy("run", "process", "input").agg(F.min("group").alias("group"))


@once("outputs")
def _outputs(derived: DerivedTables) -> DataFrame:
    """What was made of each input, by topic, group and (outside transactions) value: the numbers of committed records
    and of all (there), each as `every` one and as the `fewest` and the `copies` (most) of one value in each
    transaction; and whether any is open. A value that was only sent has no record, unless the send was refused."""
    final = F.col("outcome").isin(*FINAL)
    sent = _sent(derived).drop("process").withColumn("outcome", F.lit(None).cast("string"))
    rows = sent.unionByName(_held(derived).drop("step").withColumn("failed", F.lit(False)))
    rows = rows.withColumn("alone", F.when(F.col("txn") == "", F.col("value")))
    by = ("run", "source", "input", "topic", "txn", "alone")
    each = rows.groupBy(*by, "value").agg(
        F.count_if(final).alias("n"),
        F.count("outcome").alias("there"),
        F.coalesce(F.max(F.col("outcome") == OPEN), F.lit(False)).alias("open"),
        F.min("failed").alias("failed"),
    )
    counts = (F.col("there") > 0) | ~F.col("failed")
    of_txn = each.groupBy(*by).agg(
        F.sum("n").alias("every"),
        F.coalesce(F.min(F.when(counts, F.col("n"))), F.lit(0)).alias("fewest"),
        F.max("n").alias("copies"),
        F.sum("there").alias("every_there"),
        F.coalesce(F.min(F.when(counts, F.col("there"))), F.lit(0)).alias("fewest_there"),
        F.max("there").alias("copies_there"),
        F.max("open").alias("open"),
    )
    process = derived.transactions.select("run", "txn", "process")
    groups = _groups(derived)
    first = groups.groupBy("run", "input").agg(F.min("group").alias("first"))
    of_txn = of_txn.join(process, ["run", "txn"], "left")
    of_txn = of_txn.join(F.broadcast(groups), ["run", "process", "input"], "left")
    of_txn = of_txn.join(F.broadcast(first), ["run", "input"], "left")
    group = F.when(F.col("txn") == "", "").otherwise(F.coalesce("group", "first", F.lit("")))
    of_txn = of_txn.withColumn("group", group)
    numbers = ("every", "fewest", "copies", "every_there", "fewest_there", "copies_there")
    sums = [F.sum(name).alias(name) for name in numbers]
    return of_txn.groupBy("run", "source", "input", "topic", "group", "alone").agg(*sums, F.max("open").alias("open"))


def _done(derived: DerivedTables) -> tuple[DataFrame, DataFrame]:
    """How far each group has committed each key, and how far any has: first of all those of its processors."""
    each = committed_offsets(derived).groupBy("run", F.col("of").alias("key"), "group")
    by_group = each.agg(F.max("committed").alias("done"))
    makers = _sent(derived).select("run", "process").distinct()
    readers = _groups(derived).join(F.broadcast(makers), ["run", "process"], "left_semi")
    readers = readers.select("run", F.col("input").alias("key"), "group", F.lit(True).alias("reads")).distinct()
    known = by_group.join(readers, ["run", "key", "group"], "left").groupBy("run", "key")
    any_ = known.agg(F.max(F.when(F.col("reads"), F.col("done"))).alias("own"), F.max("done").alias("all"))
    return by_group, any_.select("run", "key", F.coalesce("own", "all").alias("any"))


def _input_keys(derived: DerivedTables) -> DataFrame:
    """The keys from which outputs were made, those of the same topics that their makers have polled, and all keys of
    topics that a label "input" names: run, key."""
    sent, held = _sent(derived), _held(derived)
    keys = sent.select("run", F.col("input").alias("key")).unionByName(held.select("run", F.col("input").alias("key")))
    makers = sent.select("run", "process", _topic(F.col("input")).alias("topic")).distinct()
    polled = derived.histories.polls.select("run", "process", "key").distinct()
    polled = polled.withColumn("topic", _topic(F.col("key"))).join(F.broadcast(makers), ["run", "process", "topic"])
    declared = derived.histories.labels.where(F.col("name") == INPUT).select("run", F.col("value").alias("topic"))
    named = derived.known.select("run", "key", _topic(F.col("key")).alias("topic"))
    named = named.join(F.broadcast(declared), ["run", "topic"], "left_semi").select("run", "key")
    return keys.unionByName(polled.select("run", "key")).unionByName(named).distinct()


def _told(derived: DerivedTables, label: str, sign: str, name: str) -> DataFrame:
    """Return what labels of this name say, "key@5" or "key@5=2" split at the last `sign`: run, of, and a number."""
    rows = derived.histories.labels.where(F.col("name") == label)
    number = F.substring_index("value", sign, -1)
    of = F.when(F.instr("value", sign) == 0, "").otherwise(
        F.substring("value", F.lit(1), F.length("value") - F.length(number) - 1)
    )
    rows = rows.select("run", of.alias("of"), number.cast("bigint").alias("number"))
    return rows.groupBy("run", "of").agg(F.max("number").alias(name))


def _with_labels(derived: DerivedTables, inputs: DataFrame) -> DataFrame:
    """Add what labels say of each input: `told`, the number of its effects, and `position`, how far its key is done."""
    numbers = _told(derived, EFFECTS, "=", "number")
    of_all = numbers.where("of = ''").select("run", F.col("number").alias("of_all"))
    of_one = numbers.where("of != ''").select("run", F.col("of").alias("source"), F.col("number").alias("of_one"))
    positions = _told(derived, POSITION, "@", "position").withColumnRenamed("of", "key")
    inputs = inputs.join(F.broadcast(of_all), "run", "left").join(F.broadcast(of_one), ["run", "source"], "left")
    inputs = inputs.withColumn("told", F.coalesce("of_one", "of_all")).drop("of_one", "of_all")
    return inputs.join(F.broadcast(positions), ["run", "key"], "left")


@once("effects")
def effects(derived: DerivedTables) -> DataFrame:
    """One row for each committed record of the inputs: run, key, offset, value, source, step, expected,
    read_committed, read_uncommitted, verdict; as `kafkalab.checks.exactly_once.Effect`."""
    by_group, any_ = _done(derived)
    known = derived.known.where(~_topic(F.col("key")).isin(*INTERNAL_TOPICS))
    known = known.join(F.broadcast(_input_keys(derived)), ["run", "key"], "left_semi")
    known = _with_labels(derived, known.withColumn("source", F.concat("key", F.lit("@"), "offset")))
    rows = known.join(_outputs(derived).drop("input", "topic", "alone"), ["run", "source"], "left")
    rows = rows.join(F.broadcast(by_group), ["run", "key", "group"], "left")
    rows = rows.join(F.broadcast(any_), ["run", "key"], "left")
    every, expected = F.col("told").isNotNull(), F.coalesce("told", F.lit(1))
    rows = rows.withColumns(
        {
            "expected": expected,
            "few": F.coalesce(F.when(every, F.col("every")).otherwise(F.col("fewest")), F.lit(0)),
            "n": F.coalesce(F.when(every, F.col("every")).otherwise(F.col("copies")), F.lit(0)),
            "few_there": F.coalesce(F.when(every, F.col("every_there")).otherwise(F.col("fewest_there")), F.lit(0)),
            "there": F.coalesce(F.when(every, F.col("every_there")).otherwise(F.col("copies_there")), F.lit(0)),
        }
    )
    committed = F.when(F.coalesce("group", F.lit("")) == "", F.col("any")).otherwise(F.col("done"))
    reached = F.coalesce("position", committed)
    lacking = F.col("few") < F.greatest("expected", F.lit(1))
    rows = rows.withColumn("behind", lacking & F.coalesce(reached > F.col("offset"), F.lit(False)))
    one = rows.groupBy("run", "key", "offset", "source").agg(
        *(F.first(name).alias(name) for name in ("value", "step", "expected")),
        F.min("few").alias("fewest_n"),
        F.min("few_there").alias("fewest_there"),
        *(F.max(name).alias(f"most_{name}") for name in ("n", "there")),
        F.max("behind").alias("behind"),
        F.coalesce(F.max("open"), F.lit(False)).alias("undecided"),
        F.first(F.coalesce("position", "any")).isNotNull().alias("is_known"),
    )
    most, fewest, expected = F.col("most_n"), F.col("fewest_n"), F.col("expected")
    verdict = (
        F.when(most > expected, DUPLICATED)
        .when((fewest == expected) & (expected > 0), ONCE)
        .when(F.col("undecided") | ~F.col("behind"), IN_FLIGHT)
        .otherwise(F.when(expected > 0, LOST).otherwise(ONCE))
    )
    counts = {
        "read_committed": F.when(most > expected, most).otherwise(fewest),
        "read_uncommitted": F.when(F.col("most_there") > expected, F.col("most_there")).otherwise(
            F.col("fewest_there")
        ),
    }
    one = one.withColumns({**counts, "verdict": verdict})
    elsewhere = one.where(~F.col("is_known") & (F.col("read_committed") > 0)).select("run", "key").distinct()
    one = one.join(F.broadcast(elsewhere.withColumn("elsewhere", F.lit(True))), ["run", "key"], "left")
    unknown = (F.col("verdict") == IN_FLIGHT) & F.coalesce("elsewhere", F.lit(False))
    one = one.withColumn("verdict", F.when(unknown, UNKNOWN).otherwise(F.col("verdict")))
    return one.select("run", "key", "offset", "value", "source", "step", "expected", *counts, "verdict")


def _not_once(derived: DerivedTables) -> DataFrame:
    """The effects of which there is not exactly one, with `steps`: those of all records made from the input."""
    rows = derived.once("not once", lambda: effects(derived).where(F.col("verdict") != ONCE))
    held = _held(derived).join(rows.select("run", "source").distinct(), ["run", "source"])
    steps = held.groupBy("run", "source").agg(F.collect_list("step").alias("steps"))
    return rows.join(steps, ["run", "source"], "left").withColumn(
        "steps", F.coalesce("steps", F.array().cast("array<bigint>"))
    )


def _promised(derived: DerivedTables) -> DataFrame:
    """Return whether a run's effects are promised: all its committed offsets went through transactions, or a label says
    what the positions are."""
    offsets = derived.records.where((F.col("topic") == OFFSETS_TOPIC) & has_text("record_key"))
    through = offsets.groupBy("run").agg(F.min("transactional").alias("promised"))
    told = derived.histories.labels.where(F.col("name") == POSITION).select("run", F.lit(True).alias("promised"))
    return through.unionByName(told).groupBy("run").agg(F.max("promised").alias("promised"))


def find(derived: DerivedTables) -> DataFrame:
    """A finding for every input without exactly one effect."""
    rows = _not_once(derived).join(F.broadcast(_promised(derived)), "run", "left")
    text = sentence(
        "{value} at offset {offset} of {key} is {verdict}: {read_committed} effect(s) under read_committed, "
        "{read_uncommitted} under read_uncommitted{expected}{unknown}",
        value=shown(F.coalesce("value", F.lit(""))),
        expected=F.when(F.col("expected") != 1, sentence(", {expected} expected")).otherwise(""),
        unknown=F.when(F.col("verdict") == UNKNOWN, sentence("; nobody has committed an offset of {key}")).otherwise(
            ""
        ),
    )
    policy = F.when(F.coalesce("promised", F.lit(False)), exactly_once.policy).otherwise(ALLOWED)
    for verdict, other in NOT_CERTAIN.items():
        policy = F.when(F.col("verdict") == verdict, other).otherwise(policy)
    steps = F.concat(F.array("step"), "steps")
    return findings_of(exactly_once, rows, text, steps, ["key"], ["offset"], policy)


def count(derived: DerivedTables) -> DataFrame:
    """The inputs whose fate is certain."""
    return counted(effects(derived).where(~F.col("verdict").isin(*NOT_CERTAIN)))


AUDIT = Audit(exactly_once, find, count)
