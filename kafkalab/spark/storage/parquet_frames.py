"""Parquet files as DataFrames: Spark's own reader and writer on this machine, pyarrow in the executors elsewhere.

Spark itself reaches S3 and its like only with jars that PySpark does not bring.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from kafkalab.spark.storage.places import Place, place_of
from kafkalab.spark.storage.schemas import arrow_schema
from kafkalab.spark.storage.tasks import in_tasks

ROWS_OF_A_BATCH = 20_000


def write_frame(frame: DataFrame, place: Place) -> None:
    """Write the rows into a new folder."""
    if place.local is not None:
        frame.write.parquet(str(place))
        return

    def work(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        task: Any = TaskContext.get()
        if rows := [batch for batch in batches if batch.num_rows]:
            with (place / f"part-{task.partitionId():05}.parquet").whole() as file:
                pq.write_table(pa.Table.from_batches(rows), file)
        yield from ()

    frame.mapInArrow(work, "path string").collect()


def read_frame(spark: SparkSession, place: Place, schema: StructType) -> DataFrame:
    """Return the rows that `write_frame` wrote."""
    if place.local is not None:
        return spark.read.schema(schema).parquet(str(place))
    return read_files(spark, [(place / name).text for name in place.files()], schema)


def read_files(spark: SparkSession, paths: list[str], schema: StructType) -> DataFrame:
    """Return the rows of these files, which the executors read with pyarrow."""

    def work(at: int) -> Iterator[pa.RecordBatch]:
        with place_of(paths[at]).open() as file:
            yield from rows_of(pq.ParquetFile(file, page_checksum_verification=True), schema.names)

    return in_tasks(spark, len(paths), work, schema, together=True)


def rows_of(file: pq.ParquetFile, names: list[str]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a file with these columns; records that were written before there were headers have none."""
    for batch in file.iter_batches(batch_size=ROWS_OF_A_BATCH):
        if "headers" in names and "headers" not in batch.schema.names:
            none = pa.array([[]] * batch.num_rows, arrow_schema("log").field("headers").type)
            batch = batch.append_column("headers", none)
        yield batch.select(names)
