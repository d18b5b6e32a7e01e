"""One Spark session for all Spark tests; where there is no Java they are skipped with a line that says so."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark(program: Callable[[str], str]) -> Iterator[SparkSession]:
    """A session of the size that Binder allows; stopped at the end."""
    program("java")
    from kafkalab.spark.session.session import spark_session

    session = spark_session(brief=True)
    yield session
    session.stop()
