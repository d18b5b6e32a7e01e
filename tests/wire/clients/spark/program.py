"""Read and write Kafka with Spark's own source and sink, in batches and as a stream; print what was seen.

`python -m tests.wire.clients.spark.program SERVERS JARS FOLDER`
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import confluent_kafka
from pyspark.sql import DataFrame, SparkSession


def transact(servers: str, topic: str, rows: list[tuple[str, bool]]) -> None:
    """Write each value in a transaction of its own, which commits or aborts."""
    producer = confluent_kafka.Producer({"bootstrap.servers": servers, "transactional.id": "writer", "linger.ms": 0})
    producer.init_transactions(60)
    for value, commits in rows:
        producer.begin_transaction()
        producer.produce(topic, value)
        producer.flush(60)
        producer.commit_transaction(60) if commits else producer.abort_transaction(60)


class Program:
    """One session of Spark with Kafka's source and sink."""

    def __init__(self, servers: str, jars: Path, folder: Path) -> None:
        self.servers, self.folder = servers, folder
        builder = SparkSession.builder.master("local[1]").config("spark.driver.memory", "600m")
        builder = builder.config("spark.ui.enabled", False).config("spark.sql.shuffle.partitions", 1)
        self.spark = builder.config("spark.jars", ",".join(map(str, sorted(jars.glob("*.jar"))))).getOrCreate()

    def write(self, topic: str, values: list[str]) -> None:
        """Write values with the batch sink."""
        frame = self.spark.createDataFrame([(value,) for value in values], "value string")
        frame.coalesce(1).write.format("kafka").options(**self._kafka(), topic=topic).save()

    def read(self, topic: str, isolation: str = "read_committed") -> list[str]:
        """Read the whole topic with the batch source."""
        frame = self.spark.read.format("kafka").options(**self._kafka(isolation), subscribe=topic).load()
        return [row.value for row in _values(frame.orderBy("partition", "offset")).collect()]

    def stream(self, topic: str, out: str) -> None:
        """Copy what is new in a topic to another, from the checkpoint on."""
        options = {**self._kafka("read_committed"), "subscribe": topic, "startingOffsets": "earliest"}
        frame = _values(self.spark.readStream.format("kafka").options(**options).load())
        sink = {**self._kafka(), "topic": out, "checkpointLocation": str(self.folder / "checkpoint")}
        frame.writeStream.format("kafka").options(**sink).trigger(availableNow=True).start().awaitTermination()

    def _kafka(self, isolation: str = "") -> dict[str, Any]:
        more = {"kafka.isolation.level": isolation} if isolation else {}
        return {"kafka.bootstrap.servers": self.servers, **more}


def _values(frame: DataFrame) -> DataFrame:
    return frame.selectExpr("CAST(value AS STRING) AS value")


def run(servers: str, jars: Path, folder: Path) -> dict[str, Any]:
    """Return what was seen."""
    program, seen = Program(servers, jars, folder), {}
    program.write("written", ["1", "2", "3"])
    seen["written"] = program.read("written")
    transact(servers, "paid", [("1", True), ("no", False), ("2", True)])
    seen["read_committed"] = program.read("paid")
    seen["read_uncommitted"] = program.read("paid", "read_uncommitted")
    program.stream("paid", "copied")
    seen["copied"] = program.read("copied")
    transact(servers, "paid", [("3", True), ("no", False), ("4", True)])
    program.stream("paid", "copied")
    seen["copied later"] = program.read("copied")
    program.spark.stop()
    return seen


if __name__ == "__main__":
    print(json.dumps(run(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))))
