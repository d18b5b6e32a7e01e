"""A driver of its own that audits a history, or makes one, at any place: findings as JSON lines on stdout.

python -m tests.spark.elsewhere MASTER PLACE [RECORDS], with Spark's settings as JSON in SETTINGS. RECORDS asks for
a new history with known faults. Audits are done run by run and by the passes.
"""

from __future__ import annotations

import json
import os
import sys

from kafkalab.spark.audits.audit import audit
from kafkalab.spark.audits.summary import WAYS
from kafkalab.spark.session.session import spark_session
from kafkalab.spark.storage.history_files import read_histories, write_histories
from kafkalab.spark.synthetic.generator import synthetic

PLANTED = {"duplicate": 1e-3, "torn transaction": 1e-3, "G1c": 1e-3, "LSO regression": 1e-3}


def main(master: str, place: str, records: str = "") -> None:
    spark = spark_session(memory="512m", master=master, brief=True, **json.loads(os.environ.get("SETTINGS", "{}")))
    if records:
        write_histories(synthetic(spark, records=int(records), seed=5, inject=PLANTED), place)
    histories = read_histories(spark, place)
    for way in WAYS:
        summary = audit(histories, progress=False, files=place, way=way)
        for row in summary.findings.collect():
            fields = (row["run"], row["anomaly"], row["policy"], list(row["keys"]), list(row["offsets"]), row["text"])
            print(json.dumps([way, "found", *fields]))
        print(json.dumps([way, "scratch", str(summary.store.folder.parent)]))
        for audited in summary.rows:
            print(json.dumps([way, "audit", audited.anomaly, audited.verdict, audited.examined]))
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
