"""The exactly-once verdict: how many committed effects every input record has in the output, by isolation level.

It speaks of exactly-once effects inside Kafka, never of exactly-once delivery.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from kafkalab.checks.check import ALLOWED
from kafkalab.checks.exactly_once import DUPLICATED, IN_FLIGHT, INPUT, LOST, ONCE, exactly_once
from kafkalab.checks.view import OPEN
from kafkalab.protocol.partitions import INTERNAL_TOPICS, OFFSETS_TOPIC
from kafkalab.protocol.source_header import SOURCE
from kafkalab.spark.audits.check import Audit, counted, findings_of, sentence, shown
from kafkalab.spark.audits.derived_tables import FINAL, DerivedTables, has_text, once
from kafkalab.spark.key_pass.sends import SENT


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
    """The sends of outputs, one row for each input: run, source, input, process, topic, value, txn, send, failed."""
    operations = derived.histories.operations.where("function = 'send'")
    ends = operations.where("type != 'invoke'").select(
        "run", F.col("invocation").alias("index"), F.col("type").alias("end")
    )
    ends = ends.groupBy("run", "index").agg(F.max("end").alias("end"))
    asked = operations.where("type = 'invoke'").select(
        "run", "index", "process", "client", "transaction", "key", "value", "headers"
    )
    asked = _declared(asked).join(ends, ["run", "index"], "left")
    inside = F.col("transaction") >= 1
    name = F.concat("client", F.lit(", transaction "), "transaction")
    return asked.select(
        "run", "source", "input", "process", _topic(F.col("key")).alias("topic"), "value",
        F.when(inside, name).otherwise("").alias("txn"),
        F.when(inside, F.col("index").cast("string")).otherwise("").alias("send"),
        (inside & F.coalesce(F.col("end") == "fail", F.lit(False))).alias("failed"),
    )  # fmt: skip


@once("outputs held")
def _held(derived: DerivedTables) -> DataFrame:
    """The records of outputs, one row for each input: run, source, input, topic, value, txn, send, outcome, step."""
    held = derived.data.select("run", "key", "offset", "value", "topic", "txn", "ordinal", "outcome", "step", "headers")
    of_send = F.when(F.col("ordinal.why") == SENT, F.col("ordinal.index").cast("string"))
    alone = F.concat("key", F.lit("@"), "offset")
    return _declared(held).select(
        "run", "source", "input", "topic", "value", F.coalesce("txn", F.lit("")).alias("txn"),
        F.when(F.col("txn").isNull(), "").otherwise(F.coalesce(of_send, alone)).alias("send"), "outcome", "step",
    )  # fmt: skip


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
    """What was made of each input, by topic, group and (outside transactions) value: fewest, most, least, alive, open.

    In a transaction the records are counted by send; a send that was refused and led to none does not count.
    """
    final = F.col("outcome").isin(*FINAL)
    sent = _sent(derived).drop("process").withColumns({"outcome": F.lit(None).cast("string"), "asked": F.lit(True)})
    held = _held(derived).drop("step").withColumns({"failed": F.lit(False), "asked": F.lit(False)})
    by = ("run", "source", "input", "topic", "txn", "value")
    rows = sent.unionByName(held).withColumn("value", F.when(F.col("txn") == "", F.col("value")))
    each = rows.groupBy(*by, "send").agg(
        F.count_if(final).alias("n"),
        F.count("outcome").alias("there"),
        F.coalesce(F.max(F.col("outcome") == OPEN), F.lit(False)).alias("open"),
        F.max("failed").alias("failed"),
    )
    counts = (F.col("there") > 0) | ~F.col("failed")
    of_txn = each.groupBy(*by).agg(
        F.coalesce(F.min(F.when(counts, F.col("n"))), F.lit(0)).alias("fewest"),
        F.coalesce(F.max(F.when(counts, F.col("n"))), F.lit(0)).alias("most"),
        F.coalesce(F.min(F.when(counts, F.col("there"))), F.lit(0)).alias("least"),
        F.coalesce(F.max(F.when(counts, F.col("there"))), F.lit(0)).alias("alive"),
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
    sums = [F.sum(name).alias(name) for name in ("fewest", "most", "least", "alive")]
    return of_txn.groupBy("run", "source", "input", "topic", "group", "value").agg(*sums, F.max("open").alias("open"))


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


@once("effects")
def effects(derived: DerivedTables) -> DataFrame:
    """One row for each committed record of the inputs: run, key, offset, value, source, step,
    read_committed, read_uncommitted, verdict; as `kafkalab.checks.exactly_once.Effect`."""
    by_group, any_ = _done(derived)
    outputs = _outputs(derived)
    known = derived.known.where(~_topic(F.col("key")).isin(*INTERNAL_TOPICS))
    known = known.join(F.broadcast(_input_keys(derived)), ["run", "key"], "left_semi")
    known = known.withColumn("source", F.concat("key", F.lit("@"), "offset"))
    rows = known.join(
        outputs.drop("input", "topic", "value").withColumn("made", F.lit(True)), ["run", "source"], "left"
    )
    rows = rows.join(F.broadcast(by_group), ["run", "key", "group"], "left").join(
        F.broadcast(any_), ["run", "key"], "left"
    )
    reached = F.when(F.coalesce("group", F.lit("")) == "", F.col("any")).otherwise(F.col("done"))
    lacking = F.coalesce("fewest", F.lit(0)) == 0
    rows = rows.withColumn("behind", lacking & F.coalesce(reached > F.col("offset"), F.lit(False)))
    one = rows.groupBy("run", "key", "offset", "source").agg(
        F.first("value").alias("value"),
        F.first("step").alias("step"),
        *(F.coalesce(F.min(name), F.lit(0)).alias(name) for name in ("fewest", "least")),
        *(F.coalesce(F.max(name), F.lit(0)).alias(name) for name in ("most", "alive")),
        F.max("behind").alias("behind"),
        F.coalesce(F.max("open"), F.lit(False)).alias("undecided"),
    )
    most, fewest, alive = F.col("most"), F.col("fewest"), F.col("alive")
    lost = F.col("behind") & ~F.col("undecided")
    verdict = F.when(most > 1, DUPLICATED).when(fewest == 1, ONCE).when(lost, LOST).otherwise(IN_FLIGHT)
    return one.select(
        "run",
        "key",
        "offset",
        "value",
        "source",
        "step",
        F.when(most > 1, most).otherwise(fewest).alias("read_committed"),
        F.when(alive > 1, alive).otherwise(F.col("least")).alias("read_uncommitted"),
        verdict.alias("verdict"),
    )


def _not_once(derived: DerivedTables) -> DataFrame:
    """The effects of which there is not exactly one, with `steps`: those of all records made from the input."""
    rows = derived.once("not once", lambda: effects(derived).where(F.col("verdict") != ONCE))
    held = _held(derived).join(rows.select("run", "source").distinct(), ["run", "source"])
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
