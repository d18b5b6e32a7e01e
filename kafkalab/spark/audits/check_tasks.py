"""The way for small histories: a task rebuilds each run as Python rows, and does the pure-Python checks.

No audit is planned, so what takes a minute of plans takes seconds. The passes over keys, clients and inputs give the
same findings (tests compare them one by one); they are for what is too long for one task.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from kafkalab.checks.all import BY_NAME
from kafkalab.checks.view import view_of
from kafkalab.history.history import History
from kafkalab.spark.per_key_audits.arrays import longs
from kafkalab.spark.per_key_audits.key_pass import Layout, rows_where
from kafkalab.spark.storage.findings import COUNTED, rows_of
from kafkalab.spark.storage.rows import histories_from
from kafkalab.spark.storage.schemas import TABLES, arrow_schema
from kafkalab.spark.storage.tasks import in_tasks

TASKS = 8
"""The number of tasks, at most, in which the runs of files are checked."""


def check_runs(spark: SparkSession, layout: Layout, names: Sequence[str]) -> DataFrame:
    """Findings of these checks with the columns of FIELDS, and for each run and check a row with `examined`.

    Each task checks a part of the runs and reads all files: they are small, and Java has nothing to plan.
    """
    files = layout.files
    tasks = min(TASKS, max(1, len(rows_where(files, "labels", ("run",)).column("run").unique())))

    def work(number: int) -> Iterator[pa.RecordBatch]:
        tables = {}
        for name in TABLES:
            table = rows_where(files, name, tuple(arrow_schema(name).names))
            tables[name] = table.filter(pa.array(longs(table, "run") % tasks == number))
        yield say(histories_from(tables), names)

    return in_tasks(spark, tasks, work, COUNTED)


def say(runs: Iterable[tuple[int, History]], names: Sequence[str]) -> pa.RecordBatch:
    """Return what the checks of these names find in each history, as rows of COUNTED.

    The garbage collector is off: rows and views of them have no cycles, and a third of the time went into it.
    """
    rows: list[dict[str, object]] = []
    gc.disable()
    try:
        for run, history in runs:
            view = view_of(history)
            for result in (BY_NAME[name](view) for name in names):
                rows += rows_of(run, result.findings)
                rows.append({"run": run, "anomaly": result.name, "examined": result.examined})
    finally:
        gc.enable()
    return pa.RecordBatch.from_pylist(rows, COUNTED)
