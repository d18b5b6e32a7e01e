"""Arrivals as a DataFrame: made of the tables of histories, or read from a folder that grows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from kafkalab.checks.view import LACKS
from kafkalab.spark.storage.frames import Histories
from kafkalab.spark.storage.rows import rows_of_table
from kafkalab.spark.streaming.arrivals import ORDER, arrival_of
from kafkalab.spark.streaming.schema import SCHEMA, arrow_arrivals


def arrivals(histories: Histories) -> DataFrame:
    """The arrivals of these histories, batch or stream, in no particular order of rows."""
    made = reduce(DataFrame.unionByName, [_of_table(histories.table(name), name) for name in ORDER])
    labels = histories.labels.where((F.col("name") == LACKS) & (F.col("value") == "operations"))
    made = made.join(F.broadcast(labels.select("run", F.lit(True).alias("unsent")).distinct()), "run", "left")
    value = F.when(~F.coalesce("unsent", F.lit(False)) | (F.col("kind") != "record"), F.col("value"))
    return made.withColumn("value", value).select(*SCHEMA.names)


def _of_table(frame: DataFrame, table: str) -> DataFrame:
    def work(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            runs, rows = batch.column("run").to_pylist(), rows_of_table(table, pa.Table.from_batches([batch]))
            made = (arrival_of(run, table, row) for run, row in zip(runs, rows, strict=True))
            yield arrow_arrivals(filter(None, made))

    return frame.mapInArrow(work, SCHEMA)


def read_arrivals(spark: SparkSession, path: str | Path) -> DataFrame:
    """A stream of the Parquet files of this folder, those that come later too; one in each micro-batch.

    FileNotFoundError where there is no such folder.
    """
    if not Path(path).is_dir():
        raise FileNotFoundError(f"there is no folder {path} to read arrivals from")
    reader = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
    return reader.parquet(str(path))
