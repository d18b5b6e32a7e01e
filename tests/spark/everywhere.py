"""A driver of its own: simulations and audits on whatever Spark is named; findings as JSON lines on stdout.

python -m tests.spark.everywhere MASTER SCENARIO SEEDS [AUDITS], with settings as JSON in SETTINGS. All audits are done
by the checks in tasks; those of AUDITS, with commas between, once more by DataFrames.
"""

from __future__ import annotations

import json
import os
import sys

from kafkalab.spark.audit import audit
from kafkalab.spark.frames import Histories
from kafkalab.spark.session import spark_session


def main(master: str, scenario: str, seeds: str, by_frames: str = "") -> None:
    """The line "begins" comes before anything is computed."""
    spark = spark_session(memory="512m", master=master, brief=True, **json.loads(os.environ.get("SETTINGS", "{}")))
    histories = Histories.simulated(spark, seeds, scenario=scenario)
    print("begins", flush=True)
    summaries = [audit(histories, progress=False)]
    if by_frames:
        summaries.append(audit(histories, only=by_frames.split(","), progress=False, way="dataframes"))
    for summary in summaries:
        for row in summary.findings.collect():
            fields = (row["run"], row["anomaly"], row["policy"], list(row["keys"]), list(row["offsets"]))
            print(json.dumps([summary.way, *fields]))
    print("ends", flush=True)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
