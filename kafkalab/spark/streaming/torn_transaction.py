"""torn transaction, as it arrives: the check itself judges what is kept of each producer id.

What is kept are the arrivals of its newest transactions, and of older ones what is open. They are judged when a clock
arrives, as at the end of every micro-batch of a capture and of every run; and before it when as many have come as were
kept, so that each arrival is judged a few times at most.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypedDict

from kafkalab.checks.check import Finding
from kafkalab.checks.torn_transaction import torn_transaction
from kafkalab.checks.view import View, view_of
from kafkalab.history.schema import LogRecord
from kafkalab.spark.streaming.arrivals import NAMES, Arrival, history_of_arrivals, is_commit
from kafkalab.spark.streaming.watch import Limits

DECISIONS_KEPT = 8
"""Of a producer id: transactions that markers have ended before the eighth newest decision are forgotten."""
FEW = 100
"""Rows of a producer id that are not worth to be judged before the clock arrives."""
IDLE_MS = 3_600_000
"""A producer id that has nothing open is forgotten when nothing of it has come for so long."""
LOGGED = ("entry", "decision", "marker")


class Seen(TypedDict):
    """Hold the rows of a producer id; `at_ms` is when it was seen last."""

    rows: list[list[Any]]
    judged: int
    open: list[str]
    forgotten: int
    told: list[str]
    at_ms: int


class TornTransaction:
    """By producer id: its `rows`, how many of them were `judged`, the keys that are `open`, how many decisions were
    forgotten, what was `told`, and when it was seen last."""

    def __init__(self, limits: Limits, lacks: Sequence[str] = (), kept: Any = None) -> None:
        self.lacks = lacks
        self.now_ms: int = kept[0] if kept else 0
        self.seen: dict[str, Seen] = kept[1] if kept else {}

    def take(self, row: Arrival) -> Iterator[Finding]:
        """A tear is told again when more of the transaction has ended."""
        if row.kind == "clock":
            yield from self._judge_all(row.at_ms)
        elif row.producer_id >= 0 and (row.kind in LOGGED or row.transactional or row.transaction >= 1):
            yield from self._take(row)

    def save_state(self) -> Any:
        """Everything that still matters."""
        return [self.now_ms, self.seen]

    def _take(self, row: Arrival) -> Iterator[Finding]:
        new = Seen(rows=[], judged=0, open=[], forgotten=0, told=[], at_ms=0)
        one = self.seen.setdefault(str(row.producer_id), new)
        one["at_ms"] = self.now_ms
        if row.kind == "record":
            if row.key not in one["open"]:
                one["open"].append(row.key)
            elif "operations" in self.lacks and not is_commit(row):
                return  # without operations the check looks at the first record of a key alone
        elif row.kind == "marker" and row.key in one["open"]:
            one["open"].remove(row.key)
        one["rows"].append([getattr(row, name) for name in NAMES])
        if len(one["rows"]) > 2 * one["judged"] + FEW:
            yield from self._judge(row.producer_id, one)

    def _judge_all(self, now_ms: int) -> Iterator[Finding]:
        """Judge what is new of every producer id, and forget those that are idle."""
        self.now_ms = max(self.now_ms, now_ms)
        for who, one in list(self.seen.items()):
            if len(one["rows"]) > one["judged"]:
                yield from self._judge(int(who), one)
            if not one["open"] and self.now_ms - one["at_ms"] > IDLE_MS:
                del self.seen[who]

    def _judge(self, producer_id: int, one: Seen) -> Iterator[Finding]:
        """Yield what the check finds in this producer id's rows and has not found before; then forget old rows."""
        rows = [Arrival(*row) for row in one["rows"]]
        view = view_of(history_of_arrivals(rows, self.lacks), {producer_id: one["forgotten"]})
        found = torn_transaction(view).findings
        yield from (finding for finding in found if finding.text not in one["told"])
        one["told"] = [finding.text for finding in found]
        kept = _newest(rows, view)
        one["forgotten"] += sum(row.kind == "decision" for row in rows) - sum(row.kind == "decision" for row in kept)
        one["rows"], one["judged"] = [list(row) for row in kept], len(kept)


def _newest(rows: list[Arrival], view: View) -> list[Arrival]:
    """Return the rows without those of transactions that are over for long, and of decisions before them."""
    decisions = [row.step for row in rows if row.kind == "decision"]
    if len(decisions) <= DECISIONS_KEPT:
        return rows
    since = decisions[-DECISIONS_KEPT]
    carrying: dict[tuple[str, int], LogRecord] = {}
    every = [record for records in view.logs.values() for record in records if record.control]
    for marker in every:
        if decision := view.decision(marker):
            carrying.setdefault((marker.key, decision.step), marker)
    old = {(marker.key, marker.offset) for marker in every if marker.step < since}
    old |= {(key, marker.offset) for (key, step), marker in carrying.items() if step < since}
    ended = {place: (place[0], marker.offset) for place, marker in view.markers.items()}
    lasting = set(view.outcomes)
    for transaction in view.transactions:
        mine = {(record.key, record.offset) for record in transaction.records}
        if all(ended.get(place) in old for place in mine):
            lasting -= mine
    markers = {ended[place] for place in lasting if place in ended}
    calls = {view.send_of[place].invoke.index for place in lasting if place in view.send_of}

    def matters(row: Arrival) -> bool:
        place = (row.key, row.offset)
        if row.kind == "record":
            return place in lasting
        if row.kind == "marker":
            return place in markers or place not in old
        return row.step >= since or row.call in calls

    return [row for row in rows if matters(row)]
