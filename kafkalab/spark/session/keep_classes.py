"""`python -m kafkalab.spark.session.keep_classes` makes the archive of the Java classes that Spark loads."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from shutil import rmtree
from typing import Any

from kafkalab.spark.session.class_archive import QUIET, archive_of
from kafkalab.spark.session.java import java_home
from kafkalab.spark.session.session import spark_session

SOME_SQL = """
SELECT a.key, count(*) AS n, max(b.value) AS most, row_number() OVER (PARTITION BY a.key % 2 ORDER BY a.key) AS place
FROM some a LEFT JOIN some b ON a.key = b.key AND b.value > 1 GROUP BY a.key ORDER BY n
"""


def make_archive() -> Path:
    """Start Spark, let it do a little of everything, and keep the classes that this took.

    JavaMissingError where there is no Java, RuntimeError if it fails. About 190 MB, half a minute.
    """
    from pyspark import SparkContext

    path = archive_of(java_home())
    path.parent.mkdir(parents=True, exist_ok=True)
    made = path.with_suffix(f".{os.getpid()}")
    spark = spark_session(memory="512m", brief=True, java=f"{QUIET} -XX:ArchiveClassesAtExit={made}")
    _work(spark, made.with_suffix(".parquet"))
    gateway: Any = SparkContext._gateway
    spark.stop()
    gateway.proc.stdin.close()  # Java ends, and writes the archive
    if gateway.proc.wait() != 0:
        made.unlink(missing_ok=True)
        raise RuntimeError(f"Java ended with {gateway.proc.returncode}, and left no archive of classes")
    return made.replace(path)


def _work(spark: Any, folder: Path) -> None:
    rows = spark.createDataFrame([(n, str(n), n % 7) for n in range(100)], ["key", "text", "value"])
    rows.write.parquet(str(folder))
    spark.read.parquet(str(folder)).createOrReplaceTempView("some")
    spark.sql(SOME_SQL).toPandas()
    spark.table("some").groupBy("value").applyInPandas(lambda frame: frame, schema=rows.schema).collect()
    rmtree(folder)


def main() -> int:
    """Make the archive, and say where it lies; or say in one line how to get a Java."""
    try:
        print(make_archive())
    except RuntimeError as error:
        print(error)
    return 0


if __name__ == "__main__":
    sys.exit(main())
