"""The exercises of lab 12 on Spark: right answers pass for learner and grader, mistakes get the hint that fits."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from kafkalab.course.lab12 import exercise_0 as lab12_e0
from kafkalab.course.lab12 import exercise_1 as lab12_e1
from kafkalab.course.lab12 import exercise_3 as lab12_e3
from kafkalab.course.lab12.configurations import CONFIGURATIONS, simulate_copies
from kafkalab.course.lab12.guarantee import open_run, tables_of
from kafkalab.course.lab12.rates import rates
from kafkalab.grading import check as checks
from kafkalab.grading import seeds
from kafkalab.grading.check import check, hint
from kafkalab.grading.exercise import WrongValue
from tests.course.test_lab12 import blank, catch_text, solution
from tests.grading.told import as_learner

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "_session", checks._Session())


@pytest.fixture(params=[None, "2026"], ids=["learner", "grader"])
def whoever(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The seed of a learner, then that of a grader."""
    if request.param:
        monkeypatch.setenv(seeds.VARIABLE, request.param)


def right_fates() -> Callable[..., DataFrame]:
    from pyspark.sql import functions

    found: Callable[..., DataFrame] = solution("e0-answer", F=functions)["fates"]
    return found


@pytest.mark.spark
def test_executors_make_the_tables_that_the_grader_makes(spark: SparkSession) -> None:
    from kafkalab.spark.simulation.frames import simulate_histories

    options: dict[str, dict[str, Any]] = {**CONFIGURATIONS}
    workloads = {name: simulate_histories(spark, "2-4", **some) for name, some in options.items()}
    graded: tuple[Any, ...] = simulate_copies("2-4")
    for frame, rows in zip(tables_of(workloads), graded, strict=True):
        assert sorted(tuple(row) for row in frame.select(*rows[0]._fields).collect()) == sorted(map(tuple, rows))


@pytest.mark.spark
@pytest.mark.usefixtures("whoever")
def test_the_solution_counts_the_fates_of_runs_made_anew(spark: SparkSession) -> None:
    found = check("L12.E0", right_fates())
    assert found == "L12.E0 ✓ the fates of 2 sets of runs, one by one"


@pytest.mark.spark
def test_a_wrong_count_of_fates_is_shown_beside_the_true_one_and_gets_the_hint_that_fits(spark: SparkSession) -> None:
    from pyspark.sql.functions import lit

    right = right_fates()

    def never_unfinished(inputs: DataFrame, reads: DataFrame, positions: DataFrame) -> DataFrame:
        return right(inputs, reads, positions.withColumn("committed", lit(100)))

    message = catch_text("L12.E0", never_unfinished)
    assert re.match(r"L12.E0: In \d+ runs of each configuration, made anew: ", message)
    assert hint("L12.E0") == f"Hint for this answer: {lab12_e0.EXERCISE.misses['never unfinished']}"
    assert "still blank" in catch_text("L12.E0", blank)
    assert "the column isolation_level is missing" in catch_text("L12.E0", lambda inputs, reads, positions: inputs)
    with pytest.raises(WrongValue, match=r"fates\(inputs, reads, positions\) fails: .*colour"):
        check("L12.E0", lambda inputs, reads, positions: inputs.select("colour"))


def test_a_run_with_a_doubled_input_is_opened_where_its_second_copy_is() -> None:
    journey = open_run("old client", 3)
    assert (journey.scenario.seed, journey.scenario.profile) == (3, "4.x/TV1")
    event = journey.cluster.trace.events[journey.step]
    assert (event.kind, event.name) == ("append", "out-1")


@pytest.mark.spark
def test_rates_need_all_columns(spark: SparkSession) -> None:
    frame = spark.createDataFrame([("old client", "read_committed", 3, 0, 17, 1, 0)], lab12_e0.COLUMNS)
    assert str(rates(frame)).splitlines()[1].startswith("old client     read_committed      0")
    with pytest.raises(ValueError, match="the column lost is missing"):
        rates(frame.drop("lost"))


