"""The guarantee, computed: the tables of many runs, how often their inputs went wrong, and one of them to look at."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import TYPE_CHECKING, Any, NamedTuple

from kafkalab.checks.view import COMMITTED as COMMITTED_OUTCOME
from kafkalab.checks.view import PLAIN, view_of
from kafkalab.course.lab12.configurations import READER, runs_of
from kafkalab.history.export import history_of
from kafkalab.history.history import History
from kafkalab.programs.copying import INPUT, OUTPUT
from kafkalab.protocol.partitions import topic_of
from kafkalab.spark.simulation.runs import COMMITTED
from kafkalab.widgets.model.journey import Journey

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from kafkalab.spark.storage.frames import Histories


class Tables(NamedTuple):
    """The records that readers got of those to be copied.

    inputs (configuration, run, key, offset, value), reads (configuration, run, isolation_level, value), positions
    (configuration, run, key, committed): see the rows of `configurations`.
    """

    inputs: DataFrame
    reads: DataFrame
    positions: DataFrame


def tables_of(workloads: Mapping[str, Histories]) -> Tables:
    """Return the tables of workloads by the names of their configurations; Spark simulates each run once."""
    from pyspark.sql import DataFrame
    from pyspark.sql import functions as F

    def together(make: Any) -> DataFrame:
        parts = [make(made).withColumn("configuration", F.lit(name)) for name, made in workloads.items()]
        every: DataFrame = reduce(DataFrame.unionByName, parts)
        return every.persist()

    by_reader = F.col("process").startswith(READER) & F.col("key").startswith(f"{OUTPUT}-")
    place = F.split("value", "@")
    return Tables(
        together(lambda made: made.log.where(F.col("key").startswith(f"{INPUT}-")).select(
            "run", "key", "offset", "value")),
        together(lambda made: made.reads.where(by_reader).select("run", "isolation_level", "value")),
        together(lambda made: made.labels.where(F.col("name") == COMMITTED).select(
            "run", place[0].alias("key"), place[1].cast("bigint").alias("committed"))),
    )  # fmt: skip


def open_run(configuration: str, run: int) -> Journey:
    """Return a run of a configuration at the step where the second copy of an input is written."""
    journey = Journey(runs_of(configuration, str(run)).scenario_of(run))
    journey.step = second_copy(history_of(journey.cluster))
    return journey


def second_copy(history: History) -> int:
    """Return the step at which a copy that takes effect is written though one of the same value was; -1 if none is."""
    view, seen = view_of(history), set[str | None]()
    copies = [record for key in view.data_keys if topic_of(key) == OUTPUT for record in view.data(key)]
    for copy in sorted(copies, key=lambda record: record.step):
        if view.outcomes[copy.key, copy.offset] in (COMMITTED_OUTCOME, PLAIN):
            if copy.value in seen:
                return copy.step
            seen.add(copy.value)
    return -1
