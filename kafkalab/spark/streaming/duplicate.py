"""duplicate, as it arrives: a value that one key already holds lies there a second time. One finding for each copy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kafkalab.checks.check import ALLOWED, FORBIDDEN, Finding
from kafkalab.spark.streaming.watch import Limits

NAME = "duplicate"


class Duplicate:
    """The copies of one value of one key. Forbidden where a producer id has more of them than were sent."""

    def __init__(self, limits: Limits, kept: Any = None) -> None:
        self.sent: dict[str, int] = kept[0] if kept else {}
        self.copies: list[list[int]] = kept[1] if kept else []

    def take(self, row: Any) -> Iterator[Finding]:
        if row.kind == "send":
            if row.state == "invoke":
                who = str(row.producer_id)
                self.sent[who] = self.sent.get(who, 0) + 1
            return
        self.copies.append([row.offset, row.step, row.producer_id])
        if len(self.copies) > 1:
            yield self._finding(row)

    def kept(self) -> Any:
        return [self.sent, self.copies]

    def _finding(self, row: Any) -> Finding:
        by_producer: dict[int, int] = {}
        for _, _, producer_id in self.copies:
            by_producer[producer_id] = by_producer.get(producer_id, 0) + 1
        too_many = any(n > self.sent.get(str(pid), 1) for pid, n in by_producer.items() if pid >= 0)
        first = self.copies[0]
        why = "though it was sent once" if too_many else "sent again, or without idempotence"
        return Finding(
            anomaly=NAME,
            policy=FORBIDDEN if too_many else ALLOWED,
            text=f"{row.value!r} of {row.key} lies at offset {first[0]} and again at {row.offset}: {why}",
            steps=tuple(sorted({first[1], row.step} - {-1})),
            keys=(row.key,),
            offsets=(first[0], row.offset),
        )
