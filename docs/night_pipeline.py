"""The tables of lab 12 as a declarative pipeline of Spark: bronze as written, silver with outcomes, gold with counts.

    kafkalab workload synthetic --records 10000 --plant duplicate=0.001 --out night
    python docs/night_pipeline.py night results

The command writes results/spark-pipeline.yml and runs `spark-pipelines` on it. The tables are then Parquet folders in
results/spark-warehouse. Spark decides the order in which it makes them: each function only names the tables that it
reads.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pyspark
from pyspark import pipelines as dp
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from kafkalab.course.lab12.lesson import views_of

NIGHT = "kafkalab.night"
"""The setting that names the folder of the history."""
RAW = ("operations", "log", "reads", "polls")


def bronze(table: str) -> None:
    """Declare the table as it lies in the history."""

    @dp.materialized_view(name=f"bronze_{table}", comment=f"The table {table} of the history, as it was written.")
    def read() -> DataFrame:
        spark = SparkSession.active()
        return spark.read.parquet(f"{spark.conf.get(NIGHT)}/{table}").drop("bucket")


def silver(view: str) -> None:
    """Declare a view of lab 12: records have an outcome, acknowledgements say whether they were committed."""

    @dp.materialized_view(name=f"silver_{view}", comment=f"The view {view} of lab 12.")
    def select() -> DataFrame:
        spark = SparkSession.active()
        return views_of(*(spark.table(f"bronze_{table}") for table in RAW))[view]


def gold() -> None:
    """Declare what an engineer looks at in the morning."""

    @dp.materialized_view(comment="How many records of each partition had which outcome.")
    def gold_outcomes() -> DataFrame:
        records = SparkSession.active().table("silver_records")
        return records.groupBy("key", "outcome").agg(F.count("*").alias("records"))

    @dp.materialized_view(comment="Values that one partition holds at more than one offset.")
    def gold_duplicates() -> DataFrame:
        records = SparkSession.active().table("silver_records")
        copies = records.groupBy("key", "value").agg(F.sort_array(F.collect_list("offset")).alias("offsets"))
        return copies.where(F.size("offsets") > 1)

    @dp.materialized_view(comment="Aborted records that a read_committed consumer was given (G1a).")
    def gold_aborted_reads() -> DataFrame:
        spark = SparkSession.active()
        aborted = spark.table("silver_records").where("outcome = 'aborted'").select("key", "offset")
        reads = spark.table("silver_reads").where("isolation_level = 'read_committed'")
        return reads.join(aborted, ["key", "offset"], "left_semi")


def run(night: str, results: str) -> int:
    """Write the pipeline's description to `results` and run it; return the exit code of `spark-pipelines`."""
    out = Path(results).absolute()
    out.mkdir(parents=True, exist_ok=True)
    description = {
        "name": "night",
        "storage": (out / "storage").as_uri(),
        "configuration": {
            NIGHT: Path(night).absolute().as_uri(),
            "spark.sql.shuffle.partitions": "4",
        },
        "libraries": [{"glob": {"include": Path(__file__).name}}],
    }
    shutil.copy(__file__, out)  # a pipeline's code lies below its description
    spec = out / "spark-pipeline.yml"
    spec.write_text(json.dumps(description, indent=1) + "\n", encoding="utf-8")  # JSON is YAML, too
    command = [Path(sys.executable).with_name("spark-pipelines"), "run", "--spec", spec]
    here = {"SPARK_HOME": str(Path(pyspark.__file__).parent), "PYSPARK_PYTHON": sys.executable}
    return subprocess.run(command, check=False, cwd=out, env=os.environ | here).returncode


def define() -> None:
    """Declare all tables; `spark-pipelines` imports this file for that."""
    for table in RAW:
        bronze(table)
    for view in ("records", "acknowledged", "reads", "polls"):
        silver(view)
    gold()


if __name__ != "__main__":
    define()
elif len(sys.argv) == 3:
    sys.exit(run(*sys.argv[1:]))
else:
    sys.exit("usage: python docs/night_pipeline.py NIGHT RESULTS")
