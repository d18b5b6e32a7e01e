"""The row that was there before: a join by time, by one sort instead of comparing all pairs."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F


def last_before(
    left: DataFrame,
    right: DataFrame,
    by: Sequence[str],
    at: Column,
    right_at: Column,
    name: str,
    inclusive: bool = False,
    order: str = "",
) -> DataFrame:
    """Every row of `left`, with the newest row of `right` before it as the struct `name`, null where there is none.

    Both have the columns `by`; `at` and `right_at` are times. `inclusive`: a row of the same time is before. Rows of
    `right` with the same time are told apart by their column `order`. Linear but for sorting.
    """
    tie = F.col(order).cast("bigint") if order else F.lit(0).cast("bigint")
    first, second = (0, 1) if inclusive else (1, 0)
    lefts = left.select(*by, at.cast("bigint").alias("_at"), F.lit(second).alias("_tie"), F.struct("*").alias("_left"))
    rights = right.select(
        *by,
        right_at.cast("bigint").alias("_at"),
        F.lit(first).alias("_tie"),
        tie.alias("_order"),
        F.struct("*").alias("_right"),
    )
    both = lefts.unionByName(rights, allowMissingColumns=True)
    window = Window.partitionBy(*by).orderBy("_at", "_tie", "_order")
    window = window.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    found = both.withColumn(name, F.last("_right", ignorenulls=True).over(window))
    return found.where(F.col("_left").isNotNull()).select("_left.*", name)
