"""Shared by the commands that need Spark: a session for as long as it is used, a quiet Java, errors in one line."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from kafkalab.cli.command_line import CommandLineError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession as Session

NO_PYSPARK = "this needs PySpark: pip install 'kafkalab-course[spark]', in the environment of {python}"


def add_spark_options(parser: argparse.ArgumentParser) -> None:
    """--master, --memory and --debug."""
    parser.add_argument(
        "--master", help="a Spark master or a Spark Connect server; two cores of this machine if not given"
    )
    parser.add_argument("--memory", default="768m", help="heap of the driver, such as 768m or 2g")
    parser.add_argument("--debug", action="store_true", help="show what Java says, and whole tracebacks")


@contextmanager
def spark_for(options: argparse.Namespace) -> Iterator[Session]:
    """Yield a session, stopped at the end unless it ran before. What goes wrong is a CommandLineError, but for --debug.

    Workers of Python do what takes long, so Java's second compiler never pays for itself.
    """
    try:
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException
        from pyspark.sql import SparkSession

        from kafkalab.spark.session.errors import one_line
        from kafkalab.spark.session.java import JavaMissingError
        from kafkalab.spark.session.session import spark_session
    except ImportError:
        raise CommandLineError(NO_PYSPARK.format(python=sys.prefix)) from None
    session, running = None, SparkSession.getActiveSession()
    try:
        session = spark_session(memory=options.memory, master=options.master, quiet=not options.debug, brief=True)
        yield session
    except (JavaMissingError, ValueError, OSError, PySparkException, Py4JError) as error:
        if options.debug:
            raise
        raise CommandLineError(one_line(error)) from None
    finally:
        if session is not None and session is not running:
            session.stop()
