"""One place for Spark's settings: small enough for Binder by default, the same code on a cluster by its master URL."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from kafkalab.spark.java import java_home

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MEMORY = re.compile(r"[1-9]\d*[mg]")
LEAST_MEMORY_MB = 470
LOCAL = "local[2,2]"
"""Two cores; a task that fails is tried a second time, as a cluster would."""
LOGGING = Path(__file__).with_name("log4j2.properties")
LEAN_JVM = "-XX:+UseSerialGC -Xss512k -XX:MaxMetaspaceSize=256m -XX:ReservedCodeCacheSize=96m"


def spark_session(
    memory: str = "768m", master: str | None = None, ui: bool = False, app_name: str = "kafkalab", **settings: str
) -> SparkSession:
    """A Spark session: the one that runs already, else SPARK_REMOTE's, else one on `master`, else two local cores.

    `memory` is the driver's heap ("768m", "2g"); `ui=True` switches Spark's web page on. Further settings are Spark's
    own names with underscores for dots: spark_sql_shuffle_partitions="8". Errors: ValueError for a wrong memory or
    name, JavaMissingError where a JVM is needed and there is none. A running session keeps its own static settings.
    """
    given = {_name(key): value for key, value in settings.items()}
    if not MEMORY.fullmatch(memory) or megabytes(memory) < LEAST_MEMORY_MB:
        raise ValueError(f'memory is like "768m" or "2g", at least {LEAST_MEMORY_MB}m, not {memory!r}')
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    from pyspark.sql import SparkSession

    running = SparkSession.getActiveSession()
    if running is not None:
        return running
    builder = SparkSession.builder.appName(app_name)
    remote = os.environ.get("SPARK_REMOTE")
    if remote and master is None:
        builder = builder.remote(remote)
        for key, value in given.items():
            builder = builder.config(key, value)
        return builder.getOrCreate()
    os.environ["JAVA_HOME"] = str(java_home())
    where = master or LOCAL
    for key, value in {**_settings(where, memory, ui), **given}.items():
        builder = builder.config(key, value)
    session = builder.master(where).getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


def megabytes(memory: str) -> int:
    """`megabytes("2g") == 2048`."""
    return int(memory[:-1]) * (1024 if memory.endswith("g") else 1)


def _name(key: str) -> str:
    if not key.startswith("spark_"):
        raise ValueError(f'settings are named like spark_sql_shuffle_partitions="8", not {key!r}')
    return key.replace("_", ".")


def _settings(master: str, memory: str, ui: bool) -> dict[str, str]:
    """Quiet, lean, deterministic; on a cluster the executors' settings are left to the cluster."""
    logging = f"-Dlog4j2.configurationFile={LOGGING.as_uri()}"
    common = {
        "spark.driver.memory": memory,
        "spark.driver.extraJavaOptions": f"{LEAN_JVM} {logging}",
        "spark.ui.enabled": str(ui).lower(),
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.ansi.enabled": "true",
        "spark.sql.pyspark.jvmStacktrace.enabled": "false",
    }
    if not master.startswith("local"):
        return common
    return common | {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.shuffle.partitions": "4",
        "spark.default.parallelism": "4",
    }
