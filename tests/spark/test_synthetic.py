"""Synthetic histories on Spark: schemas, the same rows whatever the number of tasks, and the truth."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from kafkalab.checks.all import check_all
from kafkalab.spark.storage.schemas import TABLES, spark_schema
from kafkalab.spark.synthetic.generator import Synthetic, synthetic
from kafkalab.spark.synthetic.injected_anomalies import SCENES
from kafkalab.spark.synthetic.shape import Shape
from tests.spark.whole import count_found, expect

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark
INJECT = dict.fromkeys(SCENES, 1e-3)


@pytest.fixture(scope="module")
def injected(spark: SparkSession) -> Synthetic:
    return synthetic(spark, records=4000, block=1000, inject=INJECT, seed=3)


def rows(frame: DataFrame) -> Counter[str]:
    return Counter(map(str, frame.toArrow().to_pylist()))


def test_every_table_has_the_schema_of_its_rows(injected: Synthetic) -> None:
    assert [injected.table(name).schema for name in TABLES] == [spark_schema(name) for name in TABLES]


@pytest.mark.parametrize("tasks", [1, 8])
def test_the_same_seed_gives_the_same_rows_whatever_the_number_of_tasks(
    spark: SparkSession, injected: Synthetic, tasks: int
) -> None:
    again = synthetic(spark, records=4000, block=1000, inject=INJECT, seed=3, tasks=tasks)
    assert again.log.select("key").rdd.getNumPartitions() == min(tasks, again.shape.cells)
    for name in ("log", "operations", "polls"):
        assert rows(again.table(name)) == rows(injected.table(name))
    assert rows(again.truth) == rows(injected.truth)


def test_another_seed_gives_other_rows(spark: SparkSession, injected: Synthetic) -> None:
    other = synthetic(spark, records=4000, block=1000, inject=INJECT, seed=4)
    assert rows(other.polls) != rows(injected.polls)


def test_what_checks_find_in_the_collected_history_is_the_truth(injected: Synthetic) -> None:
    (run, history), *others = injected.collect().items()
    assert (run, others) == (3, [])
    truth = expect(Shape(records=4000, block=1000, inject=tuple(INJECT.items()), seed=3))
    assert sum(truth.values()) == injected.truth.count()
    assert count_found(check_all(history)) == truth


def test_labels_say_how_the_history_was_made(injected: Synthetic) -> None:
    labels = {(row["name"], row["value"]) for row in injected.labels.collect()}
    assert {("profile", "4.x/TV2"), ("seed", "3"), ("injected", "duplicate=0.001")} <= labels


def test_what_cannot_be_is_refused_before_anything_runs(spark: SparkSession) -> None:
    with pytest.raises(ValueError, match="no anomaly 'dup' can be injected"):
        synthetic(spark, inject={"dup": 0.1})
