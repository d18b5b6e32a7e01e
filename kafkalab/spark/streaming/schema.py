"""The columns of an `Arrival`, for Spark and for Arrow."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from kafkalab.history.schema import columns_in
from kafkalab.spark.storage.schemas import arrow_struct, spark_struct
from kafkalab.spark.streaming.arrivals import Arrival

COLUMNS = columns_in(Arrival)
SCHEMA = spark_struct(COLUMNS)


def arrow_arrivals(rows: Iterable[Arrival]) -> pa.RecordBatch:
    """Return the rows as one batch, in their order."""
    columns = list(zip(*rows, strict=True)) or [()] * len(COLUMNS)
    return pa.RecordBatch.from_pydict({c.name: column for c, column in zip(COLUMNS, columns, strict=True)},
                                      arrow_struct(COLUMNS))  # fmt: skip
