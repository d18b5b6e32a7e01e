"""Which log records a client's send led to, and which transaction each record belongs to (checks/transactions.py)."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from kafkalab.spark.audits.asof import last_before
from kafkalab.spark.storage.frames import Histories

OFFSETS, SENT, UNCLAIMED = 0, 1, 2
"""What made a record its transaction's, in the order in which transactions take them."""


def sends(operations: DataFrame) -> DataFrame:
    """Every send's invoke, and how it ended: end_type (null where nothing is known), end_step, end identity, offset.

    `offset` is where the client was told that the record lies, -1 if it was not told.
    """
    asked = operations.where((F.col("function") == "send") & (F.col("type") == "invoke"))
    ends = operations.where(F.col("type") != "invoke").select(
        "run",
        F.col("invocation").alias("index"),
        F.col("type").alias("end_type"),
        F.col("step").alias("end_step"),
        F.col("offset").alias("end_offset"),
        F.col("producer_id").alias("end_producer_id"),
        F.col("producer_epoch").alias("end_producer_epoch"),
        F.col("sequence").alias("end_sequence"),
    )
    told = F.when(F.col("end_type") == "ok", F.col("end_offset")).otherwise(-1)
    found = asked.drop("offset", "type", "function", "invocation", "error", "at_ms")
    return found.join(ends, ["run", "index"], "left").withColumn("offset", told).drop("end_offset")


def identities(asked: DataFrame) -> DataFrame:
    """Each send under each identity by which a log may know it; `part` 0 as it was sent first, 1 as numbered anew.

    An identity is (a, b, c): producer id, epoch and sequence, or (-1, -1, the offset) without idempotence.
    """
    plain = F.col("producer_id") < 0
    first = F.struct(
        F.lit(0).alias("part"),
        F.when(plain, -1).otherwise(F.col("producer_id")).cast("bigint").alias("a"),
        F.when(plain, -1).otherwise(F.col("producer_epoch")).cast("int").alias("b"),
        F.when(plain, F.col("offset")).otherwise(F.col("sequence")).cast("bigint").alias("c"),
    )
    anew = F.struct(
        F.lit(1).alias("part"),
        F.col("end_producer_id").alias("a"),
        F.col("end_producer_epoch").cast("int").alias("b"),
        F.col("end_sequence").cast("bigint").alias("c"),
    )
    changed = (
        ~plain
        & F.col("end_type").isNotNull()
        & (F.col("end_producer_id") >= 0)
        & (
            (F.col("end_producer_id") != F.col("producer_id"))
            | (F.col("end_producer_epoch") != F.col("producer_epoch"))
            | (F.col("end_sequence") != F.col("sequence"))
        )
    )
    known = F.when(plain & (F.col("offset") < 0), F.array().cast(first_type())).when(changed, F.array(first, anew))
    each = asked.withColumn("_identity", F.explode(known.otherwise(F.array(first))))
    return each.select("*", "_identity.*").drop("_identity")


def first_type() -> str:
    """The type of an array of identities."""
    return "array<struct<part:int,a:bigint,b:int,c:bigint>>"


def identified(log: DataFrame) -> DataFrame:
    """Log records that are no markers, with their identity (a, b, c)."""
    plain = F.col("producer_id") < 0
    return log.where(F.col("control") == "").select(
        "*",
        F.when(plain, -1).otherwise(F.col("producer_id")).cast("bigint").alias("a"),
        F.when(plain, -1).otherwise(F.col("producer_epoch")).cast("int").alias("b"),
        F.when(plain, F.col("offset")).otherwise(F.col("sequence")).cast("bigint").alias("c"),
    )


def links(asked: DataFrame, log: DataFrame) -> DataFrame:
    """Run and index of each send, and the records it led to, truncated ones included: place, step, removed."""
    kept = ("offset", "step", "removed", "removed_step", "transactional")
    records = identified(log).select("run", "key", "value", "a", "b", "c", F.struct(*kept).alias("record"))
    claims = identities(asked).select("run", "index", "part", "key", "value", "a", "b", "c")
    return claims.alias("s").join(records.alias("r"), _same()).select("s.run", "index", "part", "s.key", "r.record.*")


