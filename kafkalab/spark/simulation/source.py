"""`spark.read.format("kafkalab")`: seeded simulations as tables, computed where the executors are.

Options: table ("log" if not given; "arrivals" for what streaming audits take, "bundle" for all tables packed), seeds
("1-1000"), profile, rulesOff (names separated by semicolons), scenario (a .klab file), or clients (a configuration of
kafkalab.programs.copying) with clusterLevel and faults; partitions (as many as there are seeds, at most 8, if not
given). As a stream, `seedsPerBatch` new ones each time.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit
from pyspark.sql.types import StructType

from kafkalab.limits import quote, whole_number
from kafkalab.spark.simulation.bundle import BUNDLE, arrow_bundle
from kafkalab.spark.simulation.bundle import SCHEMA as BUNDLE_SCHEMA
from kafkalab.spark.simulation.runs import Runs, history_of_seed
from kafkalab.spark.storage.schemas import arrow_batch, spark_schema
from kafkalab.spark.streaming.arrivals import ARRIVALS, arrivals_of
from kafkalab.spark.streaming.schema import SCHEMA as ARRIVALS_SCHEMA
from kafkalab.spark.streaming.schema import arrow_arrivals

ARGUMENTS = {"rulesOff": "rules_off", "clusterLevel": "cluster_level"} | {
    name: name for name in ("seeds", "profile", "scenario", "clients", "faults")
}
"""The options that say what is simulated, and which argument of `Runs.of` each is."""
OPTIONS = ("table", *ARGUMENTS, "partitions", "seedsPerBatch")
MOST_PARTITIONS = 8
AT_ONCE = 16
"""Simulations whose rows make one Arrow batch."""


def register(spark: SparkSession) -> None:
    """`kafkalab` is a format that this session can read."""
    spark.dataSource.register(KafkalabSource)


class KafkalabSource(DataSource):
    """The data source; wrong options are refused with what would be right."""

    @classmethod
    def name(cls) -> str:
        return "kafkalab"

    def schema(self) -> StructType:
        others = {ARRIVALS: ARRIVALS_SCHEMA, BUNDLE: BUNDLE_SCHEMA}
        return others.get(self._table()) or spark_schema(self._table())

    def reader(self, schema: StructType) -> DataSourceReader:
        return Reader(self._table(), self._runs(), self._number("partitions", 0))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        given = self._table(), self._runs(), self._number("partitions", 0)
        return StreamReader(*given, self._number("seedsPerBatch", 10))

    def _table(self) -> str:
        known = {option.lower() for option in OPTIONS}
        unknown = [key for key in self.options if key.lower() not in known]
        if unknown:
            raise ValueError(f"kafkalab has no option {', '.join(unknown)}; there are {', '.join(OPTIONS)}")
        return str(self.options.get("table", "log"))

    def _runs(self) -> Runs:
        given: dict[str, Any] = {name: self.options[name] for name in ARGUMENTS if self.options.get(name)}
        given |= {name: self._number(name, 0) for name in ("clusterLevel", "faults") if name in given}
        return Runs.of(**{ARGUMENTS[name]: value for name, value in given.items()})

    def _number(self, option: str, default: int) -> int:
        text = self.options.get(option, "")
        if not text:
            return default
        if whole_number(text) < 0:
            raise ValueError(f"{option} is a whole number, not {quote(text)}")
        return int(text)


class _Rows:
    """The common part of both readers: split seeds among tasks, simulate, hand over batches."""

    def __init__(self, table: str, runs: Runs, partitions: int) -> None:
        self.table, self.runs, self.tasks = table, runs, partitions

    def split(self, first: int, last: int) -> list[InputPartition]:
        """The seeds first to last in contiguous parts of nearly equal size."""
        count = last - first + 1
        tasks = max(1, min(self.tasks or MOST_PARTITIONS, count))
        edges = [first + count * i // tasks for i in range(tasks + 1)]
        return [InputPartition(range(a, b)) for a, b in itertools.pairwise(edges)]

    def read(self, part: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of the part's simulations, in the order of the seeds."""
        for start in range(0, len(part.value), AT_ONCE):
            histories = [(seed, history_of_seed(self.runs, seed)) for seed in part.value[start : start + AT_ONCE]]
            if self.table == ARRIVALS:
                yield arrow_arrivals(arrivals_of(histories))
            elif self.table == BUNDLE:
                yield arrow_bundle(histories)
            else:
                yield arrow_batch(self.table, histories)


class Reader(_Rows, DataSourceReader):
    """A table of all the seeds."""

    def partitions(self) -> list[InputPartition]:
        return self.split(self.runs.first, self.runs.last)


class StreamReader(_Rows, DataSourceStreamReader):
    """The same seeds, some more with each micro-batch; the offset is the next seed."""

    def __init__(self, table: str, runs: Runs, partitions: int, seeds_per_batch: int) -> None:
        super().__init__(table, runs, partitions)
        self.step = max(1, seeds_per_batch)
        self.next = runs.first

    def initialOffset(self) -> dict[str, int]:
        return {"seed": self.runs.first}

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:
        self.next = min(max(self.next, start["seed"]) + self.step, self.runs.last + 1)
        return {"seed": self.next}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[InputPartition]:
        self.next = max(self.next, end["seed"])
        if start["seed"] >= end["seed"]:
            return []
        return self.split(start["seed"], end["seed"] - 1)

    def commit(self, end: dict[str, int]) -> None:
        """Nothing to forget: the seeds can always be run again."""
