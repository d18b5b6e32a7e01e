"""torn transaction, as a log and the transaction log arrive without operations: the check itself judges the suspects.

For each producer id the check is given what arrived of its newest transactions, while they have a marker that is not
what the newest entry before it decided. So there is no second rule here, only a choice of suspects and of what to keep.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kafkalab.checks.check import Finding
from kafkalab.checks.needs import LACKS
from kafkalab.checks.torn_transaction import torn_transaction
from kafkalab.checks.view import PREPARED
from kafkalab.history.history import History
from kafkalab.history.schema import Label, LogRecord, TxnEntry
from kafkalab.spark.streaming.watch import Limits

MARKERS_KEPT = 64
"""Of a producer id; more if a transaction has more than half as many partitions. Older entries go with their markers.
"""
ENTRIES_KEPT = 1_000
"""Of a producer id: entries of the transaction log, whose markers may be on topics that do not arrive."""
IDLE_MS = 3_600_000
"""A producer id that has nothing open is forgotten when nothing of it has come for so long."""
STATES = {outcome: state for state, outcome in PREPARED.items()}
WITHOUT = (Label(LACKS, "operations"),)


class TornFromALog:
    """By producer id: `entries`, the first `open` record of each key, `markers` with the first record that each ended
    and whether it is a suspect, when it was seen last, and the places that were told."""

    def __init__(self, limits: Limits, kept: Any = None) -> None:
        self.now_ms: int = kept[0] if kept else 0
        self.seen: dict[str, dict[str, Any]] = kept[1] if kept else {}

    def take(self, row: Any) -> Iterator[Finding]:
        """A tear is certain when the second of its ends has arrived; the decision is before it."""
        if row.kind == "clock":
            self._forget(row.at_ms)
        elif row.producer_id >= 0 and (row.kind in ("entry", "decision", "marker") or row.transactional):
            yield from self._take(row)

    def kept(self) -> Any:
        """Everything that still matters."""
        return [self.now_ms, self.seen]

    def _take(self, row: Any) -> Iterator[Finding]:
        new: dict[str, Any] = {"entries": [], "open": {}, "markers": [], "told": []}
        one = self.seen.setdefault(str(row.producer_id), new)
        one["at_ms"] = self.now_ms
        if row.kind == "record":
            one["open"].setdefault(row.key, [row.key, row.offset, row.producer_epoch, "", row.step])
        elif row.kind != "marker":
            same = [row.transactional_id, row.producer_epoch, STATES.get(row.state, row.state), list(row.partitions)]
            one["entries"].append([*same, row.step])
            del one["entries"][:-ENTRIES_KEPT]
        else:
            ended = one["open"].pop(row.key, None)
            suspect = ended is not None and not _is_decided(one["entries"], row)
            one["markers"].append([ended, [row.key, row.offset, row.producer_epoch, row.state, row.step], suspect])
            self._cut(one)
            yield from self._judge(row.producer_id, one)

    def _cut(self, one: dict[str, Any]) -> None:
        """Keep the newest markers. What is older than all of them cannot be compared any more."""
        most = max((len(entry[3]) for entry in one["entries"]), default=0)
        beyond = len(one["markers"]) - max(MARKERS_KEPT, 2 * most)
        if beyond > 0:
            del one["markers"][:beyond]
            oldest = one["markers"][0][1][-1]
            one["entries"] = [entry for entry in one["entries"] if entry[-1] >= oldest]
            places = [[marker[0], first[1], marker[1]] for first, marker, _ in one["markers"] if first]
            one["told"] = [told for told in one["told"] if told in places]

    def _judge(self, producer_id: int, one: dict[str, Any]) -> Iterator[Finding]:
        """Yield what the check finds in this producer id's rows and has not found before."""
        if not any(suspect for _, _, suspect in one["markers"]):
            return
        rows = [row for ended, marker, _ in one["markers"] for row in (ended, marker) if row]
        log = [
            LogRecord(key=key, offset=offset, producer_id=producer_id, producer_epoch=epoch, transactional=True,
                      control=control, step=step)
            for key, offset, epoch, control, step in rows
        ]  # fmt: skip
        entries = [
            TxnEntry(transactional_id=name, producer_epoch=epoch, state=state, producer_id=producer_id,
                     partitions=tuple(partitions), step=step)
            for name, epoch, state, partitions, step in one["entries"]
        ]  # fmt: skip
        for found in torn_transaction(History(log=tuple(log), transactions=tuple(entries), labels=WITHOUT)).findings:
            place = [found.keys[0], *found.offsets]
            if place not in one["told"]:
                one["told"].append(place)
                yield found

    def _forget(self, now_ms: int) -> None:
        self.now_ms = max(self.now_ms, now_ms)
        idle = [who for who, one in self.seen.items() if not one["open"] and self.now_ms - one["at_ms"] > IDLE_MS]
        for who in idle:
            del self.seen[who]


def _is_decided(entries: list[list[Any]], marker: Any) -> bool:
    """Whether the newest entry before a marker is the decision of its outcome, as it nearly always is."""
    for _, _, state, _, step in reversed(entries):
        if step < marker.step:
            return bool(PREPARED.get(state) == marker.state)
    return False
