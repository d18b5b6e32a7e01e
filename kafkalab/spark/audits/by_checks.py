"""The way for small histories: each run is put together again in one task, which does the pure-Python checks.

Nothing of it is planned for each audit, so what takes a minute of plans takes seconds. The DataFrame audits say the
same (tests compare them finding by finding); they, and the pass over files, are for what is too long for one task.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from kafkalab.checks.all import BY_NAME
from kafkalab.checks.check import Check
from kafkalab.checks.view import view_of
from kafkalab.history.history import History
from kafkalab.spark.simulated.bundle import unpacked
from kafkalab.spark.storage.frames import Histories, histories_from, history_from
from kafkalab.spark.storage.schemas import TABLES, columns

SCHEMA = (
    "run bigint, anomaly string, policy string, keys array<string>, offsets array<bigint>, steps array<bigint>, "
    "text string, examined bigint"
)
_ARROW = pa.schema(
    [
        ("run", pa.int64()),
        ("anomaly", pa.string()),
        ("policy", pa.string()),
        ("keys", pa.list_(pa.string())),
        ("offsets", pa.list_(pa.int64())),
        ("steps", pa.list_(pa.int64())),
        ("text", pa.string()),
        ("examined", pa.int64()),
    ]
)


def checked(histories: Histories, names: Sequence[str]) -> DataFrame:
    """Findings of these checks with the columns of FIELDS, and for each run and check a row with `examined`."""
    if histories.bundle is not None:
        return histories.bundle.mapInArrow(_of_bundles(tuple(names)), SCHEMA)
    parts = [
        histories.table(name).select("run", F.struct(*[column.name for column in columns(name)]).alias(name))
        for name in TABLES
    ]
    every = reduce(lambda all_, part: all_.unionByName(part, allowMissingColumns=True), parts)
    return every.groupBy("run").applyInArrow(_of_a_run(tuple(names)), SCHEMA)


def _of_a_run(names: tuple[str, ...]) -> Callable[[pa.Table], pa.Table]:
    def check(rows: pa.Table) -> pa.Table:
        run = rows.column("run")[0].as_py()
        tables = {name: pa.Table.from_struct_array(rows.column(name).drop_null()) for name in TABLES}
        return pa.Table.from_batches([_said([(run, history_from(tables))], names)])

    return check


def _of_bundles(names: tuple[str, ...]) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def check(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for row in range(batch.num_rows):
                tables = {name: unpacked(batch.column(name)[row]) for name in TABLES}
                yield _said(histories_from(tables), names)

    return check


def _said(runs: Iterable[tuple[int, History]], names: Sequence[str]) -> pa.RecordBatch:
    """What the checks of these names say of each history, as rows of SCHEMA."""
    rows: list[dict[str, object]] = []
    for run, history in runs:
        view = view_of(history)
        for name in names:
            check: Check = BY_NAME[name]
            result = check(view)
            rows += [
                {f: getattr(finding, f) for f in ("anomaly", "policy", "keys", "offsets", "steps", "text")}
                | {"run": run, "examined": None}
                for finding in result.findings
            ]
            rows.append({"run": run, "anomaly": name, "examined": result.examined})
    return pa.RecordBatch.from_pylist(rows, _ARROW)
