"""The index of aborted transactions: what Fetch tells a read_committed consumer to leave out
(docs/protocol.md#transaction-index).

Kafka keeps one file per segment; here one index covers the log, and `between` gives a segment's part.
"""

from __future__ import annotations

from bisect import bisect_left

from kafkalab.protocol.aborted_transaction import AbortedTxn
from kafkalab.protocol.errors import IllegalArgumentError


class TransactionIndex:
    """Entries in the order of their markers (`TransactionIndex`)."""

    def __init__(self) -> None:
        self.entries: list[AbortedTxn] = []

    def append(self, entry: AbortedTxn) -> None:
        """Add an entry; IllegalArgumentError unless its marker comes after all the others."""
        if self.entries and self.entries[-1].last_offset >= entry.last_offset:
            raise IllegalArgumentError(
                f"an aborted transaction that ends at {entry.last_offset} cannot follow one that ends at "
                f"{self.entries[-1].last_offset}"
            )
        self.entries.append(entry)

    def collect(self, fetch_offset: int, upper: int) -> tuple[tuple[AbortedTxn, ...], bool]:
        """The transactions that overlap [fetch_offset, upper), and whether no later entry can overlap it."""
        found = []
        for entry in self.entries[self._place(fetch_offset) :]:
            if entry.first_offset < upper:
                found.append(entry)
            if entry.last_stable_offset >= upper:
                return tuple(found), True
        return tuple(found), False

    def between(self, base_offset: int, next_base_offset: int) -> list[AbortedTxn]:
        """The entries whose markers lie in [base_offset, next_base_offset): those of one segment."""
        return self.entries[self._place(base_offset) : self._place(next_base_offset)]

    def replace(self, base_offset: int, next_base_offset: int, entries: list[AbortedTxn]) -> None:
        """Put a cleaned segment's entries in place of its old ones."""
        self.entries[self._place(base_offset) : self._place(next_base_offset)] = entries

    def truncate(self, offset: int) -> None:
        """Forget the transactions whose marker is at `offset` or later."""
        del self.entries[self._place(offset) :]

    def drop_before(self, base_offset: int) -> None:
        """Forget the transactions whose marker lies in a segment that is gone."""
        del self.entries[: self._place(base_offset)]

    def _place(self, offset: int) -> int:
        return bisect_left(self.entries, offset, key=lambda e: e.last_offset)
