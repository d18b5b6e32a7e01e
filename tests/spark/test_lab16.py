"""The exercises of lab 16 on Spark, and what its notebook measures and kills."""

from __future__ import annotations

import ast
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kafkalab.grading import check as checks
from kafkalab.grading import seeds
from kafkalab.grading.builder import SOLUTIONS, read
from kafkalab.grading.check import check, hint
from kafkalab.grading.exercise import WrongAnswer, WrongValue
from kafkalab.grading.grade import grade
from kafkalab.grading.runner import Limits
from kafkalab.grading.sheet import sheet
from kafkalab.grading.submissions import submissions

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark
NOTEBOOK = Path(__file__).resolve().parents[2] / SOLUTIONS / "16_spark_at_work.ipynb"
CELLS = {c["id"]: "".join(c["source"]) for c in read(NOTEBOOK)["cells"]}
RIGHT = {
    "L16.E1": "right under 2 versions",
    "L16.E2": "all rows, and no task reads more than 10,000 of 40,000",
    "L16.E3": "60 rows once, over 3 stops",
    "L16.E4": "right under 2 versions",
}


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "_session", checks._Session())


def names() -> dict[str, Any]:
    """Return what the solution's cells define."""
    found: dict[str, Any] = {"__name__": "__main__"}
    exec("from pyspark.sql import functions as F, Window", found)
    for number in range(1, 5):
        exec(compile(ast.parse(CELLS[f"e{number}-answer"]), "answer", "exec"), found)
    return found


def answers() -> dict[str, Any]:
    found = names()
    return dict(zip(RIGHT, (found[name] for name in ("gaps", "newest", "write_batch", "e4")), strict=True))


