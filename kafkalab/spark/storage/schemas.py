"""The tables of a history as Spark and Arrow know them: derived from kafkalab/history/schema.py, written nowhere else.

Every table begins with `run`, the number of the run that a row belongs to (a seed, or 0), so that thousands of runs lie
in one table.
"""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from kafkalab.history.history import History
from kafkalab.history.schema import ROWS, Column, columns_of

RUN = Column("run", "int64", False, "number of the run: its seed, or 0")
TABLES = tuple(ROWS)
_SPARK: dict[str, DataType] = {
    "int64": LongType(),
    "int32": IntegerType(),
    "string": StringType(),
    "bool": BooleanType(),
    "list<string>": ArrayType(StringType(), containsNull=False),
}
_ARROW: dict[str, pa.DataType] = {
    "int64": pa.int64(),
    "int32": pa.int32(),
    "string": pa.string(),
    "bool": pa.bool_(),
    "list<string>": pa.list_(pa.field("element", pa.string(), nullable=False)),
}


def columns(table: str) -> tuple[Column, ...]:
    """The table's columns, `run` first. ValueError, naming the tables, for an unknown one."""
    if table not in ROWS:
        raise ValueError(f"a history has no table {table!r}; there are {', '.join(TABLES)}")
    return (RUN, *columns_of(table))


def spark_schema(table: str) -> StructType:
    """The table's schema; each column's sentence is its comment."""
    return StructType([StructField(c.name, _SPARK[c.type], c.nullable, {"comment": c.doc}) for c in columns(table)])


def arrow_schema(table: str) -> pa.Schema:
    """The same for Arrow and Parquet."""
    return pa.schema([pa.field(c.name, _ARROW[c.type], nullable=c.nullable) for c in columns(table)])


def arrow_batch(table: str, runs: Iterable[tuple[int, History]]) -> pa.RecordBatch:
    """One table of several histories, as one batch in the order of the runs."""
    schema = arrow_schema(table)
    values: dict[str, list[object]] = {name: [] for name in schema.names}
    for run, history in runs:
        rows = history.table(table)
        values["run"] += [run] * len(rows)
        for column in columns_of(table):
            values[column.name] += [getattr(row, column.name) for row in rows]
    return pa.RecordBatch.from_pydict(values, schema)
