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

from kafkalab.spark.key_pass.files import HEADERS
from kafkalab.spark.storage.places import Place, place_of

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

    def work(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for at in batch.column(0).to_pylist():
                with place_of(paths[at]).open() as file:
                    yield from rows_of(pq.ParquetFile(file, page_checksum_verification=True), schema.names)

    return spark.range(len(paths)).mapInArrow(work, schema) if paths else spark.createDataFrame([], schema)


def rows_of(file: pq.ParquetFile, names: list[str]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a file with these columns; records that were written before there were headers have none."""
    for batch in file.iter_batches(batch_size=ROWS_OF_A_BATCH):
        if "headers" in names and "headers" not in batch.schema.names:
            batch = batch.append_column("headers", pa.array([[]] * batch.num_rows, HEADERS))
        yield batch.select(names)