@pytest.mark.parametrize("seed", [None, "2026"], ids=["learner", "grader"])
def test_the_solutions_are_right(spark: SparkSession, seed: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    if seed:
        monkeypatch.setenv(seeds.VARIABLE, seed)
    for name, answer in answers().items():
        assert check(name, answer) == f"{name} ✓ {RIGHT[name]}"


def test_the_notebook_runs_in_a_sandbox_and_gets_all_points(root: Path, program: Any, tmp_path: Path) -> None:
    program("java")
    labs = {name: lab for name, lab in sheet(root).items() if name == NOTEBOOK.stem}
    (tmp_path / "solved").mkdir()
    shutil.copy(NOTEBOOK, tmp_path / "solved")
    rows = grade(submissions(tmp_path, labs), labs, tmp_path, root, Limits(), seed=90_210)
    assert [(r.exercise, r.result, r.notebook) for r in rows] == [(n, "right", "it ran to the end") for n in RIGHT]


def catch_error(name: str, answer: Any) -> tuple[WrongAnswer, str]:
    """The error, and the hint after it."""
    with pytest.raises(WrongAnswer) as caught:
        check(name, answer)
    return caught.value, hint(name)


def by_producer(log: DataFrame, sends: DataFrame) -> DataFrame:
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    before = F.lag("sequence").over(Window.partitionBy("key", "producer_id").orderBy("offset"))
    steps = log.where("control = ''").withColumn("missing", F.col("sequence") - before - 1)
    return steps.where("missing > 0").withColumn("acknowledged", F.lit(0))


def test_wrong_windows_get_the_hint_that_fits(spark: SparkSession) -> None:
    error, said = catch_error("L16.E1", by_producer)
    assert error.miss == "jumps forward"
    assert "First keep each sequence" in said
    assert ": producer 10" in str(error.run)
    assert "acknowledged" not in str(error)
    assert "still blank" in str(catch_error("L16.E1", lambda log, sends: ...)[0])
    with pytest.raises(WrongValue, match=r"gaps\(log, sends\) fails: .*colour"):
        check("L16.E1", lambda log, sends: log.select("colour"))


def test_a_wrong_column_acknowledged_is_looked_at_once_the_gaps_are_right(spark: SparkSession) -> None:
    from pyspark.sql import functions as F

    right = names()["gaps"]
    error, said = catch_error(
        "L16.E1", lambda log, sends: right(log, sends).withColumn("acknowledged", F.col("missing"))
    )
    assert error.miss == "all acknowledged"
    error, said = catch_error("L16.E1", lambda log, sends: right(log, sends).where("acknowledged > 0"))
    assert error.miss == "inner join"
    assert "Which kind of join keeps them?" in said


def test_rows_that_the_driver_has_made_are_no_plan(spark: SparkSession) -> None:
    right = names()["newest"]

    def collect(updates: DataFrame, owners: DataFrame) -> DataFrame:
        rows = right(updates, owners).select("account", "value", "owner").collect()
        return spark.createDataFrame(rows, "account string, value long, owner string")

    assert catch_error("L16.E2", collect)[0].miss == "driver"


def over(updates: DataFrame, owners: DataFrame) -> DataFrame:
    """The window of the worked example."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    largest = F.max("offset").over(Window.partitionBy("account"))
    found = updates.withColumn("largest", largest).where("offset = largest AND value IS NOT NULL")
    return found.join(owners, "account", "left")


def in_one_task(updates: DataFrame, owners: DataFrame) -> DataFrame:
    return over(updates.coalesce(1), owners)


def alive_again(updates: DataFrame, owners: DataFrame) -> DataFrame:
    return over(updates.where("value IS NOT NULL"), owners)


@pytest.mark.parametrize(
    ("answer", "miss", "part", "says"),
    [
        (over, "skew", 0.5, r"one task has read 36,\d+ of 40,000"),
        (in_one_task, "one task", 0.5, "one task has read 40,000 of 40,000"),
        (alive_again, "tombstone skipped", 0.0, "a tombstone were not there"),
    ],
)
def test_a_result_or_a_plan_that_is_wrong_is_told_apart(
    spark: SparkSession, answer: Callable[..., Any], miss: str, part: float, says: str
) -> None:
    with pytest.raises(WrongAnswer, match=says) as caught:
        check("L16.E2", lambda updates, owners: answer(updates, owners))
    assert (caught.value.miss, caught.value.part) == (miss, part)


def test_a_salted_window_is_even_enough(spark: SparkSession) -> None:
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    def salt(updates: DataFrame, owners: DataFrame) -> DataFrame:
        largest = F.max("offset").over(Window.partitionBy("account", "salt"))
        parts = updates.withColumn("salt", F.col("offset") % 64).withColumn("top", largest).where("offset = top")
        return over(parts.drop("salt", "top"), owners)

    assert check("L16.E2", salt).startswith("L16.E2 ✓")


def append(frame: DataFrame, batch_id: int, folder: str) -> None:
    frame.write.mode("append").parquet(folder)


def empty_all(frame: DataFrame, batch_id: int, folder: str) -> None:
    frame.write.mode("overwrite").parquet(folder)


def skip(frame: DataFrame, batch_id: int, folder: str) -> None:
    frame.write.mode("ignore").parquet(f"{folder}/batch={batch_id}")


def distinct(frame: DataFrame, batch_id: int, folder: str) -> None:
    frame.dropDuplicates().write.mode("overwrite").parquet(f"{folder}/batch={batch_id}")


def without_known(frame: DataFrame, batch_id: int, folder: str) -> None:
    """Append the rows that the folder does not hold yet."""
    if list(Path(folder).glob("*.parquet")):
        known = frame.sparkSession.read.parquet(folder)
        frame = frame.join(known, ["minute", "payment"], "left_anti")
    frame.write.mode("append").parquet(folder)


def by_minute(frame: DataFrame, batch_id: int, folder: str) -> None:
    writer = frame.write.mode("overwrite").option("partitionOverwriteMode", "dynamic")
    writer.partitionBy("minute").parquet(folder)


@pytest.mark.parametrize(
    ("write", "miss"),
    [
        (append, "append"),
        (empty_all, "overwrite all"),
        (skip, "skip"),
        (distinct, "distinct"),
        (without_known, "distinct"),
        (by_minute, "by minute"),
    ],
)
def test_a_wrong_sink_gets_the_hint_that_fits(spark: SparkSession, write: Callable[..., Any], miss: str) -> None:
    error, said = catch_error("L16.E3", lambda frame, batch_id, folder: write(frame, batch_id, folder))
    assert error.miss == miss
    assert said.startswith("Hint for this answer: ")


def test_other_ways_to_a_place_of_its_own_pass(spark: SparkSession) -> None:
    from pyspark.sql import functions as F

    def dynamic(frame: DataFrame, batch_id: int, folder: str) -> None:
        writer = frame.withColumn("batch", F.lit(batch_id)).write.mode("overwrite").partitionBy("batch")
        writer.option("partitionOverwriteMode", "dynamic").parquet(folder)

    def unless_complete(frame: DataFrame, batch_id: int, folder: str) -> None:
        if not Path(folder, str(batch_id), "_SUCCESS").exists():
            frame.write.mode("overwrite").parquet(f"{folder}/{batch_id}")

    for write in (dynamic, unless_complete):
        assert check("L16.E3", write) == f"L16.E3 ✓ {RIGHT['L16.E3']}"
    with pytest.raises(WrongValue, match=r"fails: ValueError: part-\S+\.csv is no Parquet file"):
        check("L16.E3", lambda frame, batch_id, folder: frame.write.mode("overwrite").csv(f"{folder}/{batch_id}"))


def test_what_a_sink_remembers_is_gone_with_its_process(spark: SparkSession) -> None:
    space: dict[str, Any] = {"__name__": "__main__"}
    exec(
        "done = set()\n"
        "def remembering(frame, batch_id, folder):\n"
        "    if batch_id not in done:\n"
        "        frame.write.mode('append').parquet(folder)\n"
        "        done.add(batch_id)\n",
        space,
    )
    assert catch_error("L16.E3", space["remembering"])[0].miss == "append"
    with pytest.raises(WrongValue, match=r"write_batch\(frame, batch_id, folder\) fails: AttributeError"):
        check("L16.E3", lambda frame, batch_id, folder: frame.write.parket(folder))
    assert "still blank" in str(catch_error("L16.E3", lambda frame, batch_id, folder: ...)[0])


@pytest.mark.parametrize(
    ("query", "miss"),
    [("half", "next epoch"), ("SELECT key, offset FROM log WHERE control = 'ABORT'", "")],
)
def test_a_wrong_query_gets_the_hint_that_fits(spark: SparkSession, query: str, miss: str) -> None:
    shown = CELLS["sql-half"].split("'''")[1]
    error, said = catch_error("L16.E4", shown if query == "half" else query)
    assert error.miss == miss
    assert ("Under version 1 all transactions" in said) is bool(miss)
    spark.sql("SELECT 7 AS mine").createOrReplaceTempView("log")
    catch_error("L16.E4", shown)
    assert spark.table("log").columns == ["mine"]
    spark.catalog.dropTempView("log")


@pytest.mark.parametrize(("write", "there"), [("append", [1000, 1000, 2000, 1000]), ("write_batch", [1000] * 4)])
def test_a_jvm_that_is_really_killed_doubles_what_is_appended_and_nothing_else(
    spark: SparkSession, write: str, there: list[int]
) -> None:
    from kafkalab.course.lab16.killed import kill_and_restart

    space = names()
    exec(CELLS["killed"].split("\n\n")[0], space)
    assert kill_and_restart(spark, space[write], batch=2) == there


def test_a_process_that_ends_before_its_jvm_is_killed_is_said(spark: SparkSession) -> None:
    from kafkalab.course.lab16.killed import kill_and_restart

    with pytest.raises(RuntimeError, match="ended before its JVM was killed: "):
        kill_and_restart(spark, append, batch=99)
