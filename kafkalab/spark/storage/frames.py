"""Histories of many runs as Spark DataFrames: the same tables as a `History`, each with the number of its run first."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from kafkalab.history.history import History
from kafkalab.sim.scenario import Scenario
from kafkalab.spark.simulation.bundle import BUNDLE, table_of
from kafkalab.spark.simulation.runs import Runs
from kafkalab.spark.simulation.source import ARGUMENTS, register
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

    @classmethod
    def simulated(cls, spark: SparkSession, seeds: str = "1", *, partitions: int = 0, **given: Any) -> Histories:
        """The runs of these seeds ("1-1000"), simulated by the executors when the first table is used, then kept.

        `given` is profile, rules_off (names with semicolons between), and what all seeds run: `scenario`, a .klab file;
        or two members of a group that copy records in the configuration `clients` (such as "acks=1", "idempotent",
        "transactions"), at this `cluster_level`, under one to `faults` drawn faults; without both, each seed draws
        its own scenario. ValueError for what no simulation can be.
        """
        if Runs.of(seeds, **given).scenario:
            Scenario.load(given["scenario"])
        register(spark)
        options = {option: given[name] for option, name in ARGUMENTS.items() if given.get(name, -1) != -1}
        reader = spark.read.format("kafkalab").options(**options, seeds=seeds, partitions=partitions)
        bundle = reader.option("table", BUNDLE).load().persist()
        return cls(**{name: table_of(bundle, name) for name in TABLES})

    def collect(self) -> dict[int, History]:
        """The histories as pure Python knows them, by the numbers of their runs; for small ones.

        Rows come in the order of each table's own numbers (offsets, polls, steps), not in the order of the DataFrame.
        """
        return dict(histories_from({name: self.table(name).toArrow() for name in TABLES}))
