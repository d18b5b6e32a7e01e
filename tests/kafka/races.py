"""Recognise the race in which Kafka gives a producer the error of another producer's request.

A leader sends the questions that it has for one coordinator together, and reads the answers by the version of the first
(`AddPartitionsToTxnManager.addTxnData`). If the coordinator throws at one of them, as it does at level 0 of
transaction.version for a client of level 2, all are answered with UNSUPPORTED_VERSION. Scripts that run at the same
time on one broker can meet both; a script that runs alone cannot.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tests.kafka.differences import Row

KNOWS_ABORTABLE = {"Produce": 11, "TxnOffsetCommit": 4}
"""The first version of a request that is verified whose client knows TRANSACTION_ABORTABLE."""
ERRORS = ("INVALID_TXN_STATE", "TRANSACTION_ABORTABLE")
"""The error for a client that does not know the newer one, and the newer one."""
ADDS = {"Produce": 12, "TxnOffsetCommit": 5}
"""The first version with which a client has the broker add partitions (KIP-890)."""
THROWN = "UNSUPPORTED_VERSION"
NOTHING = (".base_offset: Kafka -1, ", ".log_start_offset: Kafka -1, ", ".log_append_time_ms: Kafka -1, ")
"""The fields that an answer about a batch that was not appended has besides the error."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One request of a script: when it was under way, and what it was."""

    api: str
    version: int
    begin_s: float
    end_s: float
    error: str = "NONE"

    @property
    def knows(self) -> bool | None:
        """True if its client knows TRANSACTION_ABORTABLE; None for a request that no coordinator is asked about."""
        first = KNOWS_ABORTABLE.get(self.api)
        return None if first is None else self.version >= first

    @property
    def throws(self) -> bool:
        """True if the coordinator threw at it."""
        return self.error == THROWN and self.version >= ADDS.get(self.api, 1_000)

    def meets(self, other: Asked) -> bool:
        """Return whether a leader may have asked a coordinator about both at once."""
        together = self.begin_s <= other.end_s and other.begin_s <= self.end_s
        return together and self.knows is not None and other.knows is not None


def is_mixed(rows: Sequence[Row], asked: Sequence[Asked], others: Sequence[Asked]) -> bool:
    """Return whether the race accounts for every difference in `rows`.

    Each is the error of the other kind of client, where kafkalab has that of this request's own version, or
    UNSUPPORTED_VERSION; and a request that can have caused it, by another script, was under way at the same time. If
    the coordinator has thrown at a request of the script while it threw at another, it may not have come to the
    script's, which leaves no pending state then: any later answer may differ. So it may where a request of the script
    was answered with that error, and so not carried out, only because of another's.
    """
    met = {n: any(one.meets(o) and o.throws for o in others) for n, one in enumerate(asked, 1)}
    spared = [n for n, one in enumerate(asked, 1) if met[n] and one.throws]
    refused = [row.number for row in rows if met.get(row.number) and any(THROWN in d for d in row.differences)]
    since = min([len(asked), *spared, *refused])
    bad = [row for row in rows if row.differences and row.number <= since]
    later = any(row.differences and row.number > len(asked) for row in rows)
    return not later and all(_is_mixed(row, asked[row.number - 1], others) for row in bad)


def _is_mixed(row: Row, asked: Asked, others: Sequence[Asked]) -> bool:
    met = [other for other in others if asked.meets(other)]
    ends = [f".error: Kafka '{THROWN}', kafkalab ", *NOTHING] if any(other.throws for other in met) else []
    if any(other.knows != asked.knows for other in met):
        ends.append(f".error: Kafka '{ERRORS[not asked.knows]}', kafkalab '{ERRORS[bool(asked.knows)]}'")
    return all(any(end in d for end in ends) for d in row.differences)
