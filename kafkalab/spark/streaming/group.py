"""What is watched together: one value of one key, or one whole run; and how that goes on after a restart."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from kafkalab.checks.check import Finding
from kafkalab.protocol.partitions import INTERNAL_TOPICS, topic_of
from kafkalab.spark.streaming import duplicate, torn_transaction, waiting
from kafkalab.spark.streaming.watch import Limits, Watch

VALUE, RUN = "value", "run"
WATCHES: dict[str, dict[str, Callable[[Limits, Any], Watch]]] = {
    VALUE: {duplicate.NAME: duplicate.Duplicate},
    RUN: {
        waiting.OPEN_TOO_LONG: waiting.OpenTooLong,
        waiting.LSO_STUCK: waiting.LsoStuck,
        torn_transaction.NAME: torn_transaction.TornTransaction,
    },
}
"""The streaming audits, by what they watch."""
NAMES = tuple(name for watches in WATCHES.values() for name in watches)


class Group:
    """The audits of one group of arrivals, in the state that `text` keeps (empty: at the beginning)."""

    def __init__(self, kind: str, limits: Limits, text: str = "") -> None:
        kept = json.loads(text) if text else {}
        self.watches = {name: made(limits, kept.get(name)) for name, made in WATCHES[kind].items()}

    def take(self, rows: Iterable[Any]) -> Iterator[Finding]:
        """What these rows, in any order, make certain; they all come after the rows of the calls before."""
        for row in sorted(rows, key=lambda r: (r.step, r.rank)):
            for watch in self.watches.values():
                yield from watch.take(row)

    def text(self) -> str:
        """The state, as `Group(kind, limits, text)` takes it."""
        return json.dumps({name: watch.kept() for name, watch in self.watches.items()}, separators=(",", ":"))


def values_of(row: Any) -> tuple[str, ...]:
    """The value whose copies this row may add to; none for what is no record of an application."""
    if row.value is None or row.kind not in ("send", "record") or topic_of(row.key) in INTERNAL_TOPICS:
        return ()
    return (f"{row.key} {row.value}",)


def watched(arrivals: Iterable[Any], limits: Limits) -> list[tuple[int, Finding]]:
    """Run and finding of all that is in these arrivals, in pure Python: what a stream of them must find, too."""
    groups: dict[tuple[int, str], list[Any]] = {}
    for row in arrivals:
        for part in ("", *values_of(row)):
            groups.setdefault((row.run, part), []).append(row)
    return [
        (run, finding)
        for (run, part), rows in groups.items()
        for finding in Group(VALUE if part else RUN, limits).take(rows)
    ]
