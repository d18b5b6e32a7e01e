"""The streaming query: arrivals in, findings out, each once; it goes on from its checkpoint where it was killed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import StringType, StructField, StructType

from kafkalab.spark.storage.findings import ARROW, rows_of
from kafkalab.spark.streaming.group import VALUE, Group, parts_of
from kafkalab.spark.streaming.sink import FindingsFolder
from kafkalab.spark.streaming.watch import Limits

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

FINDINGS = from_arrow_schema(ARROW)
STATE = StructType([StructField("text", StringType())])
STORE = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
"""The only state store that keeps what such a query remembers."""
USUAL = Limits()
LOOK = "1 second"
"""The interval at which a waiting query polls its source; Spark's own pace is a hundred times a second."""


def findings(arrivals: DataFrame, limits: Limits = USUAL) -> DataFrame:
    """Return the findings of the streaming audits in the arrivals, a batch or a stream: a finding's columns, and `run`.

    Rows of one run come in the order of their steps, micro-batch after micro-batch; inside one, in any order.
    """
    settings = arrivals.sparkSession.conf
    settings.set("spark.sql.streaming.stateStore.providerClass", STORE)
    settings.set("spark.sql.streaming.noDataMicroBatches.enabled", "false")  # a window would ask for them without end
    parts = F.udf(lambda row: list(parts_of(row)), "array<string>")(F.struct("kind", "key", "value", "producer_id"))
    grouped = arrivals.withColumn("part", F.explode(parts)).groupBy("run", "part")
    return grouped.transformWithState(_Audits(limits), FINDINGS, outputMode="Append", timeMode="ProcessingTime")


class _Audits(StatefulProcessor):
    """One group's audits; what they keep is one text, which of a value lasts for the window of duplicates."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.shares = handle.getValueState("kept", STATE)
        self.values = handle.getValueState("values", STATE, self.limits.window_ms)

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Row]:
        run, part = key
        kept = self.values if part.startswith(f"{VALUE} ") else self.shares
        before = kept.get()
        group = Group(part, self.limits, before[0] if before else "")
        yield from (Row(**found) for found in rows_of(run, group.take(rows)))
        kept.update((group.text(),))

    def close(self) -> None:
        """Nothing is open."""


def watch(
    arrivals: DataFrame,
    into: str | Path,
    limits: Limits = USUAL,
    whole: bool = False,
) -> StreamingQuery:
    """A running query that puts findings into the folder `into`; started again, it goes on where it stopped.

    `into` holds the checkpoint, too: a folder belongs to one stream. With `whole` the query ends when it has seen what
    is there now; else it waits for more until `.stop()`. Read what was found with `FindingsFolder(into)`.
    """
    folder = FindingsFolder(into)
    writer = findings(arrivals, limits).writeStream.foreachBatch(folder.put)
    writer = writer.option("checkpointLocation", str(folder.checkpoint)).queryName(f"kafkalab {folder.path.name}")
    return writer.trigger(**({"availableNow": True} if whole else {"processingTime": LOOK})).start()
