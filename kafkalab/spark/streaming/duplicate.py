"""duplicate, as it arrives: the check judges the copies of one value of one key, whenever another one has come."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kafkalab.checks.check import Finding
from kafkalab.checks.duplicate import duplicate
from kafkalab.history.history import History
from kafkalab.history.schema import LogRecord, Operation
from kafkalab.spark.streaming.arrivals import Arrival
from kafkalab.spark.streaming.watch import Limits

COPIES_KEPT = 16
"""Of one value: the first copy and the newest ones."""


class Duplicate:
    """The number of times that each producer id sent the value, and the places of its copies."""

    def __init__(self, limits: Limits, lacks: Sequence[str] = (), kept: Any = None) -> None:
        self.sent: dict[str, int] = kept[0] if kept else {}
        self.copies: list[list[int]] = kept[1] if kept else []

    def take(self, row: Arrival) -> Iterator[Finding]:
        if row.kind == "send":
            if row.state == "invoke":
                who = str(row.producer_id)
                self.sent[who] = self.sent.get(who, 0) + 1
            return
        self.copies.append([row.offset, row.step, row.producer_id])
        if len(self.copies) > 1:
            yield from duplicate(self._history(row.key, row.value)).findings
        if len(self.copies) > COPIES_KEPT:
            self._drop(str(self.copies.pop(1)[2]))

    def save_state(self) -> Any:
        return [self.sent, self.copies]

    def _drop(self, who: str) -> None:
        """A copy that is not kept takes one send of its producer id along: what is too many stays too many."""
        if who in self.sent:
            self.sent[who] -= 1
            if not self.sent[who]:
                del self.sent[who]

    def _history(self, key: str, value: str | None) -> History:
        log = [LogRecord(key=key, offset=offset, value=value, step=step, producer_id=producer_id)
               for offset, step, producer_id in self.copies]  # fmt: skip
        send = Operation(type="invoke", function="send", key=key, value=value)
        sends = [send._replace(producer_id=int(who)) for who, count in self.sent.items() for _ in range(count)]
        return History(log=tuple(log), operations=tuple(sends))
