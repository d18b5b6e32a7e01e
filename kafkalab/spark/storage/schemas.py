"""The tables of a history as Spark and Arrow know them: derived from kafkalab/history/schema.py, written nowhere else.

Every table begins with `run`, the number of the run that a row belongs to (a seed, or 0), so that thousands of runs lie
in one table.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_type
from pyspark.sql.types import StructField, StructType

from kafkalab.history.history import History
from kafkalab.history.schema import ROWS, Column, columns_of

RUN = Column("run", "int64", False, "number of the run: its seed, or 0")
TABLES = tuple(ROWS)
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
    """Return the table's schema; each column's sentence is its comment."""
    return spark_struct(columns(table))


def arrow_schema(table: str) -> pa.Schema:
    """Return the same for Arrow and Parquet."""
    return arrow_struct(columns(table))


def spark_struct(of: Iterable[Column]) -> StructType:
    """Return a Spark schema with these columns."""
    fields = [StructField(c.name, from_arrow_type(_ARROW[c.type]), c.nullable, {"comment": c.doc}) for c in of]
    return StructType(fields)


def arrow_struct(of: Iterable[Column]) -> pa.Schema:
    """Return an Arrow schema with these columns."""
    return pa.schema([pa.field(c.name, _ARROW[c.type], nullable=c.nullable) for c in of])


def arrow_batch(table: str, runs: Iterable[tuple[int, History]]) -> pa.RecordBatch:
    """Return one table of several histories, as one batch in the order of the runs."""
    rows = ((run, *row) for run, history in runs for row in history.table(table))
    return arrow_rows(columns(table), rows)


def arrow_rows(of: Sequence[Column], rows: Iterable[tuple[object, ...]]) -> pa.RecordBatch:
    """Return the rows, in their order, as one batch with these columns."""
    cells = list(zip(*rows, strict=True)) or [()] * len(of)
    return pa.RecordBatch.from_arrays([pa.array(c, f.type) for c, f in zip(cells, arrow_struct(of), strict=True)],
                                      schema=arrow_struct(of))  # fmt: skip
