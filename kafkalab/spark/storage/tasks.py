"""Numbered tasks: Spark hands out numbers, and the executors' Python does the work that each of them stands for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType


def in_tasks(
    spark: SparkSession,
    count: int,
    work: Callable[[int], Iterable[pa.RecordBatch]],
    schema: pa.Schema | StructType | str,
    together: bool = False,
) -> DataFrame:
    """Return what `work` gives for every number below `count`: each is a task, or with `together` a part of one."""
    from pyspark.sql.pandas.types import from_arrow_schema

    kind = from_arrow_schema(schema) if isinstance(schema, pa.Schema) else schema
    if not count:
        return spark.createDataFrame([], kind)

    def run_each(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from work(number)
                give_back()

    return spark.range(0, count, 1, None if together else count).mapInArrow(run_each, kind)


def give_back() -> None:
    """Return free memory to the machine: a worker may wait long for its next task, and others need the room."""
    pool: Any = pa.default_memory_pool()
    pool.release_unused()
