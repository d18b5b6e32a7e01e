"""A driver of its own: simulations and audits on whatever Spark is named; findings as JSON lines on stdout.

python -m tests.spark.everywhere MASTER SCENARIO SEEDS [AUDITS], with settings as JSON in SETTINGS. All audits are done
by the checks in tasks; those of AUDITS, with commas between, once more by the key pass. With EXECUTORS=2 the line
"all work" comes, from a thread, while so many tasks of an audit run.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from typing import TYPE_CHECKING

from kafkalab.spark.audits.audit import audit
from kafkalab.spark.session.session import spark_session
from kafkalab.spark.simulation.frames import simulate_histories

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ALL_WORK = "all work"


def main(master: str, scenario: str, seeds: str, by_frames: str = "") -> None:
    """The line "begins" comes before anything is computed."""
    spark = spark_session(memory="512m", master=master, brief=True, **json.loads(os.environ.get("SETTINGS", "{}")))
    histories = simulate_histories(spark, seeds, scenario=scenario)
    print("begins", flush=True)
    if "EXECUTORS" in os.environ:
        threading.Thread(target=tell, args=(spark, int(os.environ["EXECUTORS"])), daemon=True).start()
    summaries = [audit(histories, progress=False)]
    if by_frames:
        summaries.append(audit(histories, only=by_frames.split(","), progress=False, way="key pass"))
    for summary in summaries:
        for row in summary.findings.collect():
            fields = (row["run"], row["anomaly"], row["policy"], list(row["keys"]), list(row["offsets"]))
            print(json.dumps([summary.way, *fields]))
    print("ends", flush=True)
    spark.stop()


def tell(spark: SparkSession, executors: int) -> None:
    """Say once that each executor has a task of the same stage; each has one core."""
    tracker = spark.sparkContext.statusTracker()
    while True:
        stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
        if any(stage is not None and stage.numActiveTasks >= executors for stage in stages):
            print(ALL_WORK, flush=True)
            return
        time.sleep(0.005)


if __name__ == "__main__":
    main(*sys.argv[1:])
