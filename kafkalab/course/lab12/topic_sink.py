"""A sink without transactions, as Spark's own Kafka sink is one: a task that fails is tried again, and sends again.

A folder plays the topic. Each task sends its rows one after the other; a task that is told to fail does so in its first
attempt, after some rows, and what it has sent stays. The idempotent sink is told which task sends, and what a second
attempt of it sends takes the place of what the first one sent.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceWriter, WriterCommitMessage
from pyspark.sql.types import StructType

COLUMNS = "value string, task int, attempt int, place int"


class TaskLostError(RuntimeError):
    """The error by which a task fails here on demand; Spark tries it again."""


def deliver(frame: DataFrame, topic: str | Path, fails: Mapping[int, int] | None = None, *, idempotent: bool) -> None:
    """The values of the frame's column `value` are in the topic, some of them perhaps twice if it is not idempotent.

    `fails` says which tasks fail, and after how many rows: {0: 3}. Each does so once, so that Spark must be allowed a
    second attempt (a cluster, or a master like local[2,2]). The topic is empty before. ValueError without the column.
    """
    if "value" not in frame.columns:
        raise ValueError(f"a topic takes the column value; there are {', '.join(frame.columns)}")
    folder = Path(topic)
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.jsonl"):
        old.unlink()
    frame.sparkSession.dataSource.register(TopicSink)
    writer = frame.selectExpr("string(value) AS value").write.format(TopicSink.name()).mode("append")
    told = ",".join(f"{task}:{rows}" for task, rows in (fails or {}).items())
    writer.options(path=str(folder.absolute()), fails=told, idempotent=str(idempotent)).save()


def delivered(spark: SparkSession, topic: str | Path) -> DataFrame:
    """Return what the topic holds: value, task, attempt (0 is the first), place among the rows of that attempt."""
    return spark.read.schema(COLUMNS).json(str(Path(topic).absolute()))


class TopicSink(DataSource):
    """The sink as Spark knows it."""

    @classmethod
    def name(cls) -> str:
        return "kafkalab-topic"

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        told = [pair.split(":") for pair in self.options["fails"].split(",") if pair]
        fails = {int(task): int(rows) for task, rows in told}
        return _Writer(Path(self.options["path"]), fails, self.options["idempotent"].lower() == "true")


class _Writer(DataSourceWriter):
    def __init__(self, folder: Path, fails: dict[int, int], idempotent: bool) -> None:
        self.folder, self.fails, self.idempotent = folder, fails, idempotent

    def write(self, iterator: Iterator[Any]) -> WriterCommitMessage:
        """Every row is sent when it comes; there is no taking back."""
        context = TaskContext.get()
        assert context is not None, "a task knows its number"
        task, attempt = context.partitionId(), context.attemptNumber()
        name = f"task-{task:04}" if self.idempotent else f"task-{task:04}-attempt-{attempt}"
        last = self.fails.get(task, -1) if attempt == 0 else -1
        with (self.folder / f"{name}.jsonl").open("w", encoding="utf-8") as topic:
            sent = 0
            for sent, row in enumerate(iterator, 1):
                if sent - 1 == last:
                    raise TaskLostError(f"task {task} fails after {last} rows")
                line = {"value": row[0], "task": task, "attempt": attempt, "place": sent - 1}
                topic.write(json.dumps(line, ensure_ascii=False) + "\n")
            if sent == last:
                raise TaskLostError(f"task {task} fails after {last} rows")
        return WriterCommitMessage()