def _same() -> Column:
    same = F.col("s.value").eqNullSafe(F.col("r.value"))
    for name in ("run", "key", "a", "b", "c"):
        same = same & (F.col(f"s.{name}") == F.col(f"r.{name}"))
    return same


def owned(histories: Histories, entries: DataFrame) -> DataFrame:
    """The log without what was truncated, each record with the transaction that it belongs to.

    `txn` is the transaction's name (null outside one), `client` and `number` those of the client's own transactions,
    `ordinal` a struct that sorts a transaction's records as checks/transactions.py finds them.
    """
    log = histories.log.where(F.col("removed") != "truncated")
    claimed = _claimed_by_sends(histories.operations, log)
    by_offsets = _claimed_by_offsets(histories.operations, log)
    claimed = claimed.join(F.broadcast(by_offsets), ["run", "key", "offset"], "left")
    owner = F.coalesce(F.col("by_offsets"), F.col("by_send"))
    mine = F.when(F.col("transactional") & (F.col("control") == ""), owner)
    found = claimed.withColumn("owner", mine).drop("by_offsets", "by_send")
    free = F.col("transactional") & (F.col("control") == "") & F.col("owner").isNull()
    named = _of_no_client(found.where(free), entries)
    rest = found.where(~free).select(
        "*",
        F.when(
            F.col("owner").isNotNull(), F.concat("owner.client", F.lit(", transaction "), F.col("owner.number"))
        ).alias("txn"),
    )
    every = rest.unionByName(named)
    ordinal = F.struct(
        F.col("owner.why").alias("why"), F.col("owner.index").alias("index"), "owner.part", "key", "step", "offset"
    )
    return every.select("*", "owner.client", "owner.number", ordinal.alias("ordinal")).drop("owner")


def first_claims(asked: DataFrame) -> DataFrame:
    """For each identity (run, key, value, a, b, c) the first of these sends that has it, as `by_send`."""
    identity = ("run", "key", "value", "a", "b", "c")
    claim = F.struct(
        F.lit(SENT).alias("why"), "index", "part", F.col("client").alias("client"), F.col("transaction").alias("number")
    )
    return (
        identities(asked)
        .select(*identity, claim.alias("claim"))
        .groupBy(*identity)
        .agg(F.min("claim").alias("by_send"))
    )


def _claimed_by_sends(operations: DataFrame, log: DataFrame) -> DataFrame:
    """The log, each record with `by_send`: the first send of a transaction that led to it, null where none did."""
    first = first_claims(sends(operations).where(F.col("transaction") >= 1))
    records = identified(log).alias("r").join(first.alias("s"), _same(), "left").select("r.*", "s.by_send")
    markers = log.where(F.col("control") != "").withColumn(
        "by_send", F.lit(None).cast(records.schema["by_send"].dataType)
    )
    return records.drop("a", "b", "c").unionByName(markers)


def _claimed_by_offsets(operations: DataFrame, log: DataFrame) -> DataFrame:
    """The places of committed offsets that a transaction's client sent: run, key, offset, by_offsets."""
    asked = operations.where(
        (F.col("function") == "offsets") & (F.col("type") == "invoke") & (F.col("transaction") >= 1)
    ).select(
        "run",
        F.concat("value", F.lit("/"), "key").alias("record_key"),
        F.col("offset").cast("string").alias("value"),
        "producer_id",
        "producer_epoch",
        F.struct(
            F.lit(OFFSETS).alias("why"), "index", F.lit(0).alias("part"), "client", F.col("transaction").alias("number")
        ).alias("claim"),
    )
    by = ["run", "record_key", "value", "producer_id", "producer_epoch"]
    kept = log.where(F.coalesce(F.col("record_key"), F.lit("")) != "").where("transactional")
    last = kept.groupBy(*by).agg(F.max(F.struct("key", "offset")).alias("place"))
    found = asked.join(last, by).select("run", "place.*", "claim")
    return found.groupBy("run", "key", "offset").agg(F.min("claim").alias("by_offsets"))


