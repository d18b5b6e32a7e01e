"""The group of rows that is watched together, and its restart: a share of the producers, a share of the keys, or one
value of one key. A run has a fixed number of shares, so what is kept does not grow with what has passed."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from kafkalab.checks.check import UNKNOWN, Finding
from kafkalab.checks.duplicate import duplicate
from kafkalab.checks.torn_transaction import torn_transaction
from kafkalab.protocol.partitions import INTERNAL_TOPICS, topic_of
from kafkalab.spark.streaming import waiting
from kafkalab.spark.streaming.arrivals import Arrival, place_of
from kafkalab.spark.streaming.duplicate import Duplicate
from kafkalab.spark.streaming.torn_transaction import TornTransaction
from kafkalab.spark.streaming.watch import Limits, Watch

VALUE, PRODUCER, KEY = "value", "producer", "key"
SHARES = 8
"""A run's producers are watched in so many groups, and its keys too: so many cores can work on one cluster."""
TO_ALL = ("clock", "lacks")
"""The kinds of arrivals that every share is given."""
WATCHES: dict[str, dict[str, Callable[[Limits, Sequence[str], Any], Watch]]] = {
    VALUE: {duplicate.name: Duplicate},
    PRODUCER: {
        waiting.OPEN_TOO_LONG: waiting.OpenTooLong,
        torn_transaction.name: TornTransaction,
    },
    KEY: {waiting.LSO_STUCK: waiting.LsoStuck},
}
"""The streaming audits, by what they watch."""
FROM_A_LOG = (torn_transaction.name,)
"""Those that find something even without operations."""
NAMES = tuple(name for watches in WATCHES.values() for name in watches)
NEEDS = {
    waiting.OPEN_TOO_LONG: ("log",),
    waiting.LSO_STUCK: ("watermarks",),
    **{check.name: check.needs for check in (duplicate, torn_transaction)},
}
"""The tables that each of them needs."""


class Group:
    """The audits of one group of arrivals, in the state that `text` keeps (empty: at the beginning).

    `part` is one of `parts_of`. The first share of producers says which audits cannot be answered.
    """

    def __init__(self, part: str, limits: Limits, text: str = "") -> None:
        kept = json.loads(text) if text else {}
        kind, _, share = part.partition(" ")
        self.limits, self.kind, self.tells = limits, kind, (kind, share) == (PRODUCER, "0")
        self.lacks: list[str] = kept.get("lacks", [])
        self.watches = self._watches(kept)

    def take(self, rows: Iterable[Arrival]) -> Iterator[Finding]:
        """Return the findings that these rows, in any order, make certain; they follow the rows of previous calls."""
        for row in sorted(rows, key=place_of):
            if row.kind == "lacks":
                assert row.value, "the row names the table that the history lacks"
                yield from self._lack(row.value)
            for watch in self.watches.values():
                yield from watch.take(row)

    def text(self) -> str:
        """The state, as `Group(part, limits, text)` takes it."""
        kept = {name: watch.save_state() for name, watch in self.watches.items()}
        return json.dumps({"lacks": self.lacks, **kept}, separators=(",", ":"))

    def _watches(self, kept: dict[str, object]) -> dict[str, Watch]:
        return {
            name: watch(self.limits, self.lacks, kept.get(name))
            for name, watch in WATCHES[self.kind].items()
            if not {*self.lacks}.intersection(NEEDS[name]) - ({"operations"} if name in FROM_A_LOG else set())
        }

    def _lack(self, table: str) -> Iterator[Finding]:
        """Take audits away that need this table; say so, once for each."""
        if table in self.lacks:
            return
        self.lacks.append(table)
        self.watches = self._watches({})
        for name in NAMES if self.tells else ():
            if table in NEEDS[name]:
                yield Finding(anomaly=name, policy=UNKNOWN, text=f"the history lacks {table}")


def parts_of(row: Arrival) -> tuple[str, ...]:
    """Return the groups that a row is given to."""
    if row.kind in TO_ALL:
        return tuple(f"{kind} {share}" for kind in (PRODUCER, KEY) for share in range(SHARES))
    if row.kind == "watermark":
        return (f"{KEY} {zlib.crc32(row.key.encode()) % SHARES}",)
    mine = f"{PRODUCER} {row.producer_id % SHARES}"
    if row.value is None or row.kind not in ("send", "record") or topic_of(row.key) in INTERNAL_TOPICS:
        return (mine,)
    return mine, f"{VALUE} {row.key} {row.value}"


def watch_arrivals(arrivals: Iterable[Arrival], limits: Limits) -> list[tuple[int, Finding]]:
    """Run and finding of all that is in these arrivals, in pure Python: what a stream of them must find, too."""
    groups: dict[tuple[int, str], list[Arrival]] = {}
    for row in arrivals:
        for part in parts_of(row):
            groups.setdefault((row.run, part), []).append(row)
    return [(run, finding) for (run, part), rows in groups.items() for finding in Group(part, limits).take(rows)]
