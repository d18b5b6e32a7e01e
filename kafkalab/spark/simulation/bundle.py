"""All tables of some runs in one row: so that what took long to simulate is simulated once, not once a table."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import ArrayType, StructField, StructType

from kafkalab.history.history import History
from kafkalab.spark.storage.schemas import TABLES, arrow_batch, spark_schema

BUNDLE = "bundle"
"""The name under which the data source gives it."""
SCHEMA = StructType([StructField(name, ArrayType(spark_schema(name), False), False) for name in TABLES])
"""One column a table: its rows."""
ARROW = to_arrow_schema(SCHEMA)


def arrow_bundle(runs: Iterable[tuple[int, History]]) -> pa.RecordBatch:
    """One row with the tables of these histories."""
    given, columns = list(runs), []
    for name, kind in zip(ARROW.names, ARROW.types, strict=True):
        rows = arrow_batch(name, given).to_struct_array().cast(kind.value_type)
        columns.append(pa.ListArray.from_arrays([0, len(rows)], rows, type=kind))
    return pa.RecordBatch.from_arrays(columns, schema=ARROW)


def table_of(bundle: DataFrame, table: str) -> DataFrame:
    """One table out of bundles, with its schema."""
    return bundle.selectExpr(f"inline({table})")
