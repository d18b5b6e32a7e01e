"""What an audit is: a check, and functions from the tables of many runs to its findings and to what it examined.

Findings have the fields of `kafkalab.checks.check.Finding` and the number of their run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from kafkalab.checks.check import Check
from kafkalab.spark.audits.derived_tables import DerivedTables

FIELDS = ("run", "anomaly", "policy", "keys", "offsets", "steps", "text")
"""The columns of a DataFrame of findings."""


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
    steps: Sequence[Column] | Column = (),
    keys: Sequence[Column] | Column = (),
    offsets: Sequence[Column] | Column = (),
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


def shown(value: Column) -> Column:
    """A value in a finding's text, in quotes; None for null."""
    return F.when(value.isNull(), "None").otherwise(F.concat(F.lit("'"), value, F.lit("'")))


def counted(frame: DataFrame) -> DataFrame:
    """How many rows each run has, as `examined`."""
    return frame.groupBy("run").agg(F.count(F.lit(1)).alias("examined"))


def _array(columns: Sequence[Column] | Column, element: str) -> Column:
    made = columns if isinstance(columns, Column) else F.array(*columns)
    return made.cast(f"array<{element}>")
