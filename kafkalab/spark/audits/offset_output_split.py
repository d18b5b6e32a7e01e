"""offset/output split: consume-transform-produce, where committed input offsets and committed output disagree."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from kafkalab.checks.check import ALLOWED, FORBIDDEN
from kafkalab.checks.offset_output_split import offset_output_split
from kafkalab.checks.view import COMMITTED, OPEN
from kafkalab.protocol.partitions import OFFSETS_TOPIC
from kafkalab.spark.audits.asof import last_before
from kafkalab.spark.audits.check import Audit, counted, findings_of, sentence
from kafkalab.spark.audits.derived_tables import NEVER, DerivedTables, has_text, once
from kafkalab.spark.audits.exactly_once import committed_offsets

INPUT = ("run", "record_key")


def _inputs(derived: DerivedTables) -> DataFrame:
    """Each group's input: group, of (its key), the offset committed last and when, and whether any commit was plain."""
    return (
        committed_offsets(derived)
        .groupBy(*INPUT)
        .agg(
            F.first("group").alias("group"),
            F.first("of").alias("of"),
            F.max_by(F.struct("committed", "step"), "place").alias("newest"),
            F.max(F.col("txn").isNull()).alias("plain"),
        )
    )


def _takers(derived: DerivedTables) -> DataFrame:
    """Who committed offsets of an input: run, record_key, key (the input), process, reader, end, committed."""
    owners = committed_offsets(derived).where(F.col("txn").isNotNull())
    newest = owners.groupBy(*INPUT, F.col("of").alias("key"), "txn").agg(
        F.max_by("committed", "place").alias("committed")
    )
    end = F.when(F.col("end_step") >= 0, F.col("end_step")).otherwise(F.lit(NEVER))
    ended = derived.transactions.where(F.col("process") != "").select("run", "txn", "process", end.alias("end"))
    return newest.join(ended, ["run", "txn"]).withColumnRenamed("txn", "reader")


@once("who took what")
def _read_by(derived: DerivedTables) -> DataFrame:
    """In which transaction each read of an input took effect, if in any: reader, last step, and whether it is certain.

    Of those of its process that committed and ended after the read, the first that committed an offset behind it. For
    most reads that is the next one; only the others are compared with all that come later. It is certain if the
    process of any such read was not moved between read and end.
    """
    takers, by = _takers(derived), (*INPUT, "key", "process")
    reads = derived.histories.reads.select("run", "key", "process", "consumer", "offset", "step", "index")
    reads = reads.join(takers.select(*by).distinct(), ["run", "key", "process"]).withColumn("_time", -F.col("step"))
    reads = last_before(reads, _moves(derived), ("run", "key", "process"), F.col("_time"), F.col("_moved"), "move")
    reads = reads.withColumn("moved", F.coalesce(-F.col("move._moved"), F.lit(NEVER))).drop("move")
    near = last_before(
        reads, takers.withColumn("_end", -F.col("end")), by, F.col("_time"), F.col("_end"), "next", inclusive=True
    )
    near = near.where(F.col("next").isNotNull()).drop("_time")
    done = near.where(F.col("next.committed") > F.col("offset"))
    done = done.withColumns({"reader": F.col("next.reader"), "end": F.col("next.end")}).drop("next")
    rest = near.where(F.col("next.committed") <= F.col("offset")).drop("next").join(takers, list(by))
    rest = rest.where((F.col("end") >= F.col("step")) & (F.col("committed") > F.col("offset")))
    late = rest.groupBy(*by, "consumer", "offset", "step", "index", "moved").agg(
        F.min_by("reader", F.struct("end", "reader")).alias("reader"), F.min("end").alias("end")
    )
    return (
        done.unionByName(late)
        .groupBy(*INPUT, "key", "offset", "reader")
        .agg(
            F.max_by("step", F.struct("step", "index")).alias("step"),
            F.min(F.struct("step", "index")).alias("order"),
            F.max(F.col("end") <= F.col("moved")).alias("certain"),
        )
    )


def _moves(derived: DerivedTables) -> DataFrame:
    """When a seek, an assignment or a rebalance moved a process: run, key, process, minus the step as `_moved`."""
    polls = derived.histories.polls.where(F.col("moved") != "")
    return polls.select("run", "key", "process", (-F.col("step")).alias("_moved")).distinct()


def _twice(derived: DerivedTables) -> DataFrame:
    """The offsets of inputs that took effect in more than one transaction."""
    many = _read_by(derived).where("certain").groupBy(*INPUT, "key", "offset").agg(F.count(F.lit(1)).alias("n"))
    return many.where("n > 1").drop("n")


