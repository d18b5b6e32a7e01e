"""Arrivals as a DataFrame: made of the tables of histories, read as they are simulated, or from a folder that grows."""

from __future__ import annotations

from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from kafkalab.checks.needs import LACKS
from kafkalab.spark.simulation.source import register
from kafkalab.spark.storage.schemas import columns
from kafkalab.spark.streaming.arrivals import ARRIVALS, CONDITIONS, ORDER, RENAMED
from kafkalab.spark.streaming.schema import COLUMNS, SCHEMA

if TYPE_CHECKING:
    from kafkalab.spark.storage.frames import Histories

_DEFAULTS = {"int64": "-1", "int32": "-1", "string": "''", "bool": "false", "list<string>": "array()"}


def arrivals(histories: Histories) -> DataFrame:
    """The arrivals of these histories, batch or stream, in no particular order of rows."""
    made = reduce(DataFrame.unionByName, [_of_table(histories.table(name), name) for name in ORDER])
    labels = histories.labels.where((F.col("name") == LACKS) & (F.col("value") == "operations"))
    made = made.join(F.broadcast(labels.select("run", F.lit(True).alias("unsent")).distinct()), "run", "left")
    value = F.when(~F.coalesce("unsent", F.lit(False)) | (F.col("kind") != "record"), F.col("value"))
    return made.withColumn("value", value).select(*SCHEMA.names)


def _of_table(frame: DataFrame, table: str) -> DataFrame:
    own = {column.name for column in columns(table)}
    made = []
    for name, kind, nullable, _ in COLUMNS:
        default = "null" if nullable else _DEFAULTS[kind]
        source = str(ORDER.index(table)) if name == "rank" else f"`{name}`" if name in own else default
        made.append(F.expr(RENAMED[table].get(name, source)).cast(SCHEMA[name].dataType).alias(name))
    return frame.where(CONDITIONS[table]).select(*made)


def read_arrivals(spark: SparkSession, path: str | Path, files_at_once: int = 1) -> DataFrame:
    """A stream of the Parquet files of this folder, those that come later too; `files_at_once` in each micro-batch.

    FileNotFoundError where there is no such folder.
    """
    if not Path(path).is_dir():
        raise FileNotFoundError(f"there is no folder {path} to read arrivals from")
    reader = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", files_at_once)
    return reader.parquet(str(path))


def stream_of_simulations(spark: SparkSession, seeds: str = "1-1000", seeds_at_once: int = 10) -> DataFrame:
    """The arrivals of these seeds' simulations, `seeds_at_once` whole runs in each micro-batch."""
    register(spark)
    reader = spark.readStream.format("kafkalab").option("table", ARRIVALS).option("seeds", seeds)
    return reader.option("seedsPerBatch", str(seeds_at_once)).load()
