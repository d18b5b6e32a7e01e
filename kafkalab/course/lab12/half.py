"""A query with a window of which two parts are missing, to be completed before exercise 1."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkalab.grading.exercise import Line

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

REFERENCE = """
    SELECT consumer, key, poll, from_offset, lag(to_offset) OVER (PARTITION BY consumer, key ORDER BY poll) AS expected
    FROM polls"""
COLUMNS = ("consumer", "key", "poll", "from_offset", "expected")


def try_half(spark: SparkSession, query: str) -> Line:
    """Run the query over the night beside a right one; return whether `expected` is right. Nothing is graded."""
    if "..." in query:
        return Line("Two parts are still missing, each marked by three dots.")
    try:
        given, right = (spark.sql(text).select(*COLUMNS) for text in (query, REFERENCE))
        more, missing = given.exceptAll(right).count(), right.exceptAll(given).count()
    except Exception as error:
        return Line(f"The query does not run: {str(error).splitlines()[0][:200]}")
    if more or missing:
        return Line(f"{more} of the rows are not right. Whose poll comes before which, and where did that one end?")
    return Line(f"Right: each of {right.count()} polls has the end of the one before it, or null if it is the first.")
