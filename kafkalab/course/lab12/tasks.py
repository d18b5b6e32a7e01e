"""The tasks of lab 12's checks, for Spark, with a learner's query or function: in the notebook's process, on files.

Each task returns data, which `kafkalab.course.lab12.spark_exercise.rows_of` reads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

from kafkalab.course.lab12.spark import spark
from kafkalab.course.lab12.spark_exercise import take_rows
from kafkalab.grading.exercise import is_blank
from kafkalab.grading.remote_query import inputs

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

QUERY, FUNCTION, TOPIC, TABLES = (f"{__name__}:{name}" for name in ("query", "function", "topic", "tables"))


def query(folder: str, sql: str, columns: Sequence[str], most: int) -> dict[str, Any]:
    """Run the query on the views of the history in this folder; the learner's own views are as before afterwards."""
    session = spark()
    with as_views(session, _views(session, folder)):
        return collect_rows(lambda: session.sql(sql), columns, most)


@contextmanager
def as_views(session: SparkSession, views: Mapping[str, DataFrame]) -> Iterator[None]:
    """Within, SQL finds these frames by their names; the views that had those names are there again afterwards."""
    before = {name: session.table(name) for name in views if session.catalog.tableExists(name)}
    try:
        for name, frame in views.items():
            frame.createOrReplaceTempView(name)
        yield
    finally:
        for name in views:
            session.catalog.dropTempView(name)
        for name, frame in before.items():
            frame.createOrReplaceTempView(name)


def function(answer: Callable[..., Any], folder: str, columns: Sequence[str], most: int) -> dict[str, Any]:
    """Call the function with the log of the history in this folder."""
    log = spark().read.parquet(str(inputs() / folder / "log.parquet"))
    return collect_rows(lambda: answer(log), columns, most)


def tables(
    answer: Callable[..., Any], folder: str, names: Sequence[str], columns: Sequence[str], most: int
) -> dict[str, Any]:
    """Call the function with the tables of these names in this folder."""
    frames = [spark().read.parquet(str(inputs() / folder / f"{name}.parquet")) for name in names]
    return collect_rows(lambda: answer(*frames), columns, most)


def topic(
    answer: Callable[..., Any], rows: Sequence[tuple[Any, ...]], columns: Sequence[str], most: int
) -> dict[str, Any]:
    """Call the function with a topic that holds these rows."""
    from kafkalab.course.lab12.topic_sink import COLUMNS

    frame = spark().createDataFrame(list(rows), COLUMNS)
    return collect_rows(lambda: answer(frame), columns, most)


def collect_rows(made: Callable[[], Any], columns: Sequence[str], most: int) -> dict[str, Any]:
    """Return the rows of the DataFrame that the learner's code returns, as data, or why there are none."""
    from kafkalab.spark.session.errors import one_line

    try:
        given = made()
        return {"blank": True} if is_blank(given) else take_rows(given, columns, most)
    except Exception as error:
        return {"failed": f"{type(error).__name__}: {one_line(error)}"}


@cache
def _views(session: SparkSession, folder: str) -> dict[str, DataFrame]:
    from kafkalab.course.lab12.lesson import views_of
    from kafkalab.course.lab12.nights import TABLES

    frames = {name: session.read.parquet(str(inputs() / folder / f"{name}.parquet")) for name in TABLES}
    return {name: frame.persist() for name, frame in views_of(**frames).items()}
