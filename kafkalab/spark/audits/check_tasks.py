"""The way for small histories: a task rebuilds each run as Python rows, and does the pure-Python checks.

No audit is planned, so what takes a minute of plans takes seconds. The passes over keys, clients and inputs give the
same findings (tests compare them one by one); they are for what is too long for one task.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import reduce

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from kafkalab.checks.all import BY_NAME
from kafkalab.checks.view import view_of
from kafkalab.history.history import History
from kafkalab.spark.audits.check import COUNTED, rows_of
from kafkalab.spark.simulation.bundle import unpacked
from kafkalab.spark.storage.frames import Histories
from kafkalab.spark.storage.rows import histories_from, history_from
from kafkalab.spark.storage.schemas import TABLES, columns

SCHEMA = from_arrow_schema(COUNTED)


def checked(histories: Histories, names: Sequence[str]) -> DataFrame:
    """Findings of these checks with the columns of FIELDS, and for each run and check a row with `examined`."""
    if histories.bundle is not None:
        return histories.bundle.mapInArrow(lambda batches: _of_bundles(batches, names), SCHEMA)
    parts = [
        histories.table(name).select("run", F.struct(*[column.name for column in columns(name)]).alias(name))
        for name in TABLES
    ]
    every = reduce(lambda all_, part: all_.unionByName(part, allowMissingColumns=True), parts)
    return every.groupBy("run").applyInArrow(lambda rows: _of_a_run(rows, names), SCHEMA)


def _of_a_run(rows: pa.Table, names: Sequence[str]) -> pa.Table:
    run = rows.column("run")[0].as_py()
    tables = {name: pa.Table.from_struct_array(rows.column(name).drop_null()) for name in TABLES}
    with collector_off():
        return pa.Table.from_batches([_said([(run, history_from(tables))], names)])


def _of_bundles(batches: Iterable[pa.RecordBatch], names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for row in range(batch.num_rows):
            tables = {name: unpacked(batch.column(name)[row]) for name in TABLES}
            yield _said(histories_from(tables), names)


def _said(runs: Iterable[tuple[int, History]], names: Sequence[str]) -> pa.RecordBatch:
    """Return what the checks of these names find in each history, as rows of SCHEMA."""
    rows: list[dict[str, object]] = []
    with collector_off():
        for run, history in runs:
            view = view_of(history)
            for result in (BY_NAME[name](view) for name in names):
                rows += rows_of(run, result.findings)
                rows.append({"run": run, "anomaly": result.name, "examined": result.examined})
    return pa.RecordBatch.from_pylist(rows, COUNTED)


@contextmanager
def collector_off() -> Iterator[None]:
    """Switch the garbage collector off: rows and views of them have no cycles, and a third of the time went into it."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
