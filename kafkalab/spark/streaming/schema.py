"""The columns of an `Arrival`, for Spark and for Arrow."""

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

from kafkalab.spark.streaming.arrivals import NAMES, Arrival

_LONGS = ("run", "step", "at_ms", "offset", "producer_id", "transaction", "high_watermark", "last_stable_offset")
_INTS = ("rank", "producer_epoch", "sequence")
_OTHERS: dict[str, DataType] = {"transactional": BooleanType(), "partitions": ArrayType(StringType(), False)}
_NULL = ("record_key", "value")


def type_of(name: str) -> DataType:
    """The type of the column of this name."""
    if name in _LONGS:
        return LongType()
    return IntegerType() if name in _INTS else _OTHERS.get(name, StringType())


SCHEMA = StructType([StructField(name, type_of(name), name in _NULL) for name in NAMES])
"""The columns of `Arrival`."""


def arrow_arrivals(rows: Iterable[Arrival]) -> pa.RecordBatch:
    """The rows as one batch, in their order."""
    given = list(rows)
    fields = [pa.field(name, _arrow(type_of(name)), nullable=name in _NULL) for name in NAMES]
    return pa.RecordBatch.from_pydict(
        {name: [getattr(row, name) for row in given] for name in NAMES}, pa.schema(fields)
    )


def _arrow(given: DataType) -> pa.DataType:
    plain: dict[DataType, pa.DataType] = {
        LongType(): pa.int64(),
        IntegerType(): pa.int32(),
        BooleanType(): pa.bool_(),
        StringType(): pa.string(),
    }
    return pa.list_(pa.field("element", pa.string(), nullable=False)) if isinstance(given, ArrayType) else plain[given]
