"""Spark's own Kafka sink and source on the lab's brokers: what lab 11 shows where Spark cannot run.

    pip install 'kafkalab-course[wire,spark]' confluent-kafka
    python docs/spark_for_real.py FOLDER

A job writes six receipts with Spark's Kafka sink; a task dies after two of its three, and is tried again. Then a
producer commits a transaction, aborts one and leaves one open, while Spark reads: a batch as Spark does by default, and
a streaming query with read_committed, which goes on from its checkpoint once the open transaction has committed.

FOLDER gets spark_and_kafka.json, what was seen, and spark_sink.klab, what the sink sent. It needs Java 17 and Spark's
connector for Kafka; without the connector it prints how to get it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pyspark

from kafkalab.course.lab11.for_real import CONNECTOR, NoSparkError, jars, live


def main() -> None:
    """Run it, and write both files."""
    folder = Path(sys.argv[1])
    try:
        seen = live(folder / "spark_sink.klab")
    except NoSparkError as reason:
        sys.exit(str(reason))
    connector = next(jars().glob(CONNECTOR)).stem
    saved = {"made by": "docs/spark_for_real.py", "pyspark": pyspark.__version__, "connector": connector, "seen": seen}
    (folder / "spark_and_kafka.json").write_text(json.dumps(saved, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(seen, indent=1))


if __name__ == "__main__":
    main()
