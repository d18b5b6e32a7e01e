"""Histories as DataFrames: the rows of pure Python, there and back, and those that the data source simulates."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kafkalab.history.history import History
from kafkalab.spark.simulation.frames import simulate_histories
from kafkalab.spark.simulation.runs import Runs, history_of_seed
from kafkalab.spark.storage.frames import Histories
from kafkalab.spark.storage.rows import ORDER
from kafkalab.spark.storage.schemas import TABLES, spark_schema

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def in_order(history: History) -> History:
    """The same rows in the order in which `Histories.collect` gives them."""
    tables: dict[str, Any] = {
        name: tuple(sorted(history.table(name), key=lambda row: tuple(getattr(row, n) for n in ORDER[name])))
        for name in TABLES
    }
    return replace(history, **tables)


@pytest.fixture(scope="module")
def runs() -> list[tuple[int, History]]:
    return [(seed, history_of_seed(Runs(), seed)) for seed in (1, 2, 3)]


def test_histories_of_pure_python_come_back_as_they_were(spark: SparkSession, runs: list[tuple[int, History]]) -> None:
    found = Histories.of(spark, runs).collect()
    assert found == {run: in_order(history) for run, history in runs}


def test_every_table_has_its_schema(spark: SparkSession, runs: list[tuple[int, History]]) -> None:
    histories = Histories.of(spark, runs)
    assert [histories.table(name).schema for name in TABLES] == [spark_schema(name) for name in TABLES]


def test_an_unknown_table_is_refused_with_those_that_there_are(spark: SparkSession) -> None:
    with pytest.raises(ValueError, match="no table 'logs'; there are operations, log, reads"):
        Histories.of(spark, []).table("logs")


def test_a_run_that_is_there_twice_is_refused(spark: SparkSession, runs: list[tuple[int, History]]) -> None:
    with pytest.raises(ValueError, match="a number of its own, but 1 is there twice"):
        Histories.of(spark, [runs[0], runs[0]])


def test_no_histories_are_tables_without_rows(spark: SparkSession) -> None:
    assert Histories.of(spark, []).collect() == {}


def test_simulated_histories_are_those_of_the_simulator(spark: SparkSession, runs: list[tuple[int, History]]) -> None:
    found = simulate_histories(spark, "1-3").collect()
    assert found == {run: in_order(history) for run, history in runs}


def test_what_cannot_be_simulated_is_refused_at_once(spark: SparkSession) -> None:
    with pytest.raises(ValueError, match='seeds are like "7" or "1-1000", not \'x\''):
        simulate_histories(spark, "x")
    with pytest.raises(ValueError, match=r"no profile '9.9'"):
        simulate_histories(spark, profile="9.9")
    with pytest.raises(FileNotFoundError, match=r"nowhere.klab"):
        simulate_histories(spark, scenario="nowhere.klab")


@pytest.mark.parametrize("partitions", [1, 4])
def test_a_campaign_with_a_rule_off_is_the_same_on_any_number_of_tasks(spark: SparkSession, partitions: int) -> None:
    rules = "a partition is verified before a transactional append; an abort by timeout raises the epoch"
    given: dict[str, Any] = {"profile": "4.x/TV1", "rules_off": rules}
    runs = Runs.of("11-14", **given)
    found = simulate_histories(spark, "11-14", **given, partitions=partitions).collect()
    assert found == {seed: in_order(history_of_seed(runs, seed)) for seed in runs.seeds}
    assert any(history.label("fault") for history in found.values())
    assert all(len(history.label("rule off")) == 2 for history in found.values())


def test_every_seed_may_run_one_scenario(spark: SparkSession, root: Path) -> None:
    scenario = str(root / "data" / "hanging_transaction.klab")
    found = simulate_histories(spark, "1-2", scenario=scenario).collect()
    assert found == {seed: in_order(history_of_seed(Runs.of(scenario=scenario), seed)) for seed in (1, 2)}
