"""Open too long: a partition waits for a transaction's end for longer than anybody means to wait.

What the metric PartitionsWithLateTransactionsCount counts on a broker, with a limit of one's own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kafkalab.checks.check import REPORTED, Finding
from kafkalab.spark.streaming.finding import Limits
from kafkalab.spark.streaming.overdue import Overdue

NAME = "open too long"


class OpenTooLong:
    """A run's open transactions: for each key and producer id its first record, until a marker ends it."""

    def __init__(self, limits: Limits, kept: Any = None) -> None:
        self.open = Overdue(limits.open_ms, kept)

    def take(self, row: Any) -> Iterator[Finding]:
        """What is open for too long at the time of this row; then the row itself."""
        for place, offset, step in self.open.late(row.at_ms):
            producer_id, _, key = place.partition(" ")
            limit = self.open.limit_ms
            yield Finding(
                anomaly=NAME,
                policy=REPORTED,
                text=f"{key} waits for producer {producer_id} since offset {offset}, for more than {limit} ms",
                steps=(step,) if step >= 0 else (),
                keys=(key,),
                offsets=(offset,),
            )
        place = f"{row.producer_id} {row.key}"
        if row.kind == "marker":
            self.open.end(place)
        elif row.kind == "record" and row.transactional and place not in self.open.waiting:
            self.open.begin(place, row.offset, row.at_ms, row.step)

    def kept(self) -> Any:
        """The open transactions."""
        return self.open.waiting
