"""A synthetic history as pure Python knows it, made without Spark, and what its checks find against the truth."""

from __future__ import annotations

from collections import Counter
from typing import Any

from kafkalab.checks.all import Report
from kafkalab.history.history import History
from kafkalab.history.schema import ROWS, Label
from kafkalab.spark.synthetic.generator import MADE, labels_of
from kafkalab.spark.synthetic.shape import Shape
from kafkalab.spark.synthetic.tables import batch_of, truth_of

Found = tuple[str, str, tuple[str, ...], tuple[int, ...], tuple[int, ...]]


def history_of(shape: Shape) -> History:
    """All tables of all cells."""
    tables: dict[str, list[Any]] = {}
    for name in MADE:
        made: Any = ROWS[name]
        rows = [row for cell in range(shape.cells) for row in batch_of(shape, cell, name).to_pylist()]
        for row in rows:
            del row["run"]
        tables[name] = [made(**{k: tuple(v) if isinstance(v, list) else v for k, v in row.items()}) for row in rows]
    tables["log"].sort(key=lambda record: (record.key, record.step, record.offset))
    labels = tuple(Label(name=str(row["name"]), value=str(row["value"])) for row in labels_of(shape))
    return History(**{name: tuple(rows) for name, rows in tables.items()}, labels=labels)


def expect(shape: Shape) -> Counter[Found]:
    """The truth, as findings."""
    rows = [row for cell in range(shape.cells) for row in truth_of(shape, cell).to_pylist()]
    return Counter(
        (row["anomaly"], row["policy"], tuple(row["keys"]), tuple(row["offsets"]), tuple(row["steps"]))
        for row in rows
    )


def count_found(report: Report) -> Counter[Found]:
    """Return what checks found."""
    return Counter((f.anomaly, f.policy, f.keys, f.offsets, f.steps) for f in report.findings)
