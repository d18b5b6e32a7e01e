"""Spark's part of lab 11, in a process of its own: `python -m kafkalab.course.lab11.spark_job JARS SERVERS FOLDER`.

It reads one name of a step a line, and answers each with a line of JSON. Steps: `write`, `read_written`, `default`,
`copy`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kafkalab.spark.session.session import spark_session

RECEIPTS, PAYMENTS, COPIED = "receipts", "payments", "copied"
ROWS, TASKS, FAILS_AFTER = 6, 2, 2
"""Six rows in two tasks of three; the first attempt of task 0 dies after two rows."""


def dying(batches: Iterator[Any]) -> Iterator[Any]:
    """Hand each row on by itself; in its first attempt task 0 dies after `FAILS_AFTER` rows."""
    from pyspark import TaskContext

    task = TaskContext.get()
    assert task is not None
    for batch in batches:
        for place in range(batch.num_rows):
            if (task.partitionId(), task.attemptNumber(), place) == (0, 0, FAILS_AFTER):
                raise RuntimeError("this task dies, as it was told to")
            yield batch.slice(place, 1)


class Job:
    """Spark at these brokers; the stream's checkpoint is in `folder`."""

    def __init__(self, jars: Path, servers: str, folder: Path) -> None:
        files = ",".join(map(str, sorted(jars.glob("*.jar"))))
        self.spark = spark_session(memory="480m", brief=True, spark_jars=files, spark_sql_shuffle_partitions="1")
        self.servers, self.folder = servers, folder

    def write(self) -> list[str]:
        """Write the receipts with Spark's sink; a task is tried again, and Spark says nothing of it."""
        receipts = self.spark.range(0, ROWS, 1, TASKS).selectExpr("concat('receipt ', id) AS value")
        receipts.mapInArrow(dying, "value string").write.format("kafka").options(**self._at(), topic=RECEIPTS).save()
        return []

    def read_written(self) -> list[str]:
        """Return what the receipts' topic holds, sorted: two tasks write side by side."""
        return sorted(self._read(RECEIPTS))

    def copy(self) -> list[str]:
        """Let a streaming query with read_committed copy what is new, from its checkpoint on; return the copy."""
        options = {**self._at("read_committed"), "subscribe": PAYMENTS, "startingOffsets": "earliest"}
        payments = self.spark.readStream.format("kafka").options(**options).load().select("value")
        sink = {**self._at(), "topic": COPIED, "checkpointLocation": str(self.folder / "checkpoint")}
        payments.writeStream.format("kafka").options(**sink).trigger(availableNow=True).start().awaitTermination()
        return self._read(COPIED)

    def default(self) -> list[str]:
        """Read the payments as Spark does by default."""
        return self._read(PAYMENTS)

    def _read(self, topic: str) -> list[str]:
        frame = self.spark.read.format("kafka").options(**self._at(), subscribe=topic).load()
        rows = frame.orderBy("partition", "offset").selectExpr("CAST(value AS STRING) AS value").collect()
        return [row.value for row in rows]

    def _at(self, isolation: str = "") -> dict[str, Any]:
        more = {"kafka.isolation.level": isolation} if isolation else {}
        return {"kafka.bootstrap.servers": self.servers, **more}


def main() -> None:
    """Do what stdin names, line by line, until it ends."""
    job = Job(Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]))
    steps = {step.__name__: step for step in (job.write, job.read_written, job.default, job.copy)}
    for line in sys.stdin:
        print(json.dumps(steps[line.strip()]()), flush=True)
    job.spark.stop()


if __name__ == "__main__":
    main()
