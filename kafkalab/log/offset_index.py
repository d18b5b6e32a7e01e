"""The sparse offset index of a segment (docs/protocol.md#offset-index; `OffsetIndex`, `LogSegment.append`)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable

from kafkalab.protocol.records import Batch

INDEX_INTERVAL_BYTES = 4096
"""index.interval.bytes"""


class OffsetIndex:
    """Name a batch, by its last offset, where more than INDEX_INTERVAL_BYTES precede it since the last one named.

    It is built when it is read: nearly every log is small, or is never asked for its aborted transactions.
    """

    def __init__(self, base_offset: int) -> None:
        self.next_offset = base_offset
        """Batches below are in the index."""
        self.offsets: list[int] = []
        self._bytes = 0  # since the last entry

    def extend(self, batches: Iterable[Batch]) -> None:
        """Index the batches of the segment from `next_offset` on."""
        for batch in batches:
            if self._bytes > INDEX_INTERVAL_BYTES:
                self.offsets.append(batch.last_offset)
                self._bytes = 0
            self._bytes += batch.size_bytes
            self.next_offset = batch.last_offset + 1

    def upper_bound(self, last_offset: int) -> int | None:
        """Return the first entry behind what was read up to `last_offset`, or None (`fetchUpperBoundOffset`)."""
        place = bisect_right(self.offsets, last_offset)
        return self.offsets[place] if place < len(self.offsets) else None
