"""The tasks of lab 16's checks, for Spark, with a learner's functions and SQL: in the notebook's process, on files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from kafkalab.course.lab12.spark import spark
from kafkalab.course.lab12.tasks import as_views, collect_rows
from kafkalab.course.lab16.crashes import run_through
from kafkalab.course.lab16.measure import count_rows_by_task
from kafkalab.grading.remote_query import inputs

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

NAMES = ("call_gaps", "query_log", "call_newest", "write_stream")
GAPS, ABORTED, NEWEST, STREAM = (f"{__name__}:{name}" for name in NAMES)


def read_table(folder: str, name: str) -> DataFrame:
    """Return a table of a folder in `inputs()`."""
    return spark().read.parquet(str(inputs() / folder / f"{name}.parquet"))


def call_gaps(answer: Callable[..., Any], folder: str, columns: Sequence[str], most: int) -> dict[str, Any]:
    """Call the function with the log and the sends in this folder."""
    return collect_rows(lambda: answer(read_table(folder, "log"), read_table(folder, "sends")), columns, most)


def query_log(sql: str, folder: str, columns: Sequence[str], most: int) -> dict[str, object]:
    """Run the query on the view `log` of this folder; the learner's own view is as before afterwards."""
    with as_views(spark(), {"log": read_table(folder, "log")}):
        return collect_rows(lambda: spark().sql(sql), columns, most)


def call_newest(answer: Callable[..., Any], folder: str, columns: Sequence[str], most: int) -> dict[str, Any]:
    """Call the function with the updates and owners in this folder; say, too, how many rows each task reads."""
    made: list[Any] = []

    def call() -> Any:
        made.append(answer(read_table(folder, "updates"), read_table(folder, "owners")))
        return made[0]

    found = collect_rows(call, columns, most)
    return {**found, "reads": count_rows_by_task(made[0])} if "rows" in found else found


def write_stream(
    answer: Callable[..., Any], folder: str, stops: Sequence[tuple[int, str]], columns: Sequence[str], most: int
) -> dict[str, object]:
    """Let the function write a stream that is stopped at some places and started again; return what it has written."""
    return collect_rows(lambda: run_through(spark(), answer, inputs() / folder, stops), columns, most)
