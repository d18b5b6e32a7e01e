"""A learner's rows are compared with the truth, forgiving in form and exact in content; a retried sink sends again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pandas import DataFrame as Frame

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TRUTH = [("k-0", 3), ("k-0", 4), ("k-1", 3)]
COLUMNS = ("key", "offset")


@pytest.mark.spark
@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("VALUES ('k-0', 3L), ('k-0', 4L), ('k-1', 3L) AS t(key, offset)", "all 3 rows are there, and no other"),
        ("VALUES ('x', 4, 'k-0'), ('y', 3, 'k-1'), ('z', 3, 'k-0') AS t(more, OFFSET, Key)", "all 3 rows are there"),
        ("VALUES ('k-0', 3), ('k-1', 3) AS t(key, offset)", "2 of 3 rows are right. Missing: key 'k-0', offset 4"),
        ("VALUES ('k-0', 9) AS t(key, offset)", "0 of 3 .* Missing: .*; .*; .*. Too many: key 'k-0', offset 9"),
        ("VALUES ('k-0', 3), ('k-0', 3), ('k-0', 4), ('k-1', 3) AS t(key, offset)", "3 of 3 .* Repeated: key 'k-0'"),
        ("(SELECT 'k-0' key, id offset FROM range(3, 13))", "2 of 3 .* Too many: .*; .*; .* and 5 more$"),
        ("(SELECT 'k-0' key, id offset FROM range(5000))", "there are more than 1030 rows, where 3 are true: "),
        ("VALUES ('k-0', 3) AS t(key, place)", "the column offset is missing; your columns are key, place"),
        ("(SELECT 1 key, 2 offset, 3 Offset)", "two columns have the same name; your columns are key, offset, Offset"),
    ],
)  # fmt: skip
def test_a_difference_is_shown(spark: SparkSession, sql: str, said: str) -> None:
    from kafkalab.course.lab12.spark_exercise import compare

    difference = compare(spark.sql(f"SELECT * FROM {sql}"), TRUTH, COLUMNS)
    assert bool(difference) is not said.startswith("all")
    with pytest.raises(AssertionError, match=said):
        raise AssertionError(str(difference))


@pytest.mark.parametrize(
    ("given", "kind"),
    [(None, "NoneType"), (..., "ellipsis"), ([("k-0", 3)], "list"), ("SELECT 1", "str"), (Frame(), "pandas.DataFrame")],
)
def test_what_is_no_dataframe_is_said_to_be_none(given: Any, kind: str) -> None:
    from kafkalab.course.lab12.spark_exercise import compare

    said = f"the answer must be a PySpark DataFrame with the columns key, offset, not {kind}"
    assert str(compare(given, TRUTH, COLUMNS)) == said


@pytest.mark.spark
def test_a_task_that_is_tried_again_sends_again_unless_the_sink_is_idempotent(
    spark: SparkSession, tmp_path: Path
) -> None:
    from kafkalab.course.lab12.topic_sink import deliver, delivered

    rows = spark.range(0, 12, 1, 3).selectExpr("concat('v', id) AS value")
    values = [f"v{n}" for n in range(12)]
    deliver(rows, tmp_path / "plain", {0: 3, 2: 4}, idempotent=False)
    found = delivered(spark, tmp_path / "plain").collect()
    first = [r["value"] for r in found if r["attempt"] == 0]
    assert sorted(first, key=values.index) == values[:3] + values[4:]
    assert sorted((r["value"] for r in found if r["attempt"] == 1), key=values.index) == values[:4] + values[8:]
    deliver(rows, tmp_path / "plain", {0: 3}, idempotent=True)
    assert sorted((r["value"] for r in delivered(spark, tmp_path / "plain").collect()), key=values.index) == values
    with pytest.raises(ValueError, match="a topic takes the column value; there are id"):
        deliver(spark.range(2), tmp_path, idempotent=True)
