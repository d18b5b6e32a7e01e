"""What audits derive from histories, once: the same things as `kafkalab.checks.view`, as DataFrames over all runs."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from kafkalab.checks.view import ABORTED, COMMITTED, OPEN, PLAIN
from kafkalab.protocol.partitions import INTERNAL_TOPICS
from kafkalab.spark.audits import links, walks
from kafkalab.spark.audits.asof import last_before
from kafkalab.spark.storage.frames import Histories

FINAL = (COMMITTED, PLAIN)
Keep = Callable[[str, DataFrame], DataFrame]


class View:
    """All that audits look at, each made when it is first asked for.

    `keep(name, frame)` may store what several audits use; it returns a DataFrame of the same rows.
    """

    def __init__(self, histories: Histories, keep: Keep = lambda _, frame: frame) -> None:
        self.histories = histories
        self.keep = keep
        self._made: dict[str, DataFrame] = {}

    def once(self, name: str, make: Callable[[], DataFrame]) -> DataFrame:
        """What `make` gives, made and kept when it is first asked for by this name."""
        if name not in self._made:
            self._made[name] = self.keep(name, make())
        return self._made[name]

    @cached_property
    def records(self) -> DataFrame:
        """The log without what was truncated; with topic, internal, outcome, marker, and the transaction's owner.

        `outcome` is empty for a marker; `marker` the struct (step, offset, control, producer_epoch) that ended the
        record; `txn`, `client`, `number`, `ordinal` (place among the transaction's records) as in `links.owned`.
        """
        owned = links.owned(self.histories, self.entries)
        topic = F.regexp_extract("key", r"^(.*)-[^-]*$", 1)
        behind = Window.partitionBy("run", "key", "producer_id").orderBy(F.desc("offset"), F.desc("step"))
        behind = behind.rowsBetween(Window.unboundedPreceding, Window.currentRow)
        here = F.struct("step", "offset", "control", "producer_epoch")
        marker = F.last(F.when(F.col("control") != "", here), ignorenulls=True).over(behind)
        in_transaction = F.col("transactional") & (F.col("control") == "")
        ended = F.when(F.col("marker.control") == "COMMIT", COMMITTED).otherwise(ABORTED)
        outcome = (
            F.when(F.col("control") != "", "")
            .when(~F.col("transactional"), PLAIN)
            .when(F.col("marker").isNull(), OPEN)
            .otherwise(ended)
        )
        found = (
            owned.withColumn("topic", topic)
            .withColumn("internal", topic.isin(*INTERNAL_TOPICS))
            .withColumn("marker", F.when(in_transaction, marker))
            .withColumn("outcome", outcome)
        )
        return self.keep("records", found)

    @cached_property
    def data(self) -> DataFrame:
        """The records that are no markers, of topics that are not internal."""
        return self.records.where((F.col("control") == "") & ~F.col("internal"))

    @cached_property
    def known(self) -> DataFrame:
        """What readers may know: run, key, offset, value, step of what is committed or plain, and not removed."""
        final = (F.col("control") == "") & (F.col("removed") == "") & F.col("outcome").isin(*FINAL)
        return self.records.where(final).select("run", "key", "offset", "value", "step")

    @cached_property
    def entries(self) -> DataFrame:
        """The transaction log without what was truncated; `n` counts a run's entries in their order."""
        order = Window.partitionBy("run").orderBy("step", "key", "offset")
        found = self.histories.transactions.where(F.col("removed") != "truncated")
        return self.keep("entries", found.withColumn("n", F.row_number().over(order)))

    @cached_property
    def decided(self) -> DataFrame:
        """Every marker's run, key, offset with `decision`: struct (step, producer_id), null where no PREPARE is."""
        markers = self.records.where(F.col("control") != "")
        prepared = self.entries.where(F.col("state").isin("PrepareCommit", "PrepareAbort"))
        outcome = F.when(F.col("state") == "PrepareCommit", "COMMIT").otherwise("ABORT")
        named = prepared.select(
            "run",
            "n",
            "step",
            "producer_id",
            "producer_epoch",
            outcome.alias("control"),
            F.explode(F.array_distinct("partitions")).alias("key"),
        )
        by = ("run", "key", "producer_id", "producer_epoch", "control")
        markers = markers.select(*by, "offset", "step", "frame")
        found = last_before(markers, named, by, F.col("step"), F.col("step"), "newest", inclusive=True, order="n")
        decision = F.when(F.col("newest").isNotNull(), F.struct("newest.step", "newest.producer_id"))
        return self.keep("decided", found.withColumn("decision", decision).drop("newest"))

    @cached_property
    def sends(self) -> DataFrame:
        """All sends, as `links.sends` has them."""
        return self.keep("sends", links.sends(self.histories.operations))

    @cached_property
    def links(self) -> DataFrame:
        """Which places of the log each send led to, as `links.links` has them."""
        return self.keep("links", links.links(self.sends, self.histories.log))

    @cached_property
    def transactions(self) -> DataFrame:
        """All transactions, those of clients and those of records without one, as `links.transactions` has them."""
        return self.keep("transactions", links.transactions(self.histories.operations, self.records))

    @cached_property
    def seen(self) -> DataFrame:
        """All reads, with `record`: the struct of the record at their place if it has the value that was read."""
        kept = ("step", "outcome", "marker", "txn", "client", "number")
        here = self.records.where(F.col("control") == "").select(
            "run", "key", "offset", F.col("value").alias("_value"), F.struct(*kept).alias("record")
        )
        found = self.histories.reads.join(here, ["run", "key", "offset"], "left")
        same = F.col("_value").eqNullSafe(F.col("value"))
        return self.keep("seen", found.withColumn("record", F.when(same, F.col("record"))).drop("_value"))

    @cached_property
    def stretches(self) -> DataFrame:
        """Every poll of every key, as `walks.stretches` has them."""
        return self.keep("stretches", walks.stretches(self.histories))

    @cached_property
    def passages(self) -> DataFrame:
        """What was read in one go, for each key, as `walks.passages` has it."""
        return self.keep("passages", walks.passages(self.stretches, self.histories.reads))

    @cached_property
    def jumps(self) -> DataFrame:
        """Every place where a consumer did not go on where it was, as `walks.jumps` has them."""
        return self.keep("jumps", walks.jumps(self.stretches, self.histories.reads))

    @cached_property
    def end_ms(self) -> DataFrame:
        """The virtual time at which each run ended: run, end_ms."""
        tables = (self.histories.table(name) for name in ("operations", "log", "reads", "transactions"))
        parts = [table.groupBy("run").agg(F.max("at_ms").alias("end_ms")) for table in tables]
        label = self.histories.labels.where(F.col("name") == "end_ms")
        times = label.select("run", F.col("value").cast("bigint").alias("end_ms"))
        for part in parts:
            times = times.unionByName(part)
        return self.keep("end_ms", times.groupBy("run").agg(F.max("end_ms").alias("end_ms")))


def has_text(column: str) -> Column:
    """Whether a text is there and not empty."""
    return F.coalesce(F.col(column), F.lit("")) != ""
