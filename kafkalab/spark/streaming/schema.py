"""The columns of an `Arrival`, for Spark and for Arrow."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from kafkalab.history.schema import columns_in
from kafkalab.spark.storage.schemas import arrow_rows, spark_struct
from kafkalab.spark.streaming.arrivals import Arrival

COLUMNS = columns_in(Arrival)
SCHEMA = spark_struct(COLUMNS)


def arrow_arrivals(rows: Iterable[Arrival]) -> pa.RecordBatch:
    """Return the rows as one batch, in their order."""
    return arrow_rows(COLUMNS, rows)
