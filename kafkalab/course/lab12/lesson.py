"""The tables of lab 12: a history with injected anomalies, made smaller and easier to ask, and what is true of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.window import Window

from kafkalab.spark.storage.frames import Histories
from kafkalab.spark.storage.schemas import spark_schema
from kafkalab.spark.synthetic.generator import MADE, Synthetic, synthetic
from kafkalab.spark.synthetic.shape import Shape
from kafkalab.spark.synthetic.tables import batch_of, truth_of

ASKED = ("duplicate", "G1a", "lost-write", "poll-skip")
Place = tuple[str, int]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Lesson:
    """Views of one history by their names, and the places (key, offset) of each injected anomaly."""

    views: dict[str, DataFrame]
    truth: dict[str, list[Place]]

    def show_as_views(self) -> None:
        """`SELECT ... FROM records` means this history's from now on."""
        for name, frame in self.views.items():
            frame.createOrReplaceTempView(name)


def lesson(spark: SparkSession, seed: int = 1, records: int = 10_000, rate: float = 4e-4) -> Lesson:
    """A history with the four anomalies of ASKED injected; the same for the same seed."""
    made = a_night(spark, seed, records, rate)
    views = {name: frame.persist() for name, frame in views_of(made).items()}
    return Lesson(views=views, truth=places(made.shape))


def a_night(spark: SparkSession, seed: int = 1, records: int = 10_000, rate: float = 4e-4) -> Synthetic:
    """The history of the lesson with this seed, as the audits take it; its tables lie in the driver's memory."""
    return _at_hand(spark, synthetic(spark, records=records, inject=dict.fromkeys((*ASKED, "unseen"), rate), seed=seed))


def _at_hand(spark: SparkSession, made: Synthetic) -> Synthetic:
    """The same history made here and now: for a small one that is much faster than tasks are."""
    tables: dict[str, Any] = {}
    for name in MADE:
        batches = [batch_of(made.shape, cell, name) for cell in range(made.shape.cells)]
        tables[name] = spark.createDataFrame(pa.Table.from_batches(batches), spark_schema(name))
    return Synthetic(**tables, labels=made.labels, truth=made.truth, shape=made.shape)


def views_of(histories: Histories) -> dict[str, DataFrame]:
    """The views of lab 12, of histories with one run.

    records (key, offset, value, producer_id, producer_epoch, outcome): what the logs hold, without markers; the outcome
    is committed, aborted, open, or plain outside transactions. acknowledged (key, offset, value, committed): what
    producers were told. reads (consumer, isolation_level, poll, key, offset, value). polls (consumer, poll, key,
    from_offset, to_offset, moved).
    """
    operations = histories.operations
    commits = operations.where("function = 'commit' AND type = 'ok'").select("client", "transaction").distinct()
    told = operations.where("function = 'send' AND type = 'ok' AND offset >= 0")
    told = told.join(commits.withColumn("ended", F.lit(True)), ["client", "transaction"], "left")
    return {
        "records": records_of(histories.log),
        "acknowledged": told.selectExpr(
            "key", "offset", "value", "transaction < 1 OR coalesce(ended, false) AS committed"
        ),
        "reads": histories.reads.select("consumer", "isolation_level", "poll", "key", "offset", "value"),
        "polls": histories.polls.selectExpr(
            "consumer", "poll", "key", "start AS from_offset", "`end` AS to_offset", "moved"
        ),
    }


def records_of(log: DataFrame) -> DataFrame:
    """The log's records with their outcome: that of the first marker of their producer id behind them."""
    behind = Window.partitionBy("run", "key", "producer_id").orderBy("offset").rowsBetween(0, Window.unboundedFollowing)
    marker = F.first(F.when(F.col("control") != "", F.col("control")), ignorenulls=True).over(behind)
    there = log.where("removed != 'truncated' AND key NOT LIKE '\\\\_\\\\_%'")
    return (
        there.withColumn("marker", marker)
        .where("control = ''")
        .selectExpr(
            "key", "offset", "value", "producer_id", "producer_epoch",
            "CASE WHEN NOT transactional THEN 'plain' WHEN marker = 'COMMIT' THEN 'committed' "
            "WHEN marker = 'ABORT' THEN 'aborted' ELSE 'open' END AS outcome",
        )
    )  # fmt: skip


def places(shape: Shape) -> dict[str, list[Place]]:
    """The places of every injected anomaly, in order; what has no offset has no place."""
    found: dict[str, set[Place]] = {}
    for cell in range(shape.cells):
        for row in truth_of(shape, cell).to_pylist():
            keys, here = row["keys"], found.setdefault(row["anomaly"], set())
            here |= {(keys[min(i, len(keys) - 1)], offset) for i, offset in enumerate(row["offsets"])}
    return {anomaly: sorted(here) for anomaly, here in found.items()}


def a_million(spark: SparkSession, seed: int = 1) -> DataFrame:
    """A log with a million records and markers, and one torn transaction; made anew whenever it is asked."""
    return _with_one_torn(spark, seed, 1_000_000).log


def one_torn(spark: SparkSession, seed: int, records: int) -> tuple[DataFrame, list[tuple[int, int]]]:
    """The log of a history in which one transaction is torn; producer id and epoch of that transaction's markers."""
    made = _at_hand(spark, _with_one_torn(spark, seed, records))
    torn = [f"{key} {offset}" for key, offset in places(made.shape)["torn transaction"]]
    there = made.log.where(F.concat_ws(" ", "key", "offset").isin(torn))
    named = there.selectExpr("producer_id", "producer_epoch + 1").distinct().collect()
    return made.log, sorted((int(row[0]), int(row[1])) for row in named)


def _with_one_torn(spark: SparkSession, seed: int, records: int) -> Synthetic:
    return synthetic(spark, records=records, inject={"torn transaction": 1 / records}, seed=seed)
