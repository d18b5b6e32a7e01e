"""Synthetic histories: the tables of a long and busy time, made with numpy at millions of rows a second.

Every anomaly can be injected at a rate; what an audit then has to find, and nothing else, is in `truth`. The same seed
gives the same rows, whatever the number of tasks or cores.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from kafkalab.spark.storage.bucket_writer import Work
from kafkalab.spark.storage.frames import Histories
from kafkalab.spark.storage.schemas import TABLES, spark_schema
from kafkalab.spark.synthetic.shape import Shape
from kafkalab.spark.synthetic.tables import TRUTH, batch_of, truth_of

MADE = tuple(name for name in TABLES if name != "labels")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Synthetic(Histories):
    """Tables, and `truth`: one row for each finding that the injected windows lead to, with the fields of a Finding.

    Columns: run, inject (what was asked for), anomaly (what is found), policy, keys, offsets, steps.
    """

    truth: DataFrame
    shape: Shape
    tasks: int = 0
    made: Mapping[str, DataFrame] = field(default_factory=dict)
    """The tables that are made anew whenever they are used."""

    def records(self) -> int:
        """As many as were asked for."""
        return self.shape.records

    def through(self, name: str, work: Work, schema: str) -> DataFrame:
        """Rows are worked on where they are made."""
        if self.table(name) is not self.made.get(name):
            return Histories.through(self, name, work, schema)
        make, cells = _maker(self.shape, name), _cells(self.truth.sparkSession, self.shape, self.tasks)
        return cells.mapInArrow(lambda batches: work(make(batches)), schema)


def synthetic(
    spark: SparkSession, *, inject: Mapping[str, float] | None = None, tasks: int = 0, **size: Any
) -> Synthetic:
    """Return one run, numbered by its seed, whose tables are made when they are used; `size` are the fields of `Shape`.

    `inject` are the windows of each anomaly per record ({"duplicate": 1e-4}; names are those of kafkalab.checks), and
    `tasks` is the number of tasks that make a table: it does not change the rows. ValueError for what cannot be.
    """
    shape = Shape(inject=tuple((inject or {}).items()), **size)
    cells = _cells(spark, shape, tasks)
    tables = {name: cells.mapInArrow(_maker(shape, name), spark_schema(name)) for name in MADE}
    labels = spark.createDataFrame(pa.Table.from_pylist(labels_of(shape)), spark_schema("labels"))
    truth = cells.mapInArrow(_maker(shape, "truth"), from_arrow_schema(TRUTH))
    return Synthetic(**tables, labels=labels, truth=truth, shape=shape, tasks=tasks, made=tables)


def labels_of(shape: Shape) -> list[dict[str, object]]:
    """Return the labels: what is true of the whole history."""
    pairs = [("title", "A synthetic history"), ("profile", shape.profile), ("seed", str(shape.seed))]
    pairs += [("injected", f"{name}={rate:g}") for name, rate in shape.inject]
    return [{"run": shape.seed, "name": n, "value": v} for n, v in [*pairs, ("end_ms", str(shape.end_ms))]]


def _cells(spark: SparkSession, shape: Shape, tasks: int) -> DataFrame:
    return spark.range(0, shape.cells, 1, min(tasks, shape.cells)) if tasks else spark.range(shape.cells)


def _maker(shape: Shape, table: str) -> Work:
    """Return what a task does with the numbers of the cells that it is given; `table` may be "truth"."""

    def cells(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for cell in batch.column(0).to_pylist():
                yield truth_of(shape, cell) if table == "truth" else batch_of(shape, cell, table)

    return cells
