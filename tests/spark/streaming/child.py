"""A process that watches a folder of arrivals and can be stopped in the middle: python -m … FEED INTO BATCH MOMENT.

At the given micro-batch it says so and waits, before or after the batch's findings are written, to be killed there.
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from kafkalab.spark.session.session import spark_session
from kafkalab.spark.streaming import query
from kafkalab.spark.streaming.frames import read_arrivals
from kafkalab.spark.streaming.sink import FindingsFolder

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class Stopping(FindingsFolder):
    """A folder that waits at one batch."""

    at, moment = -1, ""

    def put(self, frame: DataFrame, batch_id: int) -> None:
        if (batch_id, self.moment) == (self.at, "before"):
            self._wait()
        super().put(frame, batch_id)
        if (batch_id, self.moment) == (self.at, "after"):
            self._wait()

    def _wait(self) -> None:
        print("here", flush=True)
        time.sleep(600)


def main(feed: str, into: str, at: str, moment: str) -> None:
    """Everything that the feed holds is watched."""
    Stopping.at, Stopping.moment = int(at), moment
    setattr(query, "FindingsFolder", Stopping)  # noqa: B010  `watch` makes its own
    spark = spark_session(memory="512m", brief=True, spark_sql_shuffle_partitions="2")
    query.watch(read_arrivals(spark, feed), into, whole=True).awaitTermination()


if __name__ == "__main__":
    main(*sys.argv[1:])