@pytest.mark.spark
@pytest.mark.usefixtures("whoever")
def test_the_solutions_queries_are_right_in_histories_made_anew(spark: SparkSession) -> None:
    assert check("L12.E1", solution("e1-answer")["e1"]) == "L12.E1 ✓ 4 of 4 queries, on 2 histories"


@pytest.mark.spark
def test_every_plausible_wrong_query_gets_the_hint_that_fits(spark: SparkSession) -> None:
    right = solution("e1-answer")["e1"]
    for name, mistakes in lab12_e1.MISTAKES.items():
        for miss, query in mistakes.items():
            message = catch_text("L12.E1", {**right, name: query})
            assert message.startswith(f"L12.E1: {name}: "), message
            assert hint("L12.E1") == f"Hint for this answer: {lab12_e1.EXERCISE.misses[f'{name}: {miss}']}"
    with pytest.raises(WrongValue, match=r"The query for G1a does not run: .*\bnowhere\b") as caught:
        check("L12.E1", {**right, "G1a": "SELECT * FROM nowhere"})
    assert "\n" not in str(caught.value)
    assert "The query for G1a is still blank" in catch_text("L12.E1", {**right, "G1a": ""})


@pytest.mark.spark
@pytest.mark.usefixtures("whoever")
def test_the_torn_transaction_is_found_on_other_nights(spark: SparkSession) -> None:
    torn = solution("e2-answer")["torn"]
    assert check("L12.E2", torn) == "L12.E2 ✓ 1 transaction in each of 2 histories"


@pytest.mark.spark
def test_a_wrong_search_for_the_torn_transaction_gets_the_hint_that_fits(spark: SparkSession) -> None:
    def any_epoch(log: DataFrame) -> DataFrame:
        found = log.where("control <> ''").groupBy("producer_id").agg({"control": "max", "producer_epoch": "max"})
        return found.withColumnRenamed("max(producer_epoch)", "producer_epoch")

    def nothing(log: DataFrame) -> DataFrame:
        return log.where("false")

    catch_text("L12.E2", any_epoch)
    assert "What names one transaction, besides the producer id?" in hint("L12.E2")
    assert "Missing: producer_id" in catch_text("L12.E2", nothing)
    assert "Only the markers matter" in hint("L12.E2")
    assert "the column producer_epoch is missing" in catch_text("L12.E2", lambda log: log.select("producer_id"))
    assert "still blank" in catch_text("L12.E2", blank)
    with pytest.raises(WrongValue, match=r"torn\(log\) fails: .*colour"):
        check("L12.E2", lambda log: log.select("colour"))


@pytest.mark.spark
@pytest.mark.usefixtures("whoever")
def test_every_row_is_there_once(spark: SparkSession) -> None:
    names = solution("e3-answer")
    assert check("L12.E3", names["e3"]) == "L12.E3 ✓ 30 of 30 cases, and every row is there once"


@pytest.mark.spark
@pytest.mark.parametrize(
    ("once", "said"),
    [
        (lambda topic: topic.dropDuplicates(["value"]), "Two rows of the application may have the same value"),
        (lambda topic: topic, "A task fails only if it reaches the row"),
        (lambda topic: topic.where("attempt = 0"), "only the second attempt sent"),
        (lambda topic: topic.where("attempt = 1"), "A task that never failed has no second attempt"),
    ],
    ids=["by value", "all", "first", "second"],
)
def test_a_wrong_way_to_once_gets_the_hint_that_fits(
    spark: SparkSession, once: Callable[[DataFrame], DataFrame], said: str
) -> None:
    message = catch_text("L12.E3", {"sent": as_learner(lab12_e3.count_sent), "once": once})
    assert message.startswith("L12.E3: sent is right. once is not yet, on a topic made anew:")
    assert said in hint("L12.E3")
