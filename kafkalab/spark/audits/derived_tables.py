"""The tables that audits derive from histories: records with their transactions, markers with their decisions."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, wraps
from pathlib import Path

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from kafkalab.checks.view import COMMITTED, PLAIN
from kafkalab.spark.audits.asof import last_before
from kafkalab.spark.audits.transactions import transactions
from kafkalab.spark.key_pass.records import RECORDS, SEEN
from kafkalab.spark.storage.frames import Histories

FINAL = (COMMITTED, PLAIN)
Make = Callable[["DerivedTables"], DataFrame]
Keep = Callable[[str, DataFrame], DataFrame]


class DerivedTables:
    """Tables that several audits share, each made when it is first needed.

    `folder` is where the key pass wrote `records` and `seen`; `keep(name, frame)` may store a DataFrame and returns
    one of the same rows.
    """

    def __init__(self, histories: Histories, folder: Path, keep: Keep = lambda _, frame: frame) -> None:
        self.histories, self.folder, self.keep = histories, folder, keep
        self._made: dict[str, DataFrame] = {}

    def once(self, name: str, make: Callable[[], DataFrame]) -> DataFrame:
        """Return what `make` gives; it is called and kept once for each `name`."""
        if name not in self._made:
            self._made[name] = self.keep(name, make())
        return self._made[name]

    @cached_property
    def records(self) -> DataFrame:
        """The log without what was truncated: the columns of RECORDS. The key pass wrote it."""
        return self._written("records", RECORDS)

    @cached_property
    def seen(self) -> DataFrame:
        """All reads: the columns of SEEN, `record` null where the log lacks what was read. The key pass wrote it."""
        return self._written("seen", SEEN)

    def _written(self, name: str, schema: str) -> DataFrame:
        spark, folder = self.histories.log.sparkSession, self.folder / name
        return spark.read.schema(schema).parquet(str(folder)) if folder.is_dir() else spark.createDataFrame([], schema)

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
    def transactions(self) -> DataFrame:
        """All transactions: the columns of `kafkalab.spark.audits.transactions`."""
        return self.keep("transactions", transactions(self.histories.operations, self.records))

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


def once(name: str) -> Callable[[Make], Make]:
    """Decorate a function of DerivedTables: what it returns is made and kept once, under `name`."""
    return lambda make: wraps(make)(lambda derived: derived.once(name, lambda: make(derived)))


def has_text(column: str) -> Column:
    """Whether a text is there and not empty."""
    return F.coalesce(F.col(column), F.lit("")) != ""
