"""Read and write Kafka with Spark's own source and sink, in batches and as a stream; print what was seen.

`python -m tests.wire.clients.spark.program JARS SERVERS FOLDER [SERVERS FOLDER...]`: a line for each cluster.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import confluent_kafka
from pyspark.sql import DataFrame, SparkSession

from kafkalab.history.positions import positions_in_spark
from kafkalab.spark.session.class_archive import archive_options
from kafkalab.spark.session.java import java_home
from kafkalab.spark.session.session import BRIEF_JVM, LEAN_JVM


def transact(servers: str, topic: str, rows: list[tuple[str, bool]]) -> None:
    """Write each value in a transaction of its own, which commits or aborts."""
    producer = confluent_kafka.Producer({"bootstrap.servers": servers, "transactional.id": "writer", "linger.ms": 0})
    producer.init_transactions(60)
    for value, commits in rows:
        producer.begin_transaction()
        producer.produce(topic, value)
        producer.flush(60)
        producer.commit_transaction(60) if commits else producer.abort_transaction(60)


def session(jars: Path) -> SparkSession:
    """Start Spark with Kafka's source and sink, on loopback alone."""
    config: dict[str, bool | float | int | str | None] = {
        "spark.driver.memory": "600m", "spark.ui.enabled": False, "spark.sql.shuffle.partitions": 1,
        "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.extraJavaOptions": f"{LEAN_JVM} {BRIEF_JVM} {archive_options(java_home())}",
        "spark.jars": ",".join(map(str, sorted(jars.glob("*.jar")))),
    }  # fmt: skip
    return SparkSession.builder.master("local[1]").config(map=config).getOrCreate()


class Program:
    """Spark at these servers; the stream's checkpoint is in `folder`."""

    def __init__(self, spark: SparkSession, servers: str, folder: Path) -> None:
        self.spark, self.servers, self.folder = spark, servers, folder

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

    def find_position(self) -> dict[str, int]:
        """Return how far the stream has come, by its checkpoint."""
        return positions_in_spark(self.folder / "checkpoint")

    def _kafka(self, isolation: str = "") -> dict[str, Any]:
        more = {"kafka.isolation.level": isolation} if isolation else {}
        return {"kafka.bootstrap.servers": self.servers, **more}


def _values(frame: DataFrame) -> DataFrame:
    return frame.selectExpr("CAST(value AS STRING) AS value")


def run(spark: SparkSession, servers: str, folder: Path) -> dict[str, Any]:
    """Return what was seen."""
    program, seen = Program(spark, servers, folder), dict[str, Any]()
    program.write("written", ["1", "2", "3"])
    seen["written"] = program.read("written")
    transact(servers, "paid", [("1", True), ("no", False), ("2", True)])
    seen["read_committed"] = program.read("paid")
    seen["read_uncommitted"] = program.read("paid", "read_uncommitted")
    program.stream("paid", "copied")
    seen["copied"] = program.read("copied")
    seen["position"] = program.find_position()
    transact(servers, "paid", [("3", True), ("no", False), ("4", True)])
    program.stream("paid", "copied")
    seen["copied later"] = program.read("copied")
    seen["position later"] = program.find_position()
    return seen


if __name__ == "__main__":
    spark = session(Path(sys.argv[1]))
    for servers, folder in zip(sys.argv[2::2], sys.argv[3::2], strict=True):
        print(json.dumps(run(spark, servers, Path(folder))), flush=True)
    spark.stop()