def _doubled(derived: DerivedTables) -> DataFrame:
    place = (*INPUT, "key", "offset")
    read = _read_by(derived).where("certain").join(derived.once("taken twice", lambda: _twice(derived)), list(place))
    found = read.groupBy(*place).agg(F.array_sort(F.collect_list(F.struct("order", "reader", "step"))).alias("all"))
    found = found.join(_inputs(derived), list(INPUT))
    readers = F.array_join(F.col("all.reader"), ", ")
    text = "offset {offset} of {key} took effect in {many} transactions: {readers}"
    policy = F.when(F.col("plain"), ALLOWED).otherwise(FORBIDDEN)
    return findings_of(
        offset_output_split, found, sentence(text, many=F.size("all"), readers=readers), F.col("all.step"), ["key"],
        ["offset"], policy,
    )  # fmt: skip


def _lost(derived: DerivedTables) -> DataFrame:
    read = _read_by(derived)
    first = read.groupBy(*INPUT).agg(F.min("offset").alias("first"))
    inputs = _inputs(derived).join(first, list(INPUT)).withColumn("key", F.col("of"))
    known = derived.known.select("run", "key", "offset", F.col("step").alias("at"))
    below = inputs.join(known, ["run", "key"])
    below = below.where((F.col("offset") >= F.col("first")) & (F.col("offset") < F.col("newest.committed")))
    rest = below.join(read.select(*INPUT, "offset").distinct(), [*INPUT, "offset"], "left_anti")
    found = rest.groupBy(*INPUT, "key", "group", "newest", "plain").agg(
        F.array_sort(F.collect_list("offset")).alias("offsets"), F.min_by("at", "offset").alias("at")
    )
    lost = F.array_join(F.col("offsets").cast("array<string>"), ", ")
    text = "group {group} committed {newest.committed} of {key}, but no committed transaction read [{lost}]"
    policy = F.when(F.col("plain"), ALLOWED).otherwise(FORBIDDEN)
    steps = ["newest.step", "at"]
    return findings_of(offset_output_split, found, sentence(text, lost=lost), steps, ["key"], F.col("offsets"), policy)


def _mixed(derived: DerivedTables) -> DataFrame:
    """The transactions of which some records are committed and some aborted: run, txn."""
    committed = F.col("outcome") == COMMITTED
    both = _ended(derived).groupBy("run", "txn").agg(F.max(committed).alias("some"), F.min(committed).alias("all"))
    return both.where(F.col("some") & ~F.col("all")).select("run", "txn")


def _ended(derived: DerivedTables) -> DataFrame:
    return derived.records.where(F.col("txn").isNotNull() & (F.col("outcome") != OPEN))


def _disagreeing(derived: DerivedTables) -> DataFrame:
    """Transactions whose offsets ended in one way and whose output in another."""
    ended = _ended(derived).join(derived.once("mixed transactions", lambda: _mixed(derived)), ["run", "txn"])
    is_offset = has_text("record_key") & (F.col("topic") == OFFSETS_TOPIC)
    each = ended.groupBy("run", "txn", is_offset.alias("is_offset"), "outcome").agg(
        F.min("ordinal").alias("order"), F.max_by(F.struct("key", "step"), "ordinal").alias("last")
    )
    one = F.struct("order", "outcome", "last")
    both = each.groupBy("run", "txn").agg(
        F.array_sort(F.collect_list(F.when(F.col("is_offset"), one))).alias("offsets"),
        F.array_sort(F.collect_list(F.when(~F.col("is_offset"), one))).alias("output"),
    )
    split = both.where((F.size("offsets") > 0) & (F.size("output") > 0))
    split = split.where(F.col("offsets.outcome") != F.col("output.outcome"))
    ways = {name: F.array_join(F.col(f"{name}.outcome"), " and ") for name in ("offsets", "output")}
    text = sentence("{txn}: its offsets {offsets}, its output {output}", **ways)
    steps = F.concat("offsets.last.step", "output.last.step")
    return findings_of(offset_output_split, split, text, steps, F.concat("offsets.last.key", "output.last.key"))


def find(derived: DerivedTables) -> DataFrame:
    """Which committed transactions read an input offset below the committed one: none is a loss, two a double."""
    return _disagreeing(derived).unionByName(_doubled(derived)).unionByName(_lost(derived))


def count(derived: DerivedTables) -> DataFrame:
    """The transactions that committed offsets of an input, and those whose parts disagree."""
    owners = committed_offsets(derived).where(F.col("txn").isNotNull()).select(*INPUT, "txn").distinct()
    return counted(owners.select("run").unionByName(_disagreeing(derived).select("run")))


AUDIT = Audit(offset_output_split, find, count)
