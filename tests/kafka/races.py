"""Recognise the one race in which Kafka gives a producer the error of another producer's request.

A leader sends the questions that it has for one coordinator together, and reads the answers by the version of the first
(`AddPartitionsToTxnManager.addTxnData`). Scripts that run at the same time on one broker can meet it; a script that
runs alone cannot.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tests.kafka.differences import Row

KNOWS_ABORTABLE = {"Produce": 11, "TxnOffsetCommit": 4}
"""The first version of a request that is verified whose client knows TRANSACTION_ABORTABLE."""
ERRORS = ("INVALID_TXN_STATE", "TRANSACTION_ABORTABLE")
"""What a client is told that does not know the error, and one that does."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One request of a script: when it was under way, and what it was."""

    api: str
    version: int
    begin_s: float
    end_s: float

    @property
    def knows(self) -> bool | None:
        """Whether its client knows TRANSACTION_ABORTABLE; None for a request that no coordinator is asked about."""
        first = KNOWS_ABORTABLE.get(self.api)
        return None if first is None else self.version >= first

    def may_mix_with(self, other: Asked) -> bool:
        """Return whether a leader may have asked for both at once, and would read the answers differently."""
        together = self.begin_s <= other.end_s and other.begin_s <= self.end_s
        return together and None not in (self.knows, other.knows) and self.knows != other.knows


def is_mixed(rows: Sequence[Row], asked: Sequence[Asked], others: Sequence[Asked]) -> bool:
    """Return whether the race accounts for every difference in `rows`.

    Each is the error of the other kind of client, where kafkalab has that of this request's own version, and a request
    of that other kind, by another script, was under way at the same time.
    """
    bad = [row for row in rows if row.differences]
    return all(row.number <= len(asked) and _is_mixed(row, asked[row.number - 1], others) for row in bad)


def _is_mixed(row: Row, asked: Asked, others: Sequence[Asked]) -> bool:
    if asked.knows is None or not any(asked.may_mix_with(other) for other in others):
        return False
    own, foreign = ERRORS[asked.knows], ERRORS[not asked.knows]
    return all(d.endswith(f".error: Kafka {foreign!r}, kafkalab {own!r}") for d in row.differences)
