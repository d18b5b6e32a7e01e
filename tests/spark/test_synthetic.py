"""Synthetic histories on Spark: schemas, the same rows whatever the number of tasks, and the truth."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from kafkalab.checks.all import check_all
from kafkalab.spark.storage.schemas import TABLES, spark_schema
from kafkalab.spark.synthetic.generator import Synthetic, synthetic
from kafkalab.spark.synthetic.injected.anomalies import PLANTS
from kafkalab.spark.synthetic.shape import Shape
from tests.spark.whole import expected, found

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark
PLANT = dict.fromkeys(PLANTS, 1e-3)


@pytest.fixture(scope="module")
def planted(spark: SparkSession) -> Synthetic:
    return synthetic(spark, records=4000, block=1000, plant=PLANT, seed=3)


def rows(frame: DataFrame) -> Counter[str]:
    return Counter(map(str, frame.toArrow().to_pylist()))


def test_every_table_has_the_schema_of_its_rows(planted: Synthetic) -> None:
    assert [planted.table(name).schema for name in TABLES] == [spark_schema(name) for name in TABLES]


@pytest.mark.parametrize("tasks", [1, 8])
def test_the_same_seed_gives_the_same_rows_whatever_the_number_of_tasks(
    spark: SparkSession, planted: Synthetic, tasks: int
) -> None:
    again = synthetic(spark, records=4000, block=1000, plant=PLANT, seed=3, tasks=tasks)
    assert again.log.select("key").rdd.getNumPartitions() == min(tasks, again.shape.cells)
    for name in ("log", "operations", "polls"):
        assert rows(again.table(name)) == rows(planted.table(name))
    assert rows(again.truth) == rows(planted.truth)


def test_another_seed_gives_other_rows(spark: SparkSession, planted: Synthetic) -> None:
    other = synthetic(spark, records=4000, block=1000, plant=PLANT, seed=4)
    assert rows(other.polls) != rows(planted.polls)


def test_what_checks_find_in_the_collected_history_is_the_truth(planted: Synthetic) -> None:
    (run, history), *others = planted.collect().items()
    assert (run, others) == (3, [])
    truth = expected(Shape(records=4000, block=1000, plant=tuple(PLANT.items()), seed=3))
    assert sum(truth.values()) == planted.truth.count()
    assert found(check_all(history), truth) == truth


def test_labels_say_how_the_history_was_made(planted: Synthetic) -> None:
    labels = {(row["name"], row["value"]) for row in planted.labels.collect()}
    assert {("profile", "4.x/TV2"), ("seed", "3"), ("planted", "duplicate=0.001")} <= labels


def test_what_cannot_be_is_refused_before_anything_runs(spark: SparkSession) -> None:
    with pytest.raises(ValueError, match="no anomaly 'dup' can be planted"):
        synthetic(spark, plant={"dup": 0.1})
