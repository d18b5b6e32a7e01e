"""The histories that lab 12's exercises ask about, as Arrow tables and as files, and what is true of them.

Nothing here needs Spark: a grader makes them, and only the files get to the process in which a student's query runs.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from kafkalab.grading.remote_query import inputs
from kafkalab.spark.synthetic.shape import Shape
from kafkalab.spark.synthetic.tables import batch_of, truth_of

ASKED = ("duplicate", "G1a", "lost-write", "poll-skip")
TABLES = ("operations", "log", "reads", "polls")
"""The tables that the views of the lesson are made of."""

RECORDS, RATE = 10_000, 4e-4
Place = tuple[str, int]


def set_rates(rate: float = RATE) -> dict[str, float]:
    """Return the anomalies that a lesson's history has, each at this rate."""
    return dict.fromkeys((*ASKED, "unseen"), rate)


@cache
def night(seed: int) -> Shape:
    """Return the shape of the lesson's history with this seed."""
    return Shape(records=RECORDS, inject=tuple(set_rates().items()), seed=seed)


def one_torn(seed: int, records: int) -> Shape:
    """Return the shape of a history in which one transaction is torn."""
    return Shape(records=records, inject=(("torn transaction", 1 / records),), seed=seed)


@cache
def table(shape: Shape, name: str) -> pa.Table:
    """Return one of the history's tables; its run, which otherwise is the seed, is 0."""
    made = pa.Table.from_batches([batch_of(shape, cell, name) for cell in range(shape.cells)])
    place = made.schema.get_field_index("run")
    run = made.schema.field(place)
    return made.set_column(place, run, pa.array([0] * made.num_rows, run.type))


@cache
def by_key(shape: Shape, name: str) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of one of the history's tables by their key, by offset where they have one."""
    found: dict[str, list[dict[str, Any]]] = {}
    for row in table(shape, name).to_pylist():
        found.setdefault(row["key"], []).append(row)
    return {key: sorted(rows, key=lambda row: row.get("offset", 0)) for key, rows in found.items()}


def places(shape: Shape) -> dict[str, list[Place]]:
    """The places of every injected anomaly, in order; what has no offset has no place."""
    found: dict[str, set[Place]] = {}
    for cell in range(shape.cells):
        for row in truth_of(shape, cell).to_pylist():
            keys, here = row["keys"], found.setdefault(row["anomaly"], set())
            here |= {(keys[min(i, len(keys) - 1)], offset) for i, offset in enumerate(row["offsets"])}
    return {anomaly: sorted(here) for anomaly, here in found.items()}


def torn_in(shape: Shape) -> list[tuple[int, int]]:
    """Return producer id and epoch of the markers of the torn transaction."""
    torn = set(places(shape)["torn transaction"])
    names = ("key", "offset", "producer_id", "producer_epoch")
    rows = zip(*(table(shape, "log").column(name).to_pylist() for name in names), strict=True)
    return sorted({(producer, epoch + 1) for key, offset, producer, epoch in rows if (key, offset) in torn})


def folder_of(shape: Shape, names: tuple[str, ...] = TABLES) -> str:
    """Write these tables as Parquet, once; return the name of their folder in `inputs()`, which tells no seed."""
    return _write_tables(inputs(), shape, names)


@cache
def _write_tables(there: Path, shape: Shape, names: tuple[str, ...]) -> str:
    folder = Path(mkdtemp(prefix="night-", dir=there))
    folder.chmod(0o755)
    for name in names:
        pq.write_table(table(shape, name), folder / f"{name}.parquet")
    return folder.name
