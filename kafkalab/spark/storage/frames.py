"""Histories of many runs as Spark DataFrames: the same tables as a `History`, each with the number of its run first."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from kafkalab.history.history import History
from kafkalab.spark.storage.bucket_writer import Work
from kafkalab.spark.storage.rows import histories_from
from kafkalab.spark.storage.schemas import TABLES, arrow_batch, columns, spark_schema


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Histories:
    """One DataFrame per table, with the columns of `kafkalab.spark.storage.schemas`, in no particular order of rows."""

    operations: DataFrame
    log: DataFrame
    reads: DataFrame
    polls: DataFrame
    frames: DataFrame
    transactions: DataFrame
    watermarks: DataFrame
    leaders: DataFrame
    labels: DataFrame

    def table(self, name: str) -> DataFrame:
        """The rows of a table. ValueError, naming those that there are, for an unknown one."""
        columns(name)
        frame: DataFrame = getattr(self, name)
        return frame

    def records(self) -> int:
        """Return the number of records and markers in the logs; an estimate if counting would make them first."""
        return self.log.count()

    def through(self, name: str, work: Work, schema: str) -> DataFrame:
        """Return a DataFrame of this schema: what `work` returns for the Arrow batches in the executors' Python."""
        return self.table(name).mapInArrow(work, schema)

    @classmethod
    def of(cls, spark: SparkSession, runs: Iterable[tuple[int, History]]) -> Histories:
        """The tables of pure-Python histories, each with the number of its run. ValueError if a number comes twice."""
        given = list(runs)
        numbers = [run for run, _ in given]
        twice = sorted({run for run in numbers if numbers.count(run) > 1})
        if twice:
            raise ValueError(f"every history needs a number of its own, but {twice[0]} is there twice")
        made = {name: pa.Table.from_batches([arrow_batch(name, given)]) for name in TABLES}
        return cls(**{name: spark.createDataFrame(rows, spark_schema(name)) for name, rows in made.items()})

    def collect(self) -> dict[int, History]:
        """The histories as pure Python knows them, by the numbers of their runs; for small ones.

        Rows come in the order of each table's own numbers (offsets, polls, steps), not in the order of the DataFrame.
        """
        return dict(histories_from({name: self.table(name).toArrow() for name in TABLES}))
