"""What an audit is: a check, and functions from the tables of many runs to its findings and to what it examined.

Findings have the fields of `kafkalab.checks.check.Finding` and the number of their run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from string import Formatter

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from kafkalab.checks.check import Check, Finding
from kafkalab.spark.audits.derived_tables import DerivedTables

Columns = Sequence[Column | str] | Column
"""The elements of an array, as columns or their names; or a column that is an array already."""
FIELDS = ("run", "anomaly", "policy", "keys", "offsets", "steps", "text")
"""The columns of a DataFrame of findings."""
_LONGS = pa.list_(pa.int64())
_ELEMENTS = {"run": pa.int64(), "keys": pa.list_(pa.string()), "offsets": _LONGS, "steps": _LONGS}
ARROW = pa.schema([(name, _ELEMENTS.get(name, pa.string())) for name in FIELDS])
"""The same for tasks that work in Python."""
COUNTED = ARROW.append(pa.field("examined", pa.int64()))
"""The same, and rows that say how many things of a run an audit has examined."""


@dataclass(frozen=True, slots=True)
class Audit:
    """How to find the anomaly of `check` in DataFrames.

    `find` returns one row for each finding, with the columns of FIELDS, in no particular order. `count` returns how
    many things were examined: columns run and examined; a run without any may be missing.
    """

    check: Check
    find: Callable[[DerivedTables], DataFrame]
    count: Callable[[DerivedTables], DataFrame]


def findings_of(
    check: Check,
    frame: DataFrame,
    text: Column,
    steps: Columns = (),
    keys: Columns = (),
    offsets: Columns = (),
    policy: Column | None = None,
) -> DataFrame:
    """Return a finding of `check` for each row of `frame`: steps sorted, each once and none below 0; each key once."""
    all_steps = _array(steps, "bigint")
    return frame.select(
        F.col("run"),
        F.lit(check.name).alias("anomaly"),
        (F.lit(check.policy) if policy is None else policy).alias("policy"),
        F.array_distinct(_array(keys, "string")).alias("keys"),
        _array(offsets, "bigint").alias("offsets"),
        F.array_sort(F.array_distinct(F.filter(all_steps, lambda step: step >= 0))).alias("steps"),
        text.alias("text"),
    )


def sentence(template: str, **columns: Column) -> Column:
    """Fill `template` in every row: "{key}" is the one given as `key`, else the column of that name."""
    parts = []
    for words, name, _, _ in Formatter().parse(template):
        parts += [F.lit(words)] if words else []
        parts += [columns[name] if name in columns else F.col(name)] if name else []
    return F.concat(*parts)


def shown(value: Column) -> Column:
    """A value in a finding's text, in quotes; None for null."""
    return F.when(value.isNull(), "None").otherwise(F.concat(F.lit("'"), value, F.lit("'")))


def rows_of(run: int, findings: Iterable[Finding]) -> list[dict[str, object]]:
    """Return the findings of one run as rows of ARROW."""
    return [{name: getattr(one, name) for name in FIELDS[1:]} | {"run": run} for one in findings]


def counted(frame: DataFrame) -> DataFrame:
    """How many rows each run has, as `examined`."""
    return frame.groupBy("run").agg(F.count(F.lit(1)).alias("examined"))


def _array(columns: Columns, element: str) -> Column:
    made = columns if isinstance(columns, Column) else F.array(*columns)
    return made.cast(f"array<{element}>")
