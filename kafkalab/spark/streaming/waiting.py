"""The audits of what waits too long: open transactions, and readers behind a last stable offset.

"Open too long" counts what a broker's metric PartitionsWithLateTransactionsCount counts, with a limit of its own.
"LSO stuck" is a last stable offset that stays, while records behind it are replicated and wait.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kafkalab.checks.check import REPORTED, Finding
from kafkalab.spark.streaming.arrivals import Arrival
from kafkalab.spark.streaming.watch import Limits

OPEN_TOO_LONG, LSO_STUCK = "open too long", "LSO stuck"


class Waiting:
    """The waiting things by name: the offset, the time and the step at which waiting began, and whether it was told.

    A name ends with the key. `limit` is the field of `Limits` that says how long is too long.
    """

    anomaly = limit = text = ""

    def __init__(self, limits: Limits, lacks: Sequence[str] = (), kept: Any = None) -> None:
        self.limit_ms: int = getattr(limits, self.limit)
        self.waiting: dict[str, list[int]] = kept or {}
        self.due_ms = self._next()

    def take(self, row: Arrival) -> Iterator[Finding]:
        """Yield what has waited for more than the limit at the time of `row`; then note the row itself."""
        if self.due_ms is not None and row.at_ms > self.due_ms:
            yield from self._late(row.at_ms)
        self.note(row)

    def save_state(self) -> Any:
        """Return what waits, by name."""
        return self.waiting

    def note(self, row: Arrival) -> None:
        """Note what begins or ends with this row."""
        raise NotImplementedError

    def begin(self, name: str, offset: int, row: Arrival) -> None:
        """From the time of `row` on this waits; whatever waited under that name does not any more."""
        self.waiting[name] = [offset, row.at_ms, row.step, False]
        due = row.at_ms + self.limit_ms
        self.due_ms = due if self.due_ms is None else min(self.due_ms, due)

    def end(self, name: str) -> None:
        """It waits no longer, if it did."""
        self.waiting.pop(name, None)

    def _late(self, now_ms: int) -> Iterator[Finding]:
        for name, entry in sorted(self.waiting.items()):
            offset, since_ms, step, told = entry
            if not told and now_ms > since_ms + self.limit_ms:
                entry[-1] = True
                producer_id, _, key = name.rpartition(" ")
                text = self.text.format(key=key, producer_id=producer_id, offset=offset, limit_ms=self.limit_ms)
                steps = (step,) if step >= 0 else ()
                yield Finding(
                    anomaly=self.anomaly, policy=REPORTED, text=text, steps=steps, keys=(key,), offsets=(offset,)
                )
        self.due_ms = self._next()

    def _next(self) -> int | None:
        return min((e[1] + self.limit_ms for e in self.waiting.values() if not e[-1]), default=None)


class OpenTooLong(Waiting):
    """A run's open transactions: for each producer id and key its first record, until a marker ends it."""

    anomaly, limit = OPEN_TOO_LONG, "open_ms"
    text = "{key} waits for producer {producer_id} since offset {offset}, for more than {limit_ms} ms"

    def note(self, row: Arrival) -> None:
        place = f"{row.producer_id} {row.key}"
        if row.kind == "marker":
            self.end(place)
        elif row.kind == "record" and row.transactional and place not in self.waiting:
            self.begin(place, row.offset, row)


class LsoStuck(Waiting):
    """The keys of a run whose readers wait. The leader may hand its place on meanwhile: they wait all the same."""

    anomaly, limit = LSO_STUCK, "stuck_ms"
    text = "the last stable offset of {key} is {offset} for more than {limit_ms} ms, and records wait"

    def note(self, row: Arrival) -> None:
        if row.kind != "watermark":
            return
        if row.high_watermark <= row.last_stable_offset:
            self.end(row.key)
        elif row.key not in self.waiting or self.waiting[row.key][0] != row.last_stable_offset:
            self.begin(row.key, row.last_stable_offset, row)
