"""Reads the tables of kafka-transactions.sh and of kafka-consumer-groups.sh: a header, then rows."""

from __future__ import annotations

import re
from collections.abc import Callable

from kafkalab.diagnose.evidence import Evidence
from kafkalab.diagnose.facts import (
    DescribedTransaction,
    GroupRow,
    HangingRow,
    LeaderRow,
    ListedTransaction,
    ProducerRow,
)
from kafkalab.diagnose.readers.reader import Place, number

Row = dict[str, str]


def _add_listed(row: Row, place: Place, evidence: Evidence) -> bool:
    if not row["TransactionState"].isalpha() or number(row["ProducerId"]) < 0:
        return False
    evidence.listed.add(
        ListedTransaction(
            row["TransactionalId"],
            row["Coordinator"],
            number(row["ProducerId"]),
            row["TransactionState"],
            place.source(),
        )
    )
    return True


def _add_described(row: Row, place: Place, evidence: Evidence) -> bool:
    if not row["TransactionState"].isalpha() or number(row["ProducerId"]) < 0:
        return False
    evidence.described.add(
        DescribedTransaction(
            row["TransactionalId"],
            number(row["ProducerId"]),
            number(row["ProducerEpoch"]),
            row["TransactionState"],
            number(row["TransactionTimeoutMs"]),
            number(row.get("TransactionDurationMs", "")),
            tuple(filter(None, row.get("TopicPartitions", "").split(","))),
            place.source(),
        )
    )
    return True


def _add_producer(row: Row, place: Place, evidence: Evidence) -> bool:
    start = row["CurrentTransactionStartOffset"]
    if number(row["ProducerId"]) < 0 or (start != "None" and number(start) < 0):
        return False
    evidence.producers.add(
        ProducerRow(
            place.partition, number(row["ProducerId"]), number(row["ProducerEpoch"]), number(start), place.source()
        )
    )
    return True


def _add_hanging(row: Row, place: Place, evidence: Evidence) -> bool:
    numbers = [number(row[name]) for name in ("Partition", "ProducerId", "ProducerEpoch", "StartOffset")]
    if min(numbers) < 0:
        return False
    partition, producer, epoch, start = numbers
    minutes = number(row["Duration(min)"])
    evidence.hanging.add(HangingRow(f"{row['Topic']}-{partition}", producer, epoch, start, minutes, place.source()))
    return True


def _add_group(row: Row, place: Place, evidence: Evidence) -> bool:
    positions = [row[name] for name in ("PARTITION", "CURRENT-OFFSET", "LOG-END-OFFSET", "LAG")]
    if any(text != "-" and number(text) < 0 for text in positions):
        return False
    partition, current, end, lag = map(number, positions)
    evidence.groups.add(GroupRow(row["GROUP"], f"{row['TOPIC']}-{partition}", current, end, lag, place.source()))
    return True


TABLES: dict[str, tuple[tuple[str, ...], Callable[[Row, Place, Evidence], bool]]] = {
    "TransactionalId": (("TransactionalId", "Coordinator", "ProducerId", "TransactionState"), _add_listed),
    "CoordinatorId": (
        ("TransactionalId", "ProducerId", "ProducerEpoch", "TransactionState", "TransactionTimeoutMs"),
        _add_described,
    ),
    "ProducerId": (("ProducerId", "ProducerEpoch", "LastSequence", "CurrentTransactionStartOffset"), _add_producer),
    "Topic": (("Topic", "Partition", "ProducerId", "ProducerEpoch", "StartOffset", "Duration(min)"), _add_hanging),
    "GROUP": (("GROUP", "TOPIC", "PARTITION", "CURRENT-OFFSET", "LOG-END-OFFSET", "LAG"), _add_group),
}
"""By the first word of its header: the columns that a table must have, and what adds a row."""
HEADS = tuple(TABLES)
LEADER = re.compile(r"\s*Topic: ([\w.-]{1,249})\s+Partition: (\d{1,9})\s+Leader: (none|-?\d{1,10})\s")
TOPIC = re.compile(r"\s*Topic: [\w.-]{1,249}\s+(?:TopicId: \S+\s+)?PartitionCount: ")
OPTIONAL_LAST = "TopicPartitions"
"""The one column that may be empty; it is the last."""


def _read_leader(line: str, place: Place, evidence: Evidence) -> bool:
    """Add a partition's row of `kafka-topics.sh --describe`. Return False if the line is none of that tool's."""
    found = LEADER.match(line)
    if found is None:
        return TOPIC.match(line) is not None
    leader = -1 if found[3] == "none" else number(found[3])
    evidence.leaders.add(LeaderRow(f"{found[1]}-{int(found[2])}", leader, place.source()))
    return True


class TableReader:
    """Reads tables. A row belongs to the header before it, until a line that is no such row."""

    def __init__(self) -> None:
        self._columns: list[str] = []
        self._add: Callable[[Row, Place, Evidence], bool] | None = None

    def read(self, line: str, place: Place, evidence: Evidence) -> bool:
        """Add the row. Return False for a line that is neither a header nor a row of the table that is open."""
        if "Topic: " in line[:12] and _read_leader(line, place, evidence):
            return True
        if self._add is None and not line.startswith(HEADS):
            return False
        words = line.split("\t") if "\t" in line else line.split()
        words = [word.strip() for word in words]
        while words and not words[-1]:
            words.pop()
        if not words:
            return False
        known = TABLES.get(words[0])
        if known is not None and set(known[0]) <= set(words):
            self._columns, self._add = words, known[1]
            if words[0] == "Topic":
                evidence.asked_hanging.append(place.source())
                del evidence.asked_hanging[100:]
            return True
        return self._add is not None and self._read_row(words, line, place, evidence)

    def _read_row(self, words: list[str], line: str, place: Place, evidence: Evidence) -> bool:
        if "\t" in line and len(words) not in (len(self._columns), len(self._columns) - 1):
            words = line.split()
        if len(words) == len(self._columns) - 1 and self._columns[-1] == OPTIONAL_LAST:
            words = [*words, ""]
        add = self._add
        if add is not None and len(words) >= len(self._columns):
            added = add(dict(zip(self._columns, words, strict=False)), place, evidence)
            self._add = add if added else None
            return added
        self._add = None
        return False
