"""One place for Spark's settings: small enough for Binder by default, the same code on a cluster by its master URL."""

from __future__ import annotations

import logging
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from kafkalab.spark.session.class_archive import archive_options
from kafkalab.spark.session.java import java_home
from kafkalab.spark.session.log_levels import silence

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MEMORY = re.compile(r"[1-9]\d*[mg]")
LEAST_MEMORY_MB = 470
LOCAL = "local[2,2]"
"""Two cores; a task that fails is tried a second time, as a cluster would."""
LOGGING = Path(__file__).with_name("log4j2.properties")
CONTEXT_LOGGERS = ("DataFrameQueryContextLogger", "SQLQueryContextLogger")
"""PySpark writes each error of an analysis there too, with its whole Java stack."""
LEAN_JVM = (
    "-XX:+UseSerialGC -Xss512k -XX:MaxMetaspaceSize=256m -XX:ReservedCodeCacheSize=96m "
    "-XX:MinHeapFreeRatio=15 -XX:MaxHeapFreeRatio=30"
)
"""Java takes of its heap what it needs, and gives back what it does not need any more."""
PAGE = "2m"
"""The least that every small hash table takes: Spark's own choice for this heap is 16 MB, and plans have dozens."""
BRIEF_JVM = "-XX:TieredStopAtLevel=1 -Xmn48m"
"""One compiler, and a small space for new objects: plans make few, and what Java has once taken it keeps."""


def spark_session(
    memory: str = "768m",
    master: str | None = None,
    quiet: bool = True,
    brief: bool = False,
    java: str = "",
    **settings: str,
) -> SparkSession:
    """A Spark session: the one that runs, else one on `master`, else SPARK_REMOTE's, else two local cores.

    `master` may be the address of a Spark Connect server (sc://host:port), too. `memory` is the driver's heap ("768m",
    "2g"). With `quiet` Java's own words go nowhere; errors come as Python's.
    `brief` is for sessions of a minute or two: Java compiles quickly instead of well. `java` are further options of
    the driver's Java; without them it reads the archive of classes, where there is one.
    Further settings are Spark's own names with underscores for dots: spark_ui_enabled="true". Errors:
    ValueError for a wrong memory or name, and for another master than that of a session that runs; JavaMissingError
    where a JVM is needed and there is none. A running session keeps its own static settings.
    """
    given = {_name(key): value for key, value in settings.items()}
    if not MEMORY.fullmatch(memory) or megabytes(memory) < LEAST_MEMORY_MB:
        raise ValueError(f'memory is like "768m" or "2g", at least {LEAST_MEMORY_MB}m, not {memory!r}')
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    from pyspark.sql import SparkSession

    _without_java()
    running = SparkSession.getActiveSession()
    if running is not None:
        _same_place(running, master)
        return running
    builder = SparkSession.builder.appName("kafkalab")
    remote = master if master and master.startswith("sc://") else os.environ.get("SPARK_REMOTE")
    if remote and master in (None, remote):
        builder = builder.remote(remote)
        for key, value in given.items():
            builder = builder.config(key, value)
        return builder.getOrCreate()
    os.environ["JAVA_HOME"] = str(home := java_home())
    where = master or LOCAL
    options = " ".join(filter(None, [LEAN_JVM, BRIEF_JVM * brief, java or archive_options(home)]))
    for key, value in {**_settings(where, memory, options), **given}.items():
        builder = builder.config(key, value)
    with silence(quiet):
        session = builder.master(where).getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


def _without_java() -> None:
    """Errors come as exceptions of Python, and only so."""
    from pyspark.logger import PySparkLogger

    for name in CONTEXT_LOGGERS:
        PySparkLogger.getLogger(name).setLevel(logging.CRITICAL + 1)


def _same_place(running: SparkSession, master: str | None) -> None:
    """ValueError if the session that runs is not on the master that was asked for."""
    there = running.conf.get("spark.master", "") or ""
    if master is None or master.startswith("sc://") or (there.startswith("local") and master.startswith("local")):
        return
    if there != master:
        raise ValueError(f"a session runs on {there} already: stop it (spark.stop()) before asking for one on {master}")


def megabytes(memory: str) -> int:
    """`megabytes("2g") == 2048`."""
    return int(memory[:-1]) * (1024 if memory.endswith("g") else 1)


def _name(key: str) -> str:
    if not key.startswith("spark_"):
        raise ValueError(f'settings are named like spark_sql_shuffle_partitions="8", not {key!r}')
    group, _, name = key.partition("_executorEnv_")
    return f"spark.executorEnv.{name}" if group == "spark" else key.replace("_", ".")


def _settings(master: str, memory: str, java: str) -> dict[str, str]:
    """Quiet, lean, deterministic; on a cluster the executors' settings are left to the cluster."""
    logging = f"-Dlog4j2.configurationFile={LOGGING.as_uri()}"
    common = {
        "spark.driver.memory": memory,
        "spark.driver.extraJavaOptions": f"{java} {logging}",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.ansi.enabled": "true",
        "spark.sql.pyspark.jvmStacktrace.enabled": "false",
        "spark.executorEnv.ARROW_DEFAULT_MEMORY_POOL": "system",
    }
    if not master.startswith("local"):
        return common
    return common | {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.shuffle.partitions": "4",
        "spark.default.parallelism": "4",
        "spark.buffer.pageSize": PAGE,
        "spark.sql.sources.parallelPartitionDiscovery.threshold": "10000",  # jobs that list folders take longer
        "spark.hadoop.parquet.block.size": str(16 << 20),
    }
