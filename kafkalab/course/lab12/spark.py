"""The Spark session that the exercises of lab 12 run on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkalab.grading.exercise import WrongValue

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def spark() -> SparkSession:
    """The session that runs, or a new one; WrongValue, with the line that says how to get Java, without Java."""
    from kafkalab.spark.session.java import JavaMissingError
    from kafkalab.spark.session.session import spark_session

    try:
        return spark_session(brief=True)
    except JavaMissingError as error:
        raise WrongValue(str(error)) from None
