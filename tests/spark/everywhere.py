"""A driver of its own: simulations and audits on whatever Spark is named; findings as JSON lines on stdout.

python -m tests.spark.everywhere MASTER SCENARIO SEEDS, with settings as JSON in SETTINGS.
"""

from __future__ import annotations

import json
import os
import sys

from kafkalab.spark.audit import audit
from kafkalab.spark.frames import Histories
from kafkalab.spark.session import spark_session

ONLY = ("duplicate",)


def main(master: str, scenario: str, seeds: str) -> None:
    """The line "begins" comes before anything is computed."""
    spark = spark_session(memory="512m", master=master, **json.loads(os.environ.get("SETTINGS", "{}")))
    histories = Histories.simulated(spark, seeds, scenario=scenario)
    print("begins", flush=True)
    summary = audit(histories, only=ONLY, progress=False)
    for row in summary.findings.collect():
        print(json.dumps([row["run"], row["anomaly"], row["policy"], list(row["keys"]), list(row["offsets"])]))
    print("ends", flush=True)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
