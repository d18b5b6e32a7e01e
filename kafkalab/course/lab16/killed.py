"""A stream in a process of its own, whose JVM is killed inside foreachBatch: `python -m …killed FEED FOLDER BATCH`.

FOLDER holds the learner's function, the checkpoint, and the sink.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark import cloudpickle

from kafkalab.course.lab16.crashes import read_sink, start_stream
from kafkalab.course.lab16.feed import COLUMNS, count_by_batch, make_feed, write_folder
from kafkalab.course.lab16.folders import make_folder

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from kafkalab.course.lab16.crashes import Write

BATCHES, ROWS, SEED = 4, 1_000, 1
KILLED, MOST_S = 9, 120
"""The status with which the process ends once its JVM is killed, and how long it may take."""


def kill_and_restart(spark: SparkSession, write: Write, batch: int) -> list[int]:
    """Write a stream of 4 micro-batches of 1,000 rows; return how many rows of each the sink holds in the end.

    Another process with a JVM of its own begins; that JVM is killed when `write` has written `batch`. This session then
    goes on from the checkpoint. In a notebook that is graded no other process can be started: the list is empty.
    """
    folder = make_folder()
    (folder / "write").write_bytes(cloudpickle.dumps(write))  # type: ignore[no-untyped-call]
    source = folder / write_folder(folder, SEED, BATCHES, ROWS)
    command = [sys.executable, "-m", __spec__.name, str(source), str(folder), str(batch)]
    try:
        ended = subprocess.run(command, capture_output=True, text=True, timeout=MOST_S)
    except PermissionError:
        return []
    if ended.returncode != KILLED:
        said = ended.stderr.strip().splitlines() or ["it said nothing"]
        raise RuntimeError(f"the other process ended before its JVM was killed: {said[-1]}")
    sink = str(folder / "sink")
    start_stream(spark, source, str(folder / "checkpoint"), lambda f, b: write(f, b, sink)).awaitTermination()
    rows = Counter(tuple(row) for row in read_sink(spark, sink).select(*COLUMNS).collect())
    return count_by_batch(rows, make_feed(SEED, BATCHES, ROWS))


def main(source: str, folder: str, batch: str) -> None:
    """Run the stream until this micro-batch is written; then kill the JVM, and end."""
    from kafkalab.spark.session.session import spark_session

    write: Write = cloudpickle.loads(Path(folder, "write").read_bytes())
    spark: Any = spark_session(memory="480m", brief=True)

    def write_and_die(frame: DataFrame, batch_id: int) -> None:
        write(frame, batch_id, str(Path(folder, "sink")))
        if batch_id == int(batch):
            spark.sparkContext._gateway.proc.kill()
            os._exit(KILLED)

    start_stream(spark, Path(source), str(Path(folder, "checkpoint")), write_and_die).awaitTermination()


if __name__ == "__main__":
    main(*sys.argv[1:])