def _of_no_client(free: DataFrame, entries: DataFrame) -> DataFrame:
    """Records without an operation, with the name of their producer id, epoch and number of decisions before."""
    decisions = entries.where(F.col("state").startswith("Prepare")).select("run", "producer_id", "step", "n")
    count = Window.partitionBy("run", "producer_id").orderBy("n")
    decisions = decisions.withColumn("before", F.row_number().over(count))
    by = ("run", "producer_id")
    found = last_before(free, decisions, by, F.col("step"), F.col("step"), "decision", order="n")
    number = F.coalesce(F.col("decision.before"), F.lit(0)) + 1
    name = F.concat(
        F.lit("producer "), "producer_id", F.lit(", epoch "), "producer_epoch", F.lit(", transaction "), number
    )
    owner = F.struct(
        F.lit(UNCLAIMED).alias("why"),
        F.lit(0).cast("bigint").alias("index"),
        F.lit(0).alias("part"),
        F.lit("").alias("client"),
        F.lit(-1).cast("bigint").alias("number"),
    )
    return found.withColumn("txn", name).withColumn("owner", owner).drop("decision")


def transactions(operations: DataFrame, records: DataFrame) -> DataFrame:
    """One row each: run, txn, process, client, number, first (index of its first operation), end_step, told_aborted,
    told_committed, maybe_committed, last_end (step of the last answer to commit or abort)."""
    found = _of_clients(operations).withColumn("txn", F.concat("client", F.lit(", transaction "), "number"))
    others = records.where((F.col("client") == "") & F.col("txn").isNotNull()).select("run", "txn", "client", "number")
    others = others.distinct().withColumn("process", F.lit("")).withColumn("end_step", F.lit(-1).cast("bigint"))
    for flag in ("told_aborted", "told_committed", "maybe_committed"):
        others = others.withColumn(flag, F.lit(False))
    return found.unionByName(others, allowMissingColumns=True)


def told_of_aborts(operations: DataFrame) -> DataFrame:
    """The transactions whose client was told that they aborted, and never asked for more: run, client, transaction."""
    told = _of_clients(operations).where(F.col("told_aborted") & ~F.col("maybe_committed"))
    return told.select("run", "client", F.col("number").alias("transaction"))


def _of_clients(operations: DataFrame) -> DataFrame:
    """Everything that operations say of transactions; of numbers first, since those are what Spark adds up quickly."""
    ends = F.col("function").isin("commit", "abort")
    asked = ends & (F.col("type") == "invoke")
    answered = ends & (F.col("type") != "invoke")

    def told(function: str, *types: str) -> Column:
        this = (F.col("function") == function) & F.col("type").isin(*types)
        return F.coalesce(F.max(answered & this), F.lit(False))

    def newest(chosen: Column) -> tuple[Column, Column]:
        index = F.when(chosen, F.col("index"))
        return F.max(index), F.max_by(F.when(chosen, F.col("step")), index)

    asked_at, end_step = newest(asked)
    answered_at, last_end = newest(answered)
    number = F.col("transaction").alias("number")
    flags = ("told_aborted", "told_committed", "maybe_committed")
    by_process = operations.where(F.col("transaction") >= 1).groupBy("run", "client", "process", number)
    each = by_process.agg(
        F.min("index").alias("first"),
        asked_at.alias("asked_at"),
        end_step.alias("end_step"),
        told("abort", "ok").alias("told_aborted"),
        told("commit", "ok").alias("told_committed"),
        told("commit", "ok", "info").alias("maybe_committed"),
        answered_at.alias("answered_at"),
        last_end.alias("last_end"),
    )
    return each.groupBy("run", "client", "number").agg(
        F.min_by("process", "first").alias("process"),
        F.min("first").alias("first"),
        F.coalesce(F.max_by("end_step", "asked_at"), F.lit(-1)).alias("end_step"),
        *(F.max(flag).alias(flag) for flag in flags),
        F.max_by("last_end", "answered_at").alias("last_end"),
    )
