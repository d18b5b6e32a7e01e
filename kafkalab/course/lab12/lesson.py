"""The tables of lab 12: a history with injected anomalies, made smaller and easier to ask, and what is true of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.window import Window

from kafkalab.course.lab12.nights import RATE, RECORDS, Place, places, set_rates
from kafkalab.spark.storage.schemas import spark_schema
from kafkalab.spark.synthetic.generator import MADE, Synthetic, synthetic
from kafkalab.spark.synthetic.tables import batch_of


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Lesson:
    """Views of one history by their names, and the places (key, offset) of each injected anomaly."""

    views: dict[str, DataFrame]
    truth: dict[str, list[Place]]

    def show_as_views(self) -> None:
        """`SELECT ... FROM records` means this history's from now on."""
        for name, frame in self.views.items():
            frame.createOrReplaceTempView(name)


def lesson(spark: SparkSession, seed: int = 1, records: int = RECORDS, rate: float = RATE) -> Lesson:
    """A history with the four anomalies of ASKED injected; the same for the same seed."""
    made = a_night(spark, seed, records, rate)
    views = views_of(made.operations, made.log, made.reads, made.polls)
    return Lesson(views={name: frame.persist() for name, frame in views.items()}, truth=places(made.shape))


def a_night(spark: SparkSession, seed: int = 1, records: int = RECORDS, rate: float = RATE) -> Synthetic:
    """The history of the lesson with this seed, as the audits take it; its tables lie in the driver's memory."""
    return _at_hand(spark, synthetic(spark, records=records, inject=set_rates(rate), seed=seed))


def _at_hand(spark: SparkSession, made: Synthetic) -> Synthetic:
    """The same history made here and now: for a small one that is much faster than tasks are."""
    tables: dict[str, Any] = {}
    for name in MADE:
        batches = [batch_of(made.shape, cell, name) for cell in range(made.shape.cells)]
        tables[name] = spark.createDataFrame(pa.Table.from_batches(batches), spark_schema(name))
    return Synthetic(**tables, labels=made.labels, truth=made.truth, shape=made.shape)


def views_of(operations: DataFrame, log: DataFrame, reads: DataFrame, polls: DataFrame) -> dict[str, DataFrame]:
    """The views of lab 12, of the tables of one run.

    records (key, offset, value, producer_id, producer_epoch, outcome): what the logs hold, without markers; the outcome
    is committed, aborted, open, or plain outside transactions. acknowledged (key, offset, value, committed): what
    producers were told. reads (consumer, isolation_level, poll, key, offset, value). polls (consumer, poll, key,
    from_offset, to_offset, moved).
    """
    commits = operations.where("function = 'commit' AND type = 'ok'").select("client", "transaction").distinct()
    told = operations.where("function = 'send' AND type = 'ok' AND offset >= 0")
    told = told.join(commits.withColumn("ended", F.lit(True)), ["client", "transaction"], "left")
    return {
        "records": records_of(log),
        "acknowledged": told.selectExpr(
            "key", "offset", "value", "transaction < 1 OR coalesce(ended, false) AS committed"
        ),
        "reads": reads.select("consumer", "isolation_level", "poll", "key", "offset", "value"),
        "polls": polls.selectExpr(
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


def a_million(spark: SparkSession, seed: int = 1) -> DataFrame:
    """A log with a million records and markers, and one torn transaction; made anew whenever it is asked."""
    return _with_one_torn(spark, seed, 1_000_000).log


def _with_one_torn(spark: SparkSession, seed: int, records: int) -> Synthetic:
    return synthetic(spark, records=records, inject={"torn transaction": 1 / records}, seed=seed)
