"""LSO stuck: a key's last stable offset stays where it is, while records behind it are replicated and wait."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kafkalab.checks.check import REPORTED, Finding
from kafkalab.spark.streaming.finding import Limits
from kafkalab.spark.streaming.overdue import Overdue

NAME = "LSO stuck"


class LsoStuck:
    """The keys of a run whose readers wait. The leader may hand its place on meanwhile: they wait all the same."""

    def __init__(self, limits: Limits, kept: Any = None) -> None:
        self.keys = Overdue(limits.stuck_ms, kept)

    def take(self, row: Any) -> Iterator[Finding]:
        """What is stuck at the time of this row; then the row itself."""
        for key, offset, step in self.keys.late(row.at_ms):
            limit = self.keys.limit_ms
            yield Finding(
                anomaly=NAME,
                policy=REPORTED,
                text=f"the last stable offset of {key} is {offset} for more than {limit} ms, and records wait",
                steps=(step,) if step >= 0 else (),
                keys=(key,),
                offsets=(offset,),
            )
        if row.kind != "watermark":
            return
        if row.high_watermark <= row.last_stable_offset:
            self.keys.end(row.key)
        elif self.keys.offset(row.key) != row.last_stable_offset:
            self.keys.begin(row.key, row.last_stable_offset, row.at_ms, row.step)

    def kept(self) -> Any:
        """The keys that wait."""
        return self.keys.waiting
