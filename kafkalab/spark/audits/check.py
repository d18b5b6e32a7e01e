"""What an audit is: a name, a policy, and a function from the tables of many runs to the places where it shows.

The same fields as `kafkalab.checks.check.Finding`, and the same verdicts; every finding has the number of its run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from kafkalab.checks.check import FORBIDDEN, OK, UNKNOWN, VIOLATED, Check
from kafkalab.spark.audits.view import View
from kafkalab.spark.storage.frames import Histories

FIELDS = ("run", "anomaly", "policy", "keys", "offsets", "steps", "text")
SCHEMA = (
    "run bigint, anomaly string, policy string, keys array<string>, offsets array<bigint>, steps array<bigint>, "
    "text string"
)
"""The columns of a DataFrame of findings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """An anomaly and how to find it in DataFrames. `meaning` is one sentence."""

    name: str
    policy: str
    meaning: str
    find: Callable[[Audit, View], DataFrame]
    count: Callable[[View], DataFrame]

    def offenders(self, source: Histories | View) -> DataFrame:
        """One row for each finding, with the columns of FIELDS, in no particular order."""
        return self.find(self, _view(source))

    def examined(self, source: Histories | View) -> DataFrame:
        """How many things were looked at: columns run and examined; a run without any may be missing."""
        return self.count(_view(source))

    def found(
        self,
        frame: DataFrame,
        text: Column,
        steps: Sequence[Column] | Column = (),
        keys: Sequence[Column] | Column = (),
        offsets: Sequence[Column] | Column = (),
        policy: Column | None = None,
    ) -> DataFrame:
        """A finding for each row of `frame`: steps sorted, each once and none below 0; each key once."""
        all_steps = _array(steps, "bigint")
        return frame.select(
            F.col("run"),
            F.lit(self.name).alias("anomaly"),
            (F.lit(self.policy) if policy is None else policy).alias("policy"),
            F.array_distinct(_array(keys, "string")).alias("keys"),
            _array(offsets, "bigint").alias("offsets"),
            F.array_sort(F.array_distinct(F.filter(all_steps, lambda step: step >= 0))).alias("steps"),
            text.alias("text"),
        )


def audit_of(check: Check, find: Callable[[Audit, View], DataFrame], count: Callable[[View], DataFrame]) -> Audit:
    """The audit with the name, the policy and the meaning of a pure-Python check."""
    return Audit(name=check.name, policy=check.policy, meaning=check.meaning, find=find, count=count)


def verdict(examined: int, policies: Sequence[str]) -> str:
    """Violated if any finding is forbidden, unknown if there is none and nothing was examined, else ok."""
    if FORBIDDEN in policies:
        return VIOLATED
    return UNKNOWN if examined == 0 and not policies else OK


def shown(value: Column) -> Column:
    """A value in a finding's text, in quotes; None for null."""
    return F.when(value.isNull(), "None").otherwise(F.concat(F.lit("'"), value, F.lit("'")))


def counted(frame: DataFrame) -> DataFrame:
    """How many rows each run has, as `examined`."""
    return frame.groupBy("run").agg(F.count(F.lit(1)).alias("examined"))


def _view(source: Histories | View) -> View:
    return source if isinstance(source, View) else View(source)


def _array(columns: Sequence[Column] | Column, element: str) -> Column:
    made = columns if isinstance(columns, Column) else F.array(*columns)
    return made.cast(f"array<{element}>")
