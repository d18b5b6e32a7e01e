"""All tables of some runs in one row: so that what took long to simulate is simulated once, not once a table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import BinaryType, StructField, StructType

from kafkalab.history.history import History
from kafkalab.spark.storage.schemas import TABLES, arrow_batch, spark_schema

BUNDLE = "bundle"
"""The name under which the data source gives it."""
SCHEMA = StructType([StructField(name, BinaryType(), False) for name in TABLES])
"""One column a table: its rows as an Arrow stream."""


def arrow_bundle(runs: Iterable[tuple[int, History]]) -> pa.RecordBatch:
    """One row with the tables of these histories."""
    given = list(runs)
    schema = pa.schema([pa.field(name, pa.binary(), nullable=False) for name in TABLES])
    return pa.RecordBatch.from_pylist([{name: _packed(arrow_batch(name, given)) for name in TABLES}], schema)


def table_of(bundle: DataFrame, table: str) -> DataFrame:
    """One table out of bundles, with its schema."""
    return bundle.select(table).mapInArrow(_unpack, spark_schema(table))


def unpacked(packed: pa.BinaryScalar) -> pa.Table:
    """The rows of one table in a bundle."""
    return pa.ipc.open_stream(packed.as_buffer()).read_all()


def _packed(batch: pa.RecordBatch) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    packed: bytes = sink.getvalue().to_pybytes()
    return packed


def _unpack(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for packed in batch.column(0):
            yield from pa.ipc.open_stream(packed.as_buffer())
