"""Synthetic histories: the tables of a long and busy time, made with numpy at millions of rows a second.

Every anomaly can be injected at a rate; what an audit then has to find, and nothing else, is in `truth`. The same seed
gives the same rows, whatever the number of tasks or cores.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

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

    Columns: run, inject (what was asked for), anomaly (what is found), policy, keys, offsets, steps (null where they
    depend on more than the window).
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
        make, cells = _maker(table_maker(self.shape, name)), _cells(self.truth.sparkSession, self.shape, self.tasks)
        return cells.mapInArrow(lambda batches: work(make(batches)), schema)


def synthetic(
    spark: SparkSession,
    *,
    records: int = 10_000,
    producers: int = 20,
    partitions: int = 8,
    txn_size: int = 5,
    abort_rate: float = 0.1,
    idempotent: float = 0.2,
    transform: float = 0.2,
    inject: Mapping[str, float] | None = None,
    seed: int = 1,
    profile: str = "4.x/TV2",
    block: int = 0,
    tasks: int = 0,
) -> Synthetic:
    """One run, numbered by its seed, with about so many records and markers in its topics; a table is made when used.

    `txn_size` is the mean of records in a transaction, `idempotent` the share of records outside transactions,
    `transform` the share of transactions that consume, transform and produce, `inject` the windows of each anomaly per
    record ({"duplicate": 1e-4}; names are those of kafkalab.checks). `block` and `tasks` are how it is cut for making;
    another block gives other rows, another number of tasks does not. ValueError for what cannot be.
    """
    shape = Shape(
        records=records,
        producers=producers,
        partitions=partitions,
        txn_size=txn_size,
        abort_rate=abort_rate,
        idempotent=idempotent,
        transform=transform,
        inject=tuple((inject or {}).items()),
        seed=seed,
        profile=profile,
        block=block,
    )
    tables = {name: _made(spark, shape, table_maker(shape, name), name, tasks) for name in MADE}
    labels = spark.createDataFrame(pa.Table.from_pylist(labels_of(shape)), spark_schema("labels"))
    cells = _cells(spark, shape, tasks)
    truth = cells.mapInArrow(_maker(lambda cell: truth_of(shape, cell)), from_arrow_schema(TRUTH))
    return Synthetic(**tables, labels=labels, truth=truth, shape=shape, tasks=tasks, made=tables)


def labels_of(shape: Shape) -> list[dict[str, object]]:
    """What is true of the whole history."""
    pairs = [("title", "A synthetic history"), ("profile", shape.profile), ("seed", str(shape.seed))]
    pairs += [("injected", f"{name}={rate:g}") for name, rate in shape.inject]
    return [{"run": shape.seed, "name": n, "value": v} for n, v in [*pairs, ("end_ms", str(shape.end_ms))]]


def _cells(spark: SparkSession, shape: Shape, tasks: int) -> DataFrame:
    return spark.range(0, shape.cells, 1, min(tasks, shape.cells)) if tasks else spark.range(shape.cells)


def _made(
    spark: SparkSession, shape: Shape, make: Callable[[int], pa.RecordBatch], table: str, tasks: int
) -> DataFrame:
    return _cells(spark, shape, tasks).mapInArrow(_maker(make), spark_schema(table))


def table_maker(shape: Shape, table: str) -> Callable[[int], pa.RecordBatch]:
    """The function from a cell's number to its rows of this table."""
    return lambda cell: batch_of(shape, cell, table)


def _maker(make: Callable[[int], pa.RecordBatch]) -> Work:
    def cells(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for cell in batch.column(0).to_pylist():
                yield make(cell)

    return cells
