"""The Spark session that the exercises of lab 12 run on, and one line for whatever Spark says."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from kafkalab.grading.exercise import WrongAnswer, WrongValue

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def spark() -> SparkSession:
    """The session that runs, or a new one; WrongValue, with the line that says how to get Java, without Java."""
    from kafkalab.spark.session.java import JavaMissingError
    from kafkalab.spark.session.session import spark_session

    try:
        return spark_session()
    except JavaMissingError as error:
        raise WrongValue(str(error)) from None


@contextmanager
def one_line_of(what: str) -> Iterator[None]:
    """WrongValue, with one line without Java, for whatever goes wrong in a learner's query or function but WrongAnswer.

    `what` begins the line: "torn(log) fails".
    """
    from kafkalab.spark.session.errors import one_line

    try:
        yield
    except WrongAnswer:
        raise
    except Exception as error:
        raise WrongValue(f"{what}: {type(error).__name__}: {one_line(error)}") from None
