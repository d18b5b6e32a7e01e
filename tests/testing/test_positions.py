"""Applications that keep their positions outside Kafka: in a table of SQLite, and in a checkpoint of Spark."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from kafkalab.checks.all import check_all
from kafkalab.history.positions import positions_in_spark
from kafkalab.protocol.errors import Error
from kafkalab.spark.session.java import JavaMissingError, java_home
from kafkalab.testing.kafka_lab import KafkaLab
from kafkalab.testing.record import TopicRecord
from kafkalab.testing.verdict import AnomalyError
from tests.live.conftest import Client

Connect = Callable[..., Client]
VALUES = ("1", "2", "3", "4")
CHECKPOINT = 2
"""The number of records after which the sink stores its position."""


def by_value(record: TopicRecord) -> bytes:
    return (record.value or b"")[-1:]


@pytest.fixture
def database(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(tmp_path / "sink.db", check_same_thread=False)) as made:
        made.execute("CREATE TABLE positions (key TEXT PRIMARY KEY, next INTEGER)")
        yield made


def fill(lab: KafkaLab, connect: Connect) -> None:
    feeder = connect("feed", "feeder")
    feeder.init()
    for value in VALUES:
        assert feeder.send(value, "in-0") is Error.NONE
    assert feeder.end() is Error.NONE


def run_sink(client: Client, database: sqlite3.Connection, loses_first: bool) -> None:
    """Copy all inputs, store the position at each checkpoint, commit; or leave out each checkpoint's first but one."""
    client.init()
    for at in range(0, len(VALUES), CHECKPOINT):
        for offset in range(at, at + CHECKPOINT):
            if not (loses_first and offset == at > 0):
                assert client.send(VALUES[offset]) is Error.NONE
        with database:
            database.execute("INSERT OR REPLACE INTO positions VALUES ('in-0', ?)", [at + CHECKPOINT])
        assert client.end() is Error.NONE


def test_a_checkpointed_sink_that_loses_a_record_is_never_ok(
    lab: KafkaLab, connect: Connect, database: sqlite3.Connection
) -> None:
    fill(lab, connect)
    run_sink(connect(), database, loses_first=True)

    def read_stored() -> dict[str, int]:
        return dict(database.execute("SELECT key, next FROM positions"))

    verdicts = {}
    ways: dict[str, Any] = {"given": read_stored, "unknown": "unknown", "not declared": None, "no row": {}}
    for name, positions in ways.items():
        lab._pipelines.clear()
        lab.pipeline("in", "out", by_value, by_value, positions=positions)
        verdicts[name] = check_all(lab.history())["exactly-once"].verdict
        with pytest.raises(AnomalyError, match=r"'3' at offset 2 of in-0 is (lost|unknown)"):
            lab.check()
        with pytest.raises(AnomalyError, match="exactly-once"):
            lab.check("exactly-once")
    assert verdicts == {"given": "violated", "unknown": "unknown", "not declared": "unknown", "no row": "unknown"}


def test_a_checkpointed_sink_that_loses_nothing_is_ok(
    lab: KafkaLab, connect: Connect, database: sqlite3.Connection
) -> None:
    fill(lab, connect)
    run_sink(connect(), database, loses_first=False)
    lab.pipeline("in", "out", by_value, by_value, positions=lambda: dict(database.execute("SELECT * FROM positions")))
    assert lab.check("exactly-once")["exactly-once"].examined == len(VALUES)


def test_inputs_past_the_stored_position_are_not_lost(
    lab: KafkaLab, connect: Connect, database: sqlite3.Connection
) -> None:
    fill(lab, connect)
    run_sink(connect(), database, loses_first=True)
    lab.pipeline("in", "out", by_value, by_value, positions={"in-0": CHECKPOINT})
    assert lab.check("exactly-once")["exactly-once"].examined == len(VALUES) - 1


def test_positions_are_read_in_the_tests_thread_before_kafka(lab: KafkaLab, connect: Connect) -> None:
    """So the function may use a client: the brokers are still served."""
    fill(lab, connect)
    client = connect()
    client.init()
    for value in VALUES:
        client.send(value)

    def commit_first() -> dict[str, int]:
        client.end()
        return {"in-0": len(VALUES)}

    lab.pipeline("in", "out", by_value, by_value, positions=commit_first)
    assert lab.check("exactly-once")["exactly-once"].examined == len(VALUES)


def test_two_pipelines_cannot_have_different_positions_of_an_input(lab: KafkaLab, connect: Connect) -> None:
    fill(lab, connect)
    lab.pipeline("in", "out", by_value, by_value, positions={"in-0": 1})
    lab.pipeline("in", "out", by_value, by_value, positions={"in-0": 2})
    with pytest.raises(ValueError, match=r"the position of in-0 is 1 and 2: .*: pipeline\('in', 'out'"):
        lab.check()


STREAM = """
import sys
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from kafkalab.spark.session.session import spark_session

class Reader(DataSourceStreamReader):
    '''Three records, of which the stream takes one a batch; offsets as Spark's Kafka source writes them.'''
    def initialOffset(self): return {"in": {"0": 0}}
    def latestOffset(self, start, limit): return {"in": {"0": min(start["in"]["0"] + 1, 3)}}
    def partitions(self, start, end): return [InputPartition((start["in"]["0"], end["in"]["0"]))]
    def read(self, part): return iter([(n,) for n in range(*part.value)])

class Source(DataSource):
    @classmethod
    def name(cls): return "counted"
    def schema(self): return "n int"
    def streamReader(self, schema): return Reader()

def write(batch, number):
    if number == int(sys.argv[2]):
        raise RuntimeError("this batch fails")

spark = spark_session(memory="480m", brief=True)
spark.dataSource.register(Source)
query = (spark.readStream.format("counted").load().writeStream.foreachBatch(write)
         .option("checkpointLocation", sys.argv[1]).start())
try:
    while query.isActive and (query.lastProgress is None or query.lastProgress["batchId"] < 2):
        query.awaitTermination(1)
except Exception as error:
    print(error)
spark.stop()
"""


@pytest.mark.spark
def test_a_real_checkpoint_of_spark_says_which_batches_are_done(tmp_path: Path) -> None:
    try:
        java_home()
    except JavaMissingError as missing:
        pytest.skip(str(missing))
    folder = tmp_path / "checkpoint"
    said = subprocess.run([sys.executable, "-c", STREAM, str(folder), "1"], capture_output=True, text=True, timeout=240)
    planned = sorted(int(p.name) for p in (folder / "offsets").iterdir() if p.name.isdecimal())
    assert "this batch fails" in said.stdout, said.stderr[-2000:]
    assert planned == [0, 1]
    found: dict[str, Any] = positions_in_spark(folder)
    assert found == {"in-0": 1}
