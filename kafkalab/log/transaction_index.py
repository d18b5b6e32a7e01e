"""The index of aborted transactions: what Fetch tells a read_committed consumer to leave out
(docs/protocol.md#transaction-index).

Kafka keeps one file per segment; here one index covers the log, and `between` gives a segment's part.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import overload

from kafkalab.protocol.aborted_transaction import AbortedTxn
from kafkalab.protocol.errors import IllegalArgumentError

WIDTH = 4
"""The numbers of an entry."""


class Entries(Sequence[AbortedTxn]):
    """Entries in one array of numbers: 32 bytes each, as many as a server aborts in hours fit."""

    __slots__ = ("_numbers",)

    def __init__(self, entries: Iterable[AbortedTxn] = ()) -> None:
        self._numbers = array("q")
        self.extend(entries)

    def __len__(self) -> int:
        return len(self._numbers) // WIDTH

    @overload
    def __getitem__(self, index: int) -> AbortedTxn: ...
    @overload
    def __getitem__(self, index: slice) -> list[AbortedTxn]: ...
    def __getitem__(self, index: int | slice) -> AbortedTxn | list[AbortedTxn]:
        places = range(len(self))[index]
        return self._at(places) if isinstance(places, int) else [self._at(place) for place in places]

    def _at(self, place: int) -> AbortedTxn:
        return AbortedTxn(*self._numbers[place * WIDTH : place * WIDTH + WIDTH])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Entries | list) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def extend(self, entries: Iterable[AbortedTxn]) -> None:
        """Add entries at the end."""
        self._numbers.extend(_numbers_of(entries))

    def replace(self, begin: int, end: int, entries: Iterable[AbortedTxn]) -> None:
        """Put entries in place of those from `begin` to before `end`."""
        self._numbers[begin * WIDTH : end * WIDTH] = _numbers_of(entries)


def _numbers_of(entries: Iterable[AbortedTxn]) -> array[int]:
    rows = ((e.producer_id, e.first_offset, e.last_offset, e.last_stable_offset) for e in entries)
    return array("q", [number for row in rows for number in row])


class TransactionIndex:
    """Entries in the order of their markers (`TransactionIndex`)."""

    def __init__(self) -> None:
        self.entries = Entries()

    def append(self, entry: AbortedTxn) -> None:
        """Add an entry; IllegalArgumentError unless its marker comes after all the others."""
        if self.entries and self.entries[-1].last_offset >= entry.last_offset:
            raise IllegalArgumentError(
                f"an aborted transaction that ends at {entry.last_offset} cannot follow one that ends at "
                f"{self.entries[-1].last_offset}"
            )
        self.entries.extend((entry,))

    def collect(self, fetch_offset: int, upper: int) -> tuple[tuple[AbortedTxn, ...], bool]:
        """The transactions that overlap [fetch_offset, upper), and whether no later entry can overlap it."""
        found = []
        for place in range(self._place(fetch_offset), len(self.entries)):
            entry = self.entries[place]
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
        self.entries.replace(self._place(base_offset), self._place(next_base_offset), entries)

    def truncate(self, offset: int) -> None:
        """Forget the transactions whose marker is at `offset` or later."""
        self.entries.replace(self._place(offset), len(self.entries), ())

    def drop_before(self, base_offset: int) -> None:
        """Forget the transactions whose marker lies in a segment that is gone."""
        self.entries.replace(0, self._place(base_offset), ())

    def _place(self, offset: int) -> int:
        return bisect_left(self.entries, offset, key=lambda e: e.last_offset)
