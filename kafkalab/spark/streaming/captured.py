"""The arrivals of a capture, round by round: a stream whose offset is the number of chunks that whole rounds have.

A micro-batch has whole rounds, so the decisions of all markers in it are there, and rows of all partitions can be put
in order. The files of a chunk are known by its number: nothing is listed, however many there are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit
from pyspark.sql.types import StructType

from kafkalab.checks.from_a_log import LACKING
from kafkalab.checks.view import LACKS
from kafkalab.history.history import History
from kafkalab.history.schema import Label
from kafkalab.saved_data import CAPTURE, CAPTURED, json_file
from kafkalab.spark.storage.chunks import files_of_chunk
from kafkalab.spark.storage.rows import rows_of_table
from kafkalab.spark.streaming.arrivals import Arrival, arrivals_of
from kafkalab.spark.streaming.schema import SCHEMA, arrow_arrivals

TABLES = ("transactions", "log", "watermarks", "labels")


def read_capture(spark: SparkSession, path: str | Path) -> DataFrame:
    """A stream of what is captured in this folder, now and later. FileNotFoundError where no capture is."""
    if not (Path(path) / CAPTURE).is_file():
        raise FileNotFoundError(f"there is no capture in {path}; `kafkalab capture --follow` makes one")
    spark.dataSource.register(CaptureSource)
    return spark.readStream.format(CaptureSource.name()).load(str(Path(path).absolute()))


class CaptureSource(DataSource):
    """The data source `kafkalab-capture`."""

    @classmethod
    def name(cls) -> str:
        return "kafkalab-capture"

    def schema(self) -> StructType:
        return SCHEMA

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        return Reader(Path(self.options["path"]))


class Reader(DataSourceStreamReader):
    """Reads whole rounds."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def initialOffset(self) -> dict[str, int]:
        return {"chunk": 0}

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:
        state = json_file(self.folder / CAPTURE, CAPTURED)
        return {"chunk": int(state.get("whole", state["chunks"]))}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[InputPartition]:
        chunks = range(start["chunk"], end["chunk"])
        return [InputPartition(chunks)] if chunks else []

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        yield arrow_arrivals(arrivals_of_chunks(self.folder, partition.value))

    def commit(self, end: dict[str, int]) -> None:
        """Nothing to forget: a capture keeps its files."""


def arrivals_of_chunks(folder: Path, chunks: Iterable[int]) -> list[Arrival]:
    """The arrivals of whole rounds, and a clock: the newest time that is none of a producer.

    Records count as appended then: nothing is called late by a producer's clock.
    """
    buckets = int(json_file(folder / CAPTURE, CAPTURED)["buckets"])
    tables = {table: _rows(folder, table, chunks, buckets) for table in TABLES}
    lacks = tuple(Label(LACKS, table) for table in LACKING)
    found = list(arrivals_of([(0, History(**{**tables, "labels": (*tables["labels"], *lacks)}))]))
    read_ms = max((row.at_ms for row in found if row.kind != "record"), default=-1)
    made = [row._replace(at_ms=read_ms) if row.kind == "record" else row for row in found]
    last = max((row.step for row in found if row.kind != "clock"), default=-1)
    return [*made, Arrival(run=0, step=last + 1, rank=0, at_ms=read_ms, kind="clock")]


def _rows(folder: Path, table: str, chunks: Iterable[int], buckets: int) -> tuple[Any, ...]:
    files = (file for number in chunks for file in files_of_chunk(folder, number, table, buckets))
    return tuple(row for file in files for row in rows_of_table(table, pq.ParquetFile(file).read()))
